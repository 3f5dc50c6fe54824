"""
The expirer of holds: once a second it gives back what is left of the holds past their deadline.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

from lastro.ledger import Ledger
from lastro.telemetry import measure
from lastro.workers.loop import Facts

INTERVAL_MS: Final = 1_000
JITTER: Final = 0.1


class HoldExpirer:
    """
    One round a tick; each batch of at most 500 holds is its own short transaction. Several at once share the work.

    Once *stopping* says so, the batch in hand is the round's last. Measures `lastro_expired_holds` and
    `lastro_hold_expiry_batch_ms` a batch, `lastro_hold_expiry_blocked` a round that had to pass some over.
    """

    name = "hold_expirer"
    interval_ms = INTERVAL_MS
    jitter = JITTER

    def __init__(self, ledger: Ledger, *, stopping: Callable[[], bool] = lambda: False) -> None:
        self._ledger = ledger
        self._stopping = stopping
        self._batch_began_s = 0.0

    def run_once(self) -> Facts:
        """Run one round."""
        self._batch_began_s = time.monotonic()
        done = self._ledger.expire_holds(after_batch=self._after_batch)
        if done.blocked:
            measure("lastro_hold_expiry_blocked", done.blocked)
        return Facts({"holds": done.holds, "batches": done.batches, "blocked": done.blocked}, more=done.full)

    def close(self) -> None:
        """Let go of the connections."""
        self._ledger.close()

    def _after_batch(self, holds: int) -> bool:
        now_s = time.monotonic()
        if holds:
            measure("lastro_expired_holds", holds)
            measure("lastro_hold_expiry_batch_ms", (now_s - self._batch_began_s) * 1000)
        self._batch_began_s = now_s
        return not self._stopping()
