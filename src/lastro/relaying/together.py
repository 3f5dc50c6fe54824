"""
Several targets as one: an event is published once each of them has acknowledged it.
"""

from __future__ import annotations

from collections.abc import Sequence

from lastro.plans.relaying import Outgoing
from lastro.relaying.delivering import Outcome, Target


class Together:
    """
    Publishes to each target in turn; what one didn't take isn't offered to the next, and comes again to those that did.
    """

    def __init__(self, targets: Sequence[Target]) -> None:
        self._targets = tuple(targets)
        self.name = " + ".join(target.name for target in self._targets)[:255]
        limits = [target.failures_max for target in self._targets if target.failures_max is not None]
        self.failures_max = min(limits, default=None)

    def publish(self, events: Sequence[Outgoing], *, timeout_ms: int) -> list[Outcome]:
        """Publish to all, within *timeout_ms* together."""
        outcomes: list[Outcome | None] = [None] * len(events)
        share_ms = timeout_ms // len(self._targets)
        taken = list(range(len(events)))
        for target in self._targets:
            if not taken:
                break
            answered = target.publish([events[place] for place in taken], timeout_ms=share_ms)
            for place, outcome in zip(taken, answered, strict=True):
                outcomes[place] = outcome
            taken = [place for place in taken if _acknowledged(outcomes[place])]
        return [outcome for outcome in outcomes if outcome is not None]

    def close(self) -> None:
        """Close all."""
        for target in self._targets:
            target.close()


def _acknowledged(outcome: Outcome | None) -> bool:
    return outcome is not None and outcome.verdict == "acknowledged"
