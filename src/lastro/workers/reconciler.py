"""
The reconciler: every ten minutes it compares what moved with its history, and says so where they differ.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Final

from lastro.ledger import Ledger
from lastro.model.incident import OnDrift
from lastro.model.limits import RECONCILIATION_REST_TIMES
from lastro.telemetry import measure
from lastro.workers.loop import Facts

INTERVAL_MS: Final = 600_000
JITTER: Final = 0.1

_log = logging.getLogger("lastro.reconciliation")


class Reconciler:
    """
    One round a tick. Several at once do each other's work, and no harm.

    Once *stopping* says so, the batch in hand is the round's last; the next round skips what this one got done.
    Measures `lastro_open_incidents`, `lastro_drifted_accounts` and `lastro_reconciled_accounts` a round. Remembers in
    `found_drift` whether any round found an incident that nobody has explained.
    """

    name = "reconciler"
    jitter = JITTER

    def __init__(
        self,
        ledger: Ledger,
        *,
        stopping: Callable[[], bool] = lambda: False,
        interval_ms: int = INTERVAL_MS,
        full: bool = False,
        on_drift: OnDrift = "report",
        rest: float = RECONCILIATION_REST_TIMES,
    ) -> None:
        self.interval_ms = interval_ms
        self.found_drift = False
        self._ledger = ledger
        self._stopping = stopping
        self._full = full
        self._on_drift = on_drift
        self._rest = rest

    def run_once(self) -> Facts:
        """Run one round."""
        done = self._ledger.reconcile(
            full=self._full,
            on_drift=self._on_drift,
            rest=self._rest,
            after_batch=lambda _: not self._stopping(),
        )
        measure("lastro_open_incidents", done.open_incidents)
        measure("lastro_drifted_accounts", done.drifted)
        measure("lastro_reconciled_accounts", done.accounts)
        if done.open_incidents:
            self.found_drift = True
            _log.warning("open incidents: %d, until somebody explains them (lastro incidents)", done.open_incidents)
        return Facts({"accounts": done.accounts, "skipped": done.skipped, "opened": done.opened})

    def close(self) -> None:
        """Let go of the connections."""
        self._ledger.close()
