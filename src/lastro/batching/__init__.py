"""
Group posting: many callers post one by one, and one commit carries many.
"""

from lastro.batching.awaiting import AsyncBatcher
from lastro.batching.blocking import Batcher

__all__ = ["AsyncBatcher", "Batcher"]
