"""
The partition keeper: makes partitions of the history ahead of need, once a minute.
"""

from __future__ import annotations

from typing import Final

from lastro.ledger import Ledger
from lastro.telemetry import measure
from lastro.workers.loop import Facts

INTERVAL_MS: Final = 60_000
JITTER: Final = 0.2


class PartitionKeeper:
    """
    One look a tick. Several at once are fine: the first makes what is missing, the others find it there.

    Measures `lastro_partitions_made` when there were any.
    """

    name = "partition_keeper"
    interval_ms = INTERVAL_MS
    jitter = JITTER

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    def run_once(self) -> Facts:
        """Make what is missing."""
        made = self._ledger.keep_partitions()
        if made:
            measure("lastro_partitions_made", made)
        return Facts({"partitions": made})

    def close(self) -> None:
        """Let go of the connections."""
        self._ledger.close()
