"""What the rules of matching have to keep, said the plainest way: all subsets, all pairs, no order and no cleverness."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations

from lastro.matching.values import Group, Item, Window


def near(line: Item, transfer: Item, window: Window) -> bool:
    """Whether a line may be of a transfer, by their dates."""
    return -window.days_before <= (line.on - transfer.on).days <= window.days_after


def faults(lines: Sequence[Item], transfers: Sequence[Item], window: Window, groups: Sequence[Group]) -> Iterator[str]:
    """What is wrong with *groups*; nothing where they are right."""
    yield from _not_once("line", lines, [line for group in groups for line in group.lines])
    yield from _not_once("transfer", transfers, [transfer for group in groups for transfer in group.transfers])
    for group in groups:
        yield from _wrong(group, window)
    if all(item.inside for item in (*lines, *transfers)):
        yield from _left_undone(groups, window)
        wanted = total(lines) - total(transfers)
        if sum(group.difference for group in groups) != wanted:
            yield f"the differences don't come to {wanted}"
        pairs = sum(len(group.lines) == len(group.transfers) == 1 and group.outcome == "matched" for group in groups)
        if pairs != most_pairs(lines, transfers, window):
            yield f"{pairs} pairs, and not as many as there can be"


def total(items: Iterable[Item]) -> int:
    """What some items come to."""
    return sum(item.amount for item in items)


def most_pairs(lines: Sequence[Item], transfers: Sequence[Item], window: Window) -> int:
    """How many lines can get a transfer of their own, of the same amount and near enough: by trying."""
    taken: dict[Item, Item] = {}

    def place(line: Item, tried: set[Item]) -> bool:
        for transfer in transfers:
            if transfer.amount == line.amount and near(line, transfer, window) and transfer not in tried:
                tried.add(transfer)
                if transfer not in taken or place(taken[transfer], tried):
                    taken[transfer] = line
                    return True
        return False

    return sum(place(line, set()) for line in lines)


def _not_once(what: str, given: Sequence[Item], found: Sequence[Item]) -> Iterator[str]:
    counts = Counter(found)
    yield from (f"a {what} from nowhere: {item}" for item in counts if item not in given)
    for item in given:
        if counts[item] > 1 or (item.inside and not counts[item]):
            yield f"{what} {item} is in {counts[item]} groups"


def _wrong(group: Group, window: Window) -> Iterator[str]:
    if not any(item.inside for item in (*group.lines, *group.transfers)):
        yield f"{group} is of another period"
    agrees = total(group.lines) == total(group.transfers)
    reachable = _hangs_together(group, window)
    good = {
        "matched": agrees and (reachable or (not group.transfers and len(group.lines) == 1)),
        "amount_differs": not agrees and bool(group.lines) and bool(group.transfers) and reachable,
        "missing_in_ledger": bool(group.lines) and not group.transfers,
        "missing_in_statement": bool(group.transfers) and not group.lines,
    }[group.outcome]
    if not good:
        yield f"{group} isn't {group.outcome}"


def _hangs_together(group: Group, window: Window) -> bool:
    """Whether each item of a group can be reached from each other, from side to side."""
    if not group.lines or not group.transfers:
        return False
    seen: set[tuple[bool, Item]] = set()
    to_see = [(True, group.lines[0])]
    while to_see:
        is_line, item = to_see.pop()
        if (is_line, item) in seen:
            continue
        seen.add((is_line, item))
        if is_line:
            to_see += [(False, other) for other in group.transfers if near(item, other, window)]
        else:
            to_see += [(True, other) for other in group.lines if near(other, item, window)]
    return len(seen) == len(group.lines) + len(group.transfers)


def _left_undone(groups: Sequence[Group], window: Window) -> Iterator[str]:
    """What of the items that aren't matched could have been."""
    left = [group for group in groups if group.outcome != "matched"]
    lines = [line for group in left for line in group.lines]
    transfers = [transfer for group in left for transfer in group.transfers]
    for line in lines:
        if _adds_up(line, [each for each in transfers if near(line, each, window)]):
            yield f"{line} could have been matched"
    for transfer in transfers:
        if _adds_up(transfer, [each for each in lines if near(each, transfer, window)]):
            yield f"{transfer} could have been matched"
    for group in left:
        for line in group.lines if group.outcome == "missing_in_ledger" else ():
            if any(near(line, transfer, window) for transfer in transfers):
                yield f"{line} isn't missing in the ledger: the amount differs"
        for transfer in group.transfers if group.outcome == "missing_in_statement" else ():
            if any(near(line, transfer, window) for line in lines):
                yield f"{transfer} isn't missing in the statement: the amount differs"


def _adds_up(whole: Item, parts: Sequence[Item]) -> bool:
    return any(
        total(chosen) == whole.amount for size in range(1, len(parts) + 1) for chosen in combinations(parts, size)
    )
