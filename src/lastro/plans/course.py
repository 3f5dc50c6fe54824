"""
A course: plans one after the other, each its own transaction, with pauses between them.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any, NamedTuple, TypeAlias, TypeVar

from lastro.plans.plan import Effect, MakePlan

T = TypeVar("T")


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


# What a course yields it gets an answer to: the plan's result for an Act, nothing for a Pause.
Course: TypeAlias = Generator[Act | Pause, Any, T]
