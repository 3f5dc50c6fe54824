"""
What a rule's newest version would have given for the activity of one member in one period, against what was given.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from lastro.points.activities import Activity, Movement
from lastro.points.rules import Rule, points_asked


class Done(NamedTuple):
    """
    An activity with the id that its rows hang on.
    """

    id: int
    activity: Activity


class Difference(NamedTuple):
    """
    By how much an activity's earning by the rule is to change, and the movements that it consists of.
    """

    done: Done
    amount: int
    moved: Sequence[Movement]

    @property
    def numbered_to(self) -> int:
        """The number of the activity's last movement by this rule; 0 where there is none."""
        return max((movement.number for movement in self.moved), default=0)

    def takings(self) -> Iterator[tuple[Movement, int]]:
        """From which earlier movements the difference is taken back, the last one first."""
        missing = max(0, -self.amount)
        for movement in sorted(self.moved, key=lambda movement: -movement.number):
            if taken := min(missing, movement.left):
                yield movement, taken
                missing -= taken

    def amounts(self) -> list[int]:
        """The movements that it takes to post the difference, with their signs."""
        return [self.amount] if self.amount > 0 else [-amount for _, amount in self.takings()]


def differences(
    rule: Rule, done: Sequence[Done], moved: Mapping[int, Sequence[Movement]]
) -> tuple[list[Difference], int]:
    """
    Return what is to change for *done*, all of a member's activity in one period, and how much of the cap it uses then.

    Activity counts in the order in which it happened, and of one moment in which it was recorded. What doesn't fit gives
    what still fits or nothing, as the rule says: it can't be refused any more.
    """
    used = 0
    found: list[Difference] = []
    for one in sorted(done, key=lambda one: (one.activity.occurred_at, one.id)):
        cancelled = one.activity.cancelled_at is not None
        wanted = 0 if cancelled else rule.fitting(points_asked(rule, one.activity.units), used)
        used += wanted
        movements = moved.get(one.id, ())
        if change := wanted - sum(movement.amount for movement in movements):
            found.append(Difference(one, change, movements))
    return found, used
