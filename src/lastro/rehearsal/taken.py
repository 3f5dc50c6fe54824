"""
A target for the relay that takes every event at once: the outbox is drained as in production, and nobody is told.
"""

from __future__ import annotations

from collections.abc import Sequence

from lastro.plans.relaying import Outgoing
from lastro.relaying.delivering import ACKNOWLEDGED, Outcome


class Taken:
    """
    Acknowledges whatever it is handed.
    """

    name = "rehearsal"
    failures_max: int | None = None

    def publish(self, events: Sequence[Outgoing], *, timeout_ms: int) -> list[Outcome]:
        """Acknowledge all."""
        del timeout_ms
        return [ACKNOWLEDGED] * len(events)

    def close(self) -> None:
        """There is nothing to let go of."""
