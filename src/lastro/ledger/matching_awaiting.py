"""
The matching of an awaiting ledger: one line a method.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import IO

from lastro.ledger.matching import MatchingAsks, Spec
from lastro.ledger.operations import Operations
from lastro.ledger.running_async import AsyncHeldEngine, AsyncRuns
from lastro.matching.files import ReportFormat, reporting
from lastro.matching.limits import GROUPS_LISTED_MAX
from lastro.matching.values import MatchGroup, MatchRun

SHOWN = 100


class AsyncMatching(AsyncRuns):
    """
    Which lines of merged sheets are which transfers: `ledger.matching`. Reads the ledger and never writes to it.
    """

    def __init__(self, engine: AsyncHeldEngine, operations: Operations) -> None:
        super().__init__(engine, operations)
        self._asks = MatchingAsks(operations)

    async def match(self, spec: Spec, *, period: str, account: str | None = None, actor: str | None = None) -> MatchRun:
        """
        Match the lines of a month ("2026-11") with transfers by a spec, store what came of it, and return the figures.

        `spec`: the name of a ready one ("movements", "billing"), the path of a TOML file, or a `MatchSpec`. With
        `account` only that account's transfers are looked at. Lines and transfers are those of one moment; the same ones
        give the same groups each time, and the newest run stands. One transaction, which locks nothing that others wait
        for. Raises InvalidInput.
        """
        return await self._run(self._asks.match(spec, period=period, account=account, actor=actor))

    async def run(self, run: int) -> MatchRun:
        """Return one run. Raises InvalidInput where there is none of that number."""
        return await self._run(self._asks.run(run))

    async def runs(
        self, *, spec: str | None = None, period: str | None = None, before: int | None = None, limit: int = SHOWN
    ) -> list[MatchRun]:
        """Return up to `limit` (1 … 1,000) runs, the newest first: those of a spec, of a period, or with an id below."""
        return await self._run(self._asks.runs(spec=spec, period=period, before=before, limit=limit))

    async def groups(self, run: int, *, matched: bool = False, after: int = 0, limit: int = SHOWN) -> list[MatchGroup]:
        """
        Return up to `limit` (1 … 1,000) groups that differ, or all with `matched=True`: those behind the number `after`.
        """
        return await self._run(self._asks.groups(run, matched=matched, after=after, limit=limit))

    async def each_group(self, run: int, *, matched: bool = False) -> AsyncIterator[MatchGroup]:
        """Yield all groups that differ, or all, page by page."""
        after = 0
        while page := await self.groups(run, matched=matched, after=after, limit=GROUPS_LISTED_MAX):
            for group in page:
                yield group
            after = page[-1].number

    async def write(
        self,
        run: int,
        to: str | Path | IO[bytes],
        format: ReportFormat = "csv",  # noqa: A002  (what it is)
        *,
        matched: bool = False,
    ) -> int:
        """
        Write the groups that differ, or all, as "csv" or as an "html" page to be printed; return their number.

        A file comes into being once it is complete: `to` is its path, or a binary file that is open.
        """
        head = await self.run(run)
        with reporting(head, to, format) as writer:
            async for group in self.each_group(run, matched=matched):
                writer.add(group)
        return writer.groups
