"""
The ledger as users hold it: blocking and from asyncio, on connections of its own and inside a caller's transaction.
"""

from lastro.ledger.awaiting import AsyncHeldLedger, AsyncLedger
from lastro.ledger.blocking import HeldLedger, Ledger

__all__ = ["AsyncHeldLedger", "AsyncLedger", "HeldLedger", "Ledger"]
