"""
The settler: twice a second it settles what results have made due, market by market, in bounded batches.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

from lastro.ledger import Ledger
from lastro.telemetry import measure
from lastro.workers.loop import Facts

INTERVAL_MS: Final = 500
JITTER: Final = 0.1


class Settler:
    """
    One round a tick; each batch of at most 500 bets is its own short transaction. Several at once share the work: each
    market is one settler's at a time.

    Once *stopping* says so, the batch in hand is the round's last. Measures `lastro_settled_bets` and
    `lastro_settlement_batch_ms` a batch, and a round `lastro_settlement_backlog_age_ms`, `lastro_stuck_bets` and
    `lastro_overdue_bets`.
    """

    name = "settler"
    interval_ms = INTERVAL_MS
    jitter = JITTER

    def __init__(self, ledger: Ledger, *, stopping: Callable[[], bool] = lambda: False) -> None:
        self._ledger = ledger
        self._stopping = stopping
        self._batch_began_s = 0.0

    def run_once(self) -> Facts:
        """Run one round."""
        self._batch_began_s = time.monotonic()
        done = self._ledger.betting.settle(after_batch=self._after_batch)
        measure("lastro_settlement_backlog_age_ms", self._ledger.betting.backlog().age_ms)
        if done.stuck:
            measure("lastro_stuck_bets", done.stuck)
        if done.overdue:
            measure("lastro_overdue_bets", done.overdue)
        figures = {name: value for name, value in done._asdict().items() if name != "full"}
        return Facts(figures, more=done.full)

    def close(self) -> None:
        """Let go of the connections."""
        self._ledger.close()

    def _after_batch(self, bets: int) -> bool:
        now_s = time.monotonic()
        if bets:
            measure("lastro_settled_bets", bets)
            measure("lastro_settlement_batch_ms", (now_s - self._batch_began_s) * 1000)
        self._batch_began_s = now_s
        return not self._stopping()
