"""
Courses that give way: asking again for a strong lock with pauses between, and outlasting transactions from before.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Final, TypeVar

from lastro.errors import LockTimeout
from lastro.plans.course import Act, Course, Pause
from lastro.plans.plan import Effect, MakePlan, Row, Rows

T = TypeVar("T")

LOOK_EVERY_MS: Final = 10
# A change of the schema waits so long for its lock, so that traffic never queues behind it for longer, so many times.
LOCK_TIMEOUT_MS: Final = 2_000
TRIES_MAX: Final = 30
PAUSE_BETWEEN_TRIES_MS: Final = 500


def giving_way(make: MakePlan[T], *, tries_max: int = TRIES_MAX, pause_ms: int = PAUSE_BETWEEN_TRIES_MS) -> Course[T]:
    """
    Run a plan that waits only briefly for its locks, again after a pause where it didn't get them.
    """
    for tries_left in reversed(range(tries_max)):
        try:
            result: T = yield Act(make)
        except LockTimeout:
            if not tries_left:
                raise
            yield Pause(pause_ms)
        else:
            return result
    raise AssertionError("the last try returns or raises")


def outlast(under_way: MakePlan[Rows], fault: Callable[[Row], LockTimeout], *, wait_ms: int) -> Course[None]:
    """
    Wait until the transactions that *under_way* finds now have ended; *fault* makes the error about the oldest one.
    """
    look = Act(under_way, Effect.READ)
    rows: Rows = yield look
    before = {row["transaction"] for row in rows}
    waited_ms = 0
    while before:
        if waited_ms >= wait_ms:
            raise fault(max(rows, key=lambda row: row["age_s"] or 0))
        yield Pause(LOOK_EVERY_MS)
        # A store that can't be asked at once says how long it takes to look.
        waited_ms += LOOK_EVERY_MS + rows[0].get("look_ms", 0)
        found: Rows = yield look
        rows = still_under_way(before, found)
        before = {row["transaction"] for row in rows}


def still_under_way(before: Collection[str], found: Rows) -> list[Row]:
    """
    Return what is left of the transactions *before*, by name, among those *found* now.

    One that was prepared for a commit in two phases meanwhile goes by another name, and belongs to no connection: every
    such one is counted, also where it began later.
    """
    return [row for row in found if row["transaction"] in before or not row["pid"]]
