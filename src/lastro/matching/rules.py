"""
The rules of matching: every line and every transfer of one reference ends in one group, whatever order they come in.

In this order: what moves nothing; one line to one transfer; one line to several transfers; several lines to one
transfer; then what is left within reach of each other, which adds up or differs; then what has no other side.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from lastro.matching.limits import SUMS_MAX
from lastro.matching.pairing import pairs, within
from lastro.matching.sums import Budget, adding_up
from lastro.matching.values import OUTCOMES, Group, Item, Window

_RANK: Final = {outcome: rank for rank, outcome in enumerate(OUTCOMES)}


def judge(lines: Iterable[Item], transfers: Iterable[Item], window: Window, *, sums_max: int = SUMS_MAX) -> list[Group]:
    """
    Return the groups of the lines and transfers of one reference and currency, in their order.

    Every line and transfer inside the period is in exactly one; one of a neighbouring period is in one only where it
    explains something inside. The search looks at *sums_max* sums; groups that it might have split are `cut_short`.
    """
    left_lines, left_transfers = set(lines), set(transfers)
    budget = Budget(sums_max)
    groups: list[Group] = []

    def settle(group: Group) -> None:
        left_lines.difference_update(group.lines)
        left_transfers.difference_update(group.transfers)
        groups.append(group)

    for line in [line for line in left_lines if not line.amount]:
        settle(Group("matched", (line,)))
    for line, transfer in pairs(left_lines, left_transfers, window):
        settle(Group("matched", (line,), (transfer,)))
    for line in sorted(left_lines):
        parts = _parts(line, (each for each in left_transfers if within(line, each, window)), budget)
        if parts:
            settle(Group("matched", (line,), parts))
    for transfer in sorted(left_transfers):
        parts = _parts(transfer, (each for each in left_lines if within(each, transfer, window)), budget)
        if parts:
            settle(Group("matched", parts, (transfer,)))
    for near_lines, near_transfers in _neighbourhoods(sorted(left_lines), sorted(left_transfers), window):
        group = Group("amount_differs", near_lines, near_transfers)
        settle(group._replace(cut_short=budget.spent) if group.difference else group._replace(outcome="matched"))
    groups += _alone(left_lines, left_transfers)
    return sorted(filter(_reported, groups), key=_order)


def judge_without_reference(lines: Iterable[Item], transfers: Iterable[Item]) -> list[Group]:
    """
    Return the groups of items that no reference connects with anything: one each.
    """
    groups = [Group("missing_in_ledger" if line.amount else "matched", (line,)) for line in lines]
    groups += [Group("missing_in_statement", (), (transfer,)) for transfer in transfers]
    return sorted(filter(_reported, groups), key=_order)


def _parts(whole: Item, reachable: Iterable[Item], budget: Budget) -> tuple[Item, ...]:
    """Those of *reachable*, two or more, that add up to *whole*: all of them, if they do; none where none do."""
    if budget.spent:
        return ()
    parts = sorted(reachable)
    budget.take(len(parts))
    if sum(part.amount for part in parts) == whole.amount:
        return tuple(parts)
    places = adding_up(whole.amount, [part.amount for part in parts], budget)
    return tuple(parts[place] for place in places)


def _neighbourhoods(
    lines: Sequence[Item], transfers: Sequence[Item], window: Window
) -> Iterator[tuple[tuple[Item, ...], tuple[Item, ...]]]:
    """
    Yield what hangs together by the window: lines and transfers of which each has one of the other side within reach.

    Both come in the order of their dates, so the stretch of transfers that a line reaches begins and ends no earlier
    than that of the line before it.
    """
    near: list[Item] = []
    first = begins = ends = 0
    for line in lines:
        while begins < len(transfers) and (line.on - transfers[begins].on).days > window.days_after:
            begins += 1
        if near and begins >= ends:
            yield tuple(near), tuple(transfers[first:ends])
            near = []
        ends = max(ends, begins)
        while ends < len(transfers) and within(line, transfers[ends], window):
            ends += 1
        if begins < ends:
            first = first if near else begins
            near.append(line)
    if near:
        yield tuple(near), tuple(transfers[first:ends])


def _alone(lines: Iterable[Item], transfers: Iterable[Item]) -> list[Group]:
    only_lines = tuple(sorted(line for line in lines if line.inside))
    only_transfers = tuple(sorted(transfer for transfer in transfers if transfer.inside))
    groups = [Group("missing_in_ledger", only_lines)] if only_lines else []
    return [*groups, Group("missing_in_statement", (), only_transfers)] if only_transfers else groups


def _reported(group: Group) -> bool:
    return any(item.inside for item in (*group.lines, *group.transfers))


def _order(group: Group) -> tuple[int, tuple[Item, ...], tuple[Item, ...]]:
    return _RANK[group.outcome], group.lines, group.transfers
