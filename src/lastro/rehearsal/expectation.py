"""
What the books must say after every order was checked out once, worked out from the rows without the library.

Plain Decimals and dictionaries on purpose: this is the second opinion, and shares no code with what it judges.
"""

from __future__ import annotations

from collections.abc import Iterable
from decimal import ROUND_HALF_EVEN, Decimal
from typing import NamedTuple

from lastro.rehearsal.order_rows import OrderRow

CENT = Decimal("0.01")
COMMISSION_RATE = Decimal("0.10")


class Expectation(NamedTuple):
    """
    Counts, sums in whole currency units, what each seller earned, and each transfer: key → (credited account, amount).
    """

    orders: int
    items: int
    prices: Decimal
    freight: Decimal
    commission: Decimal
    earned: dict[str, Decimal]
    transfers: dict[str, tuple[str, Decimal]]


def expectation_of(rows: Iterable[OrderRow]) -> Expectation:
    """Work out what the rows must lead to."""
    orders: set[str] = set()
    items = 0
    prices = freight = commissions = Decimal(0)
    earned: dict[str, Decimal] = {}
    transfers: dict[str, tuple[str, Decimal]] = {}
    for row in rows:
        price, carried = Decimal(row.price), Decimal(row.freight_value)
        commission = (price * COMMISSION_RATE).quantize(CENT, rounding=ROUND_HALF_EVEN)
        orders.add(row.order_id)
        items += 1
        prices, freight, commissions = prices + price, freight + carried, commissions + commission
        seller = f"seller:{row.seller_id}"
        earned[seller] = earned.get(seller, Decimal(0)) + price + carried - commission
        if commission:
            transfers[f"order:{row.order_id}:commission:{int(row.order_item_id)}"] = ("platform", commission)
        sale = f"order:{row.order_id}:sale:{row.seller_id}"
        before = transfers[sale][1] if sale in transfers else Decimal(0)
        transfers[sale] = (seller, before + price + carried - commission)
    return Expectation(len(orders), items, prices, freight, commissions, earned, transfers)
