"""
The ledger as users hold it: blocking and from asyncio, on connections of its own and inside a caller's transaction.
"""

from lastro.ledger.awaiting import AsyncHeldLedger, AsyncLedger
from lastro.ledger.blocking import HeldLedger, Ledger
from lastro.ledger.closings import Statement
from lastro.ledger.closings_async import AsyncStatement

__all__ = ["AsyncHeldLedger", "AsyncLedger", "AsyncStatement", "HeldLedger", "Ledger", "Statement"]
