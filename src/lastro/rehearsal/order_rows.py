"""
Where orders come from: rows of text, read from a CSV or made by seed, and the orders they say.
"""

from __future__ import annotations

import random
from collections.abc import Iterable
from datetime import datetime, timedelta
from itertools import accumulate
from pathlib import Path
from typing import NamedTuple

import lastro
from lastro.rehearsal.csv_rows import read_csv
from lastro.rehearsal.marketplace import CURRENCY, Item, Order

ORDERS_MADE = 4_500
SEED = 1

# The shape of a marketplace's orders: most have one item, most sellers sell little and a few sell much.
_ITEMS_PER_ORDER = (1, 2, 3, 4, 5, 6, 8)
_ITEMS_WEIGHTS = (9_000, 770, 130, 55, 20, 13, 4)
_ORDERS_PER_SELLER = 4
_SELLER_SKEW = 0.75
_SAME_PRODUCT_SHARE = 0.67
_PRICE_LOG_CENTS = (8.95, 0.9)
_PRICE_RANGE_CENTS = (85, 1_000_000)
_FREIGHT_LOG_CENTS = (7.4, 0.45)
_FREIGHT_FREE_SHARE = 0.004
_FIRST_DAY = datetime(2026, 1, 5, 9)  # noqa: DTZ001 - a shipping limit is local time, as the column has no zone
_DAYS = 300


class OrderRow(NamedTuple):
    """
    One item as the file says it, all of it text. The names are the columns of the CSV.
    """

    order_id: str
    order_item_id: str
    product_id: str
    seller_id: str
    shipping_limit_date: str
    price: str
    freight_value: str


def read_rows(path: Path) -> list[OrderRow]:
    """
    Read the rows of a CSV with the columns of OrderRow, in whatever order. Raises InvalidInput with the line.
    """
    return [OrderRow(*texts) for texts in read_csv(path, OrderRow._fields, of="order items")]


def make_rows(orders: int = ORDERS_MADE, *, seed: int = SEED) -> list[OrderRow]:
    """
    Make rows of *orders* orders by *seed*: the same seed makes the same rows.
    """
    chance = random.Random(seed)  # noqa: S311 - it must be repeatable, and guards nothing
    sellers = [_made_id(chance) for _ in range(max(3, orders // _ORDERS_PER_SELLER))]
    popularity = list(accumulate(1 / (rank + 3) ** _SELLER_SKEW for rank in range(len(sellers))))
    rows: list[OrderRow] = []
    for _ in range(orders):
        order_id = _made_id(chance)
        count = chance.choices(_ITEMS_PER_ORDER, _ITEMS_WEIGHTS)[0]
        for number in range(1, count + 1):
            again = rows[-1] if number > 1 and chance.random() < _SAME_PRODUCT_SHARE else None
            if again is not None:
                rows.append(again._replace(order_item_id=str(number)))
                continue
            seller = chance.choices(sellers, cum_weights=popularity)[0]
            rows.append(_made_row(chance, order_id, number, seller))
    return rows


def _made_row(
    chance: random.Random,
    order_id: str,
    number: int,
    seller: str,
) -> OrderRow:
    price = min(max(int(chance.lognormvariate(*_PRICE_LOG_CENTS)), _PRICE_RANGE_CENTS[0]), _PRICE_RANGE_CENTS[1])
    freight = 0 if chance.random() < _FREIGHT_FREE_SHARE else int(chance.lognormvariate(*_FREIGHT_LOG_CENTS))
    ship_by = _FIRST_DAY + timedelta(minutes=chance.randrange(_DAYS * 24 * 60))
    return OrderRow(
        order_id,
        str(number),
        _made_id(chance),
        seller,
        ship_by.isoformat(sep=" "),
        _decimal(price),
        _decimal(freight),
    )


def _made_id(chance: random.Random) -> str:
    return f"{chance.getrandbits(128):032x}"


def _decimal(cents: int) -> str:
    return f"{cents // 100}.{cents % 100:02d}"


def orders_of(rows: Iterable[OrderRow]) -> list[Order]:
    """
    Return the orders that the rows say, in the order of their first row. Raises InvalidInput with the order's id.
    """
    items: dict[str, list[Item]] = {}
    for row in rows:
        try:
            items.setdefault(row.order_id, []).append(
                Item(
                    int(row.order_item_id),
                    row.product_id,
                    row.seller_id,
                    datetime.fromisoformat(row.shipping_limit_date),
                    lastro.Money.parse(row.price, CURRENCY),
                    lastro.Money.parse(row.freight_value, CURRENCY),
                )
            )
        except ValueError as error:
            raise lastro.InvalidInput(f"order {row.order_id}, item {row.order_item_id}: {error}") from error
    orders = [Order(order_id, tuple(found)) for order_id, found in items.items()]
    for order in orders:
        if len({item.number for item in order.items}) < len(order.items):
            raise lastro.InvalidInput(f"order {order.id} has two items of one number")
        if any(item.price < 1 or item.freight < 0 for item in order.items):
            raise lastro.InvalidInput(f"order {order.id} has a price below one cent or a freight below zero")
    return orders
