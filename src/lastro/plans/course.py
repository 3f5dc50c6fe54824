"""
A course: plans one after the other, each its own transaction, with pauses between them.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any, Final, NamedTuple, TypeAlias, TypeVar

from lastro.plans.plan import Effect, MakePlan

T = TypeVar("T")
MS_IN_A_SECOND: Final = 1_000


class Act(NamedTuple):
    """
    Run a plan in a transaction of its own; the course receives its result.
    """

    make: MakePlan[Any]
    effect: Effect = Effect.KEYED


class Pause(NamedTuple):
    """
    Wait outside every transaction.
    """

    ms: int


class Rest(NamedTuple):
    """
    Wait outside every transaction, so many times as long as the acts since the last rest took, and no longer than that.
    """

    times: float
    ms_max: int

    def after(self, acted_s: float) -> Pause:
        """Return the pause that this comes to."""
        return Pause(min(int(acted_s * MS_IN_A_SECOND * self.times), self.ms_max))


# What a course yields it gets an answer to: the plan's result for an Act, nothing for a Pause or a Rest.
Course: TypeAlias = Generator[Act | Pause | Rest, Any, T]
