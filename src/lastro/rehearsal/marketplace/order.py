"""
An order and the money it moves: what each seller gets, and the platform's commission on each item.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any, NamedTuple

import lastro

CURRENCY = "BRL"
PLATFORM = "platform"
WORLD = "world"
COMMISSION_PERCENT = 10


class Item(NamedTuple):
    """
    One item of an order: `number` counts from 1 within it; `price` and `freight` in cents.
    """

    number: int
    product: str
    seller: str
    ship_by: datetime
    price: int
    freight: int

    @property
    def commission(self) -> int:
        """What the platform keeps of the price, in cents: 10 %, rounded half to even. Freight is the seller's."""
        return lastro.proportion(self.price, numerator=COMMISSION_PERCENT, denominator=100)


class OrderChanged(lastro.Refusal):
    """An order of that id was checked out before, with other items. Details: `order_id`."""

    code = "order_changed"


class Order(NamedTuple):
    """
    An order of one buyer, with items of one seller or several.
    """

    id: str
    items: tuple[Item, ...]

    @property
    def total(self) -> int:
        """What the buyer pays, in cents."""
        return sum(item.price + item.freight for item in self.items)

    def refuse_change(self, stored: Iterable[Item]) -> None:
        """Raise OrderChanged unless the items stored under this id, in their order, are this order's."""
        if tuple(stored) != tuple(sorted(self.items)):
            raise OrderChanged(
                f"order {self.id} was checked out before with other items; a changed order needs an id of its own",
                order_id=self.id,
            )

    def transfers(self) -> list[dict[str, Any]]:
        """
        Return what this order posts: a commission for each item, then a sale for each seller.

        The keys are made of the order's own identity, so that a checkout that is repeated posts nothing anew. The
        commissions go to a hot account and wait for nothing; the sellers' accounts are locked, so they come last.
        """
        earned: dict[str, int] = {}
        transfers = []
        for item in self.items:
            earned[item.seller] = earned.get(item.seller, 0) + item.price + item.freight - item.commission
            # A price of a few cents has a commission of nothing, and nothing isn't posted.
            if item.commission:
                transfers.append(self._transfer("commission", str(item.number), PLATFORM, item.commission))
        for seller, amount in earned.items():
            transfers.append(self._transfer("sale", seller, seller_account(seller), amount))
        return transfers

    def _transfer(self, kind: str, part: str, credit: str, amount: int) -> dict[str, Any]:
        cause = f"order:{self.id}"
        return {
            "key": f"{cause}:{kind}:{part}",
            "kind": kind,
            "debit": WORLD,
            "credit": credit,
            "amount": amount,
            "currency": CURRENCY,
            "cause": cause,
            "source": cause,
            "actor": "checkout",
        }


def seller_account(seller: str) -> str:
    """Return the name of a seller's account."""
    return f"seller:{seller}"
