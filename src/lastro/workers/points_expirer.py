"""
The points expirer: expires what is left of lots past their expiry, once a minute, and again at once while more is due.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from lastro.ledger import Ledger
from lastro.telemetry import measure
from lastro.workers.loop import Facts

INTERVAL_MS: Final = 60_000
JITTER: Final = 0.2


class PointsExpirer:
    """
    One round a tick; each batch of at most 500 lots is its own short transaction. Several at once are fine: an account
    that one of them holds, the other passes over.

    Once *stopping* says so, the batch in hand is the round's last. Measures `lastro_expired_lots` a batch, and
    `lastro_expiry_skipped_lots` a round that had to pass some over.
    """

    name = "points_expirer"
    interval_ms = INTERVAL_MS
    jitter = JITTER

    def __init__(self, ledger: Ledger, *, stopping: Callable[[], bool] = lambda: False) -> None:
        self._ledger = ledger
        self._stopping = stopping

    def run_once(self) -> Facts:
        """Run one round."""
        done = self._ledger.points.expire(after_batch=self._after_batch)
        if done.skipped:
            measure("lastro_expiry_skipped_lots", done.skipped)
        figures = {"lots": done.lots, "points": done.points, "batches": done.batches, "skipped": done.skipped}
        return Facts(figures, more=done.full)

    def close(self) -> None:
        """Let go of the connections."""
        self._ledger.close()

    def _after_batch(self, lots: int) -> bool:
        if lots:
            measure("lastro_expired_lots", lots)
        return not self._stopping()
