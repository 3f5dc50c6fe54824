"""
What is made wrong on purpose: ten differences that must be found, and mistakes that a second zip corrects.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from lastro.matching import Outcome
from lastro.rehearsal.statements.lines import Line, Said

# Mistakes of the first zip: every so many lines one is wrong, or isn't there yet.
WRONG_EVERY = 40
LATE_EVERY = 60
WITHDRAWN = 2
MISTAKE_CENTS = 7
# Of an order that is to be changed: so that half of it is something.
CENTS_MIN = 200
MOVEMENTS_CHANGED = 6
LEFT_OUT = 2
# By how much the second of two halves is too little.
SHORT_CENTS = 50


class Difference(NamedTuple):
    """
    A difference between a statement and the ledger; `cents` is what the statement says more.
    """

    sheet: str
    outcome: Outcome
    reference: str
    cents: int


class Mistakes(NamedTuple):
    """
    What the second zip does about the first one's mistakes, in lines of a sheet.
    """

    corrected: int
    added: int
    withdrawn: int


def plant(said: Said) -> tuple[Said, list[Difference]]:
    """
    Return a statement with ten differences, or fewer where there are too few orders for each to have one of its own.
    """
    movements, of_movements = _plant_movements(said.movements)
    billing, of_billing = _plant_billing(said.billing)
    return said._replace(movements=movements, billing=billing), [*of_movements, *of_billing]


def _plant_movements(lines: Sequence[Line]) -> tuple[tuple[Line, ...], list[Difference]]:
    alone = iter(_alone(lines))
    changed: dict[Line, list[Line]] = {}
    found: list[Difference] = []

    def differ(outcome: Outcome, reference: str, cents: int) -> None:
        found.append(Difference("movements", outcome, reference, cents))

    for _ in range(LEFT_OUT):
        if line := next(alone, None):
            changed[line] = []
            differ("missing_in_statement", line.reference, -line.amount)
    if line := next(alone, None):
        changed[line] = [line, line._replace(number=f"{line.number}-again")]
        differ("missing_in_ledger", line.reference, line.amount)
    if line := next(alone, None):
        changed[line] = [line._replace(amount=line.amount + 1)]
        differ("amount_differs", line.reference, 1)
    if line := next(alone, None):
        changed[line] = [line._replace(amount=line.amount * 10)]
        differ("amount_differs", line.reference, 9 * line.amount)
    if line := next(alone, None):
        half = line.amount // 2
        changed[line] = [
            line._replace(amount=half),
            line._replace(number=f"{line.number}-b", amount=half - SHORT_CENTS),
        ]
        differ("amount_differs", line.reference, 2 * half - SHORT_CENTS - line.amount)
    stranger = lines[0]._replace(number="mv-unknown", reference="order:unknown", amount=12_345)
    differ("missing_in_ledger", stranger.reference, stranger.amount)
    return (*_changed(lines, changed), stranger), found


def _plant_billing(lines: Sequence[Line]) -> tuple[tuple[Line, ...], list[Difference]]:
    orders = _alone(lines)
    # Other orders than those whose movements are changed, where there are enough.
    alone = iter(orders[MOVEMENTS_CHANGED:] or orders)
    changed: dict[Line, list[Line]] = {}
    found: list[Difference] = []
    if line := next(alone, None):
        changed[line] = []
        found.append(Difference("billing", "missing_in_statement", line.reference, -line.amount))
    if line := next(alone, None):
        changed[line] = [line, line._replace(number=f"{line.number}-again")]
        found.append(Difference("billing", "missing_in_ledger", line.reference, line.amount))
    if line := next(alone, None):
        changed[line] = [line._replace(amount=line.amount + 1)]
        found.append(Difference("billing", "amount_differs", line.reference, 1))
    return tuple(_changed(lines, changed)), found


def _alone(lines: Sequence[Line]) -> list[Line]:
    """Those of an amount worth changing that are the only ones of their reference."""
    counts: dict[str, int] = {}
    for line in lines:
        counts[line.reference] = counts.get(line.reference, 0) + 1
    return [line for line in lines if counts[line.reference] == 1 and line.amount >= CENTS_MIN]


def _changed(lines: Sequence[Line], changes: dict[Line, list[Line]]) -> list[Line]:
    return [new for line in lines for new in changes.get(line, [line])]


def with_mistakes(said: Said) -> tuple[Said, dict[str, Mistakes]]:
    """
    Return what the provider sent at first, of which *said* is the correction, and what that corrects in each sheet.
    """
    movements, of_movements = _mistaken(said.movements)
    billing, of_billing = _mistaken(said.billing)
    first = said._replace(movements=movements, billing=billing)
    return first, {"movements": of_movements, "billing": of_billing}


def _mistaken(lines: Sequence[Line]) -> tuple[tuple[Line, ...], Mistakes]:
    sent: list[Line] = []
    wrong = 0
    for place, line in enumerate(lines, start=1):
        if place % LATE_EVERY == 0:
            continue
        if place % WRONG_EVERY == 0:
            wrong += 1
            sent.append(line._replace(amount=line.amount + MISTAKE_CENTS))
        else:
            sent.append(line)
    sent += [lines[0]._replace(number=f"{lines[0].number}-withdrawn-{each}") for each in range(WITHDRAWN)]
    return tuple(sent), Mistakes(wrong, len(lines) - (len(sent) - WITHDRAWN), WITHDRAWN)
