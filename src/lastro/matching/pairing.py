"""
One line to one transfer of the same amount: as many pairs as there can be, the earliest with the earliest.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from lastro.matching.values import Item, Window


def within(line: Item, transfer: Item, window: Window) -> bool:
    """
    Say whether a line is dated so that it may be of a transfer.
    """
    return -window.days_before <= (line.on - transfer.on).days <= window.days_after


def pairs(lines: Iterable[Item], transfers: Iterable[Item], window: Window) -> list[tuple[Item, Item]]:
    """
    Return pairs of a line and a transfer of equal amounts, within the window; each in one pair at most.

    All lines have one window, so the earliest line that has a transfer may take the earliest one: that leaves to the
    others no less than any other choice would. So there are as many pairs as there can be.
    """
    found = []
    by_amount = _by_amount(transfers)
    for amount, candidates in sorted(_by_amount(lines).items()):
        found += _earliest(candidates, by_amount.get(amount, ()), window)
    return found


def _by_amount(items: Iterable[Item]) -> dict[int, list[Item]]:
    found: dict[int, list[Item]] = defaultdict(list)
    for item in sorted(items):
        found[item.amount].append(item)
    return found


def _earliest(lines: Sequence[Item], transfers: Sequence[Item], window: Window) -> list[tuple[Item, Item]]:
    found = []
    waiting = iter(transfers)
    transfer = next(waiting, None)
    for line in lines:
        while transfer is not None and (line.on - transfer.on).days > window.days_after:
            # Too early for this line, and so for all that follow.
            transfer = next(waiting, None)
        if transfer is None:
            break
        if within(line, transfer, window):
            found.append((line, transfer))
            transfer = next(waiting, None)
    return found
