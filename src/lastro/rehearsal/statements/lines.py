"""
What a payment provider says about the marketplace: a movement for each order and payout, a bill for each commission.

Made from the orders and the marketplace's own tables, without a look into the ledger that it will be matched with.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any, NamedTuple

import psycopg
from psycopg import sql

from lastro.rehearsal.marketplace import Order
from lastro.rehearsal.stage import Stage

SPLIT_EVERY = 25

_PAID = "SELECT order_id, (paid_at AT TIME ZONE 'UTC')::date AS paid_on FROM {marketplace}.payments"
_PAYOUTS = """
SELECT payout_id, amount, (paid_at AT TIME ZONE 'UTC')::date AS paid_on
FROM {marketplace}.payouts
ORDER BY paid_at, payout_id
"""


class Line(NamedTuple):
    """
    A line of either sheet: `number` is the movement's, or the invoice's; `amount` in cents.
    """

    number: str
    reference: str
    on: date
    amount: int
    text: str

    @property
    def key(self) -> tuple[str, str]:
        """What the line is known by, in either sheet."""
        return self.number, self.reference


class Said(NamedTuple):
    """
    All that a provider says about a month ("2026-11").
    """

    period: str
    movements: tuple[Line, ...]
    billing: tuple[Line, ...]

    def sheet(self, name: str) -> tuple[Line, ...]:
        """The lines of a sheet by its name."""
        return self.movements if name == "movements" else self.billing


class Payout(NamedTuple):
    """
    A payout as the marketplace stored it; `amount` in cents.
    """

    id: str
    amount: int
    paid_on: date


def read_paid(connection: psycopg.Connection[Any], stage: Stage) -> tuple[dict[str, date], list[Payout]]:
    """
    Return on which day each order was paid, and the payouts.
    """
    names = stage.names()
    paid = dict(connection.execute(sql.SQL(_PAID).format(**names)).fetchall())
    payouts = [Payout(*row) for row in connection.execute(sql.SQL(_PAYOUTS).format(**names))]
    return paid, payouts


def said_of(orders: Sequence[Order], paid: Mapping[str, date], payouts: Sequence[Payout]) -> Said:
    """
    Return what a provider that makes no mistakes says: of the month of the first payment, all dated within it.

    Some orders come in two movements that add up to them.
    """
    first = min(paid.values())
    last = _last_of(first)
    movements: list[Line] = []
    billing: list[Line] = []
    for place, order in enumerate(sorted(orders, key=lambda order: (paid[order.id], order.id))):
        reference, day = f"order:{order.id}", min(paid[order.id], last)
        for part in _parts(order.total, split=place % SPLIT_EVERY == SPLIT_EVERY - 1):
            movements.append(Line(f"mv-{len(movements):06}", reference, day, part, "payment"))
        commission = sum(item.commission for item in order.items)
        if commission:
            billing.append(Line(f"inv-{place // 500:03}", reference, day, commission, "commission"))
    for payout in payouts:
        day = min(payout.paid_on, last)
        movements.append(Line(f"mv-{len(movements):06}", f"payout:{payout.id}", day, -payout.amount, "payout"))
    return Said(f"{first:%Y-%m}", tuple(movements), tuple(billing))


def _parts(amount: int, *, split: bool) -> tuple[int, ...]:
    return (amount // 3, amount - amount // 3) if split and amount // 3 else (amount,)


def _last_of(day: date) -> date:
    following = date(day.year + day.month // 12, day.month % 12 + 1, 1)
    return date.fromordinal(following.toordinal() - 1)
