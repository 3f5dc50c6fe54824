"""
The day closer: once a day by UTC it writes down what each account stood at, for balances and statements of the past.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from lastro.ledger import Ledger
from lastro.plans.closing_days import DAY_S
from lastro.telemetry import measure
from lastro.workers.loop import Facts

INTERVAL_MS: Final = 60_000
JITTER: Final = 0.2


class DayCloser:
    """
    One look a tick, whether a mark is due or one was begun; each page of accounts is its own short transaction. Several at
    once are fine: one works, the others find it at work or done.

    Once *stopping* says so, the page in hand is the round's last. Measures `lastro_closings` a page, and
    `lastro_closings_wait_for` (transactions) a round that ended waiting.
    """

    name = "day_closer"
    interval_ms = INTERVAL_MS
    jitter = JITTER

    def __init__(self, ledger: Ledger, *, every_s: int = DAY_S, stopping: Callable[[], bool] = lambda: False) -> None:
        self._ledger = ledger
        self._every_s = every_s
        self._stopping = stopping

    def run_once(self) -> Facts:
        """Run one round."""
        done = self._ledger.close_days(every_s=self._every_s, after_batch=self._after_batch)
        if done.waits_for:
            measure("lastro_closings_wait_for", len(done.waits_for))
        figures = {"marks": done.marks, "closings": done.closings, "waits_for": len(done.waits_for)}
        # What it waits for ends when it ends; looking again at once would only look.
        return Facts(figures, more=done.full and not done.waits_for)

    def close(self) -> None:
        """Let go of the connections."""
        self._ledger.close()

    def _after_batch(self, closings: int) -> bool:
        if closings:
            measure("lastro_closings", closings)
        return not self._stopping()
