"""
The consolidator: folds the tail into the base amounts every 500 ms, and again at once while more is waiting.
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


class Consolidator:
    """
    One round a tick; each batch of at most 5,000 rows is its own short transaction. Several at once share the work.

    Once *stopping* says so, the batch in hand is the round's last. Measures `lastro_consolidated_rows` and
    `lastro_consolidation_batch_ms` a batch, `lastro_consolidation_blocked_accounts` a round that had to pass some over.
    """

    name = "consolidator"
    interval_ms = INTERVAL_MS
    jitter = JITTER

    def __init__(self, ledger: Ledger, *, stopping: Callable[[], bool] = lambda: False) -> None:
        self._ledger = ledger
        self._stopping = stopping
        self._batch_began_s = 0.0

    def run_once(self) -> Facts:
        """Run one round."""
        self._batch_began_s = time.monotonic()
        done = self._ledger.consolidate(after_batch=self._after_batch)
        if done.blocked:
            measure("lastro_consolidation_blocked_accounts", done.blocked)
        figures = {"accounts": done.accounts, "rows": done.rows, "batches": done.batches, "blocked": done.blocked}
        return Facts(figures, more=done.full)

    def close(self) -> None:
        """Let go of the connections."""
        self._ledger.close()

    def _after_batch(self, rows: int) -> bool:
        now_s = time.monotonic()
        if rows:
            measure("lastro_consolidated_rows", rows)
            measure("lastro_consolidation_batch_ms", (now_s - self._batch_began_s) * 1000)
        self._batch_began_s = now_s
        return not self._stopping()
