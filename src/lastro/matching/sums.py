"""
Which of some amounts add up to a given one: a bounded search with one answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate


class Budget:
    """
    How many sums may still be looked at. `spent` once a search was ended by it.
    """

    def __init__(self, sums_max: int) -> None:
        self._left = sums_max
        self.spent = False

    def take(self, sums: int) -> bool:
        """Take so much of it; False where so much isn't left."""
        self.spent = self.spent or sums > self._left
        self._left -= sums
        return not self.spent


def adding_up(target: int, amounts: Sequence[int], budget: Budget) -> tuple[int, ...]:
    """
    Return the places of the amounts that add up to *target*, which isn't 0; nothing where none do, or *budget* is spent.

    Of several answers it is one that needs the shortest beginning of the *amounts*.
    """
    least = _from_the_end([min(amount, 0) for amount in amounts])
    most = _from_the_end([max(amount, 0) for amount in amounts])
    # Each sum that was met, with the place of the amount added last, and the sum before that.
    met: dict[int, tuple[int, int]] = {0: (-1, 0)}
    live = [0]
    for place, amount in enumerate(amounts):
        # Only from these can what follows still lead to the target.
        live = [total for total in live if least[place] <= target - total <= most[place]]
        if not live or not budget.take(len(live)):
            return ()
        for total in tuple(live):
            if total + amount not in met:
                met[total + amount] = (place, total)
                live.append(total + amount)
        if target in met:
            return _traced(target, met)
    return ()


def _from_the_end(amounts: Sequence[int]) -> list[int]:
    """The sum of each place and of all that follow it."""
    return list(accumulate(reversed(amounts)))[::-1]


def _traced(total: int, met: dict[int, tuple[int, int]]) -> tuple[int, ...]:
    places = []
    while total:
        place, total = met[total]
        places.append(place)
    return tuple(reversed(places))
