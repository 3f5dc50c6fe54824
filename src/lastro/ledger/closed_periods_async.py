"""
Closed periods, awaiting: one line a method.
"""

from __future__ import annotations

from datetime import datetime

from lastro.ledger.running_async import AsyncWalks
from lastro.model.closing import PeriodClosing

CLOSINGS_SHOWN = 100


class AsyncClosesPeriods(AsyncWalks):
    """
    Closing the books up to a moment, which takes transactions of the ledger's own.
    """

    async def close_period(
        self, *, until: datetime, reason: str | None = None, actor: str | None = None
    ) -> PeriodClosing:
        """
        Close the books: from its return on nothing is posted any more that occurred before `until` (time zone needed).

        A transaction under way that posts into the period either commits before this returns, or is refused with
        PeriodClosed. `until` lies at least a minute back. Where the books are closed so far already, that closing is
        returned. Waits up to 30 s for transactions that began before `until`; LockTimeout names the oldest one left,
        and the period is closed to others by then: call it again.
        """
        closing: PeriodClosing = await self._walk(self._operations.close_period(until, reason=reason, actor=actor))
        return closing

    async def reopen_period(self, *, key: str, since: datetime, reason: str, actor: str) -> PeriodClosing:
        """
        Reopen the books for what occurred from `since` on, once under `key`. Who did it and why stays on record.

        A second call under the key returns the first reopening and reopens nothing; with another moment or reason it
        raises PeriodConflict. `close_period` closes the books again. Locks: whoever posts with an older moment waits.
        """
        return await self._run(self._operations.reopen_period(key=key, since=since, reason=reason, actor=actor))

    async def period_closings(self, *, limit: int = CLOSINGS_SHOWN) -> list[PeriodClosing]:
        """Return up to `limit` (1 … 1,000) closings and reopenings, the one in force first. Locks nothing."""
        return await self._run(self._operations.period_closings(limit=limit))
