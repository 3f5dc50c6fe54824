"""
One process of checkouts: `python -m bench.shopper`, its order as JSON on standard input, what it did as JSON out.
"""

from __future__ import annotations

import json
import random
import sys
import threading
import time
from datetime import UTC, datetime
from typing import Any

import psycopg

import lastro
from lastro.rehearsal.marketplace import Item, Order, Shop, Tables, check_out

ID_BITS = 128
PRICE_MAX = 50_000
FREIGHT_MAX = 5_000
SHIP_BY = datetime(2026, 1, 1, tzinfo=UTC).replace(tzinfo=None)
# What the real orders have: nine in ten have one item, hardly any has several sellers.
ITEMS = (1, 1, 1, 1, 1, 1, 1, 1, 1, 2)


def shop_until(order: dict[str, Any], number: int, begin: threading.Barrier, times: list[float]) -> None:
    """Check out order after order on one connection."""
    drawn = random.Random(f"{order['seed']}:{number}")
    ledger = lastro.connect(order["url"], ledger=order["ledger"], pool_max=1) if order["with_ledger"] else None
    shop = Shop(ledger, Tables(order["tables"]))
    with psycopg.connect(order["url"], autocommit=True) as connection:
        check_out(connection, shop, _drawn_order(drawn, order["sellers"]))
        begin.wait()
        until = time.perf_counter() + order["seconds"]
        while (began := time.perf_counter()) < until:
            receipt = check_out(connection, shop, _drawn_order(drawn, order["sellers"]))
            assert receipt.new
            times.append(time.perf_counter() - began)
    if ledger is not None:
        ledger.close()


def _drawn_order(drawn: random.Random, sellers: int) -> Order:
    seller = str(drawn.randint(1, sellers))
    items = tuple(
        Item(
            number=number + 1,
            product=f"product:{drawn.randint(1, PRICE_MAX)}",
            seller=seller,
            ship_by=SHIP_BY,
            price=drawn.randint(100, PRICE_MAX),
            freight=drawn.randint(0, FREIGHT_MAX),
        )
        for number in range(drawn.choice(ITEMS))
    )
    return Order(f"{drawn.getrandbits(ID_BITS):032x}", items)


def main() -> None:
    """Do what standard input orders."""
    order = json.load(sys.stdin)
    times: list[float] = []
    begin = threading.Barrier(order["threads"])
    threads = [
        threading.Thread(target=shop_until, args=(order, number, begin, times)) for number in range(order["threads"])
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    json.dump({"times": times}, sys.stdout)


if __name__ == "__main__":
    main()
