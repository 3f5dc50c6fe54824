"""
What the database says after a rehearsal, read through the ledger's views and the marketplace's own tables.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import psycopg

from lastro.rehearsal.ledger_books import Booked, LedgerBooks, Reader, read_ledger
from lastro.rehearsal.marketplace import CURRENCY
from lastro.rehearsal.stage import Stage

_ORDERS = """
SELECT
    (SELECT count(*) FROM {marketplace}.orders) AS orders,
    (SELECT count(*) FROM {marketplace}.order_items) AS items,
    (SELECT coalesce(sum(price), 0)::bigint FROM {marketplace}.order_items) AS prices,
    (SELECT coalesce(sum(freight), 0)::bigint FROM {marketplace}.order_items) AS freight,
    (SELECT coalesce(sum(amount), 0)::bigint FROM {marketplace}.payments) AS payments
"""

_PAYOUTS = "SELECT payout_id, account, amount FROM {marketplace}.payouts"


class Books(NamedTuple):
    """
    Everything the proofs judge, in cents and counts.
    """

    ledger: LedgerBooks
    orders: int
    items: int
    prices: int
    freight: int
    payments: int
    payouts: dict[str, Booked]


def read_books(connection: psycopg.Connection[Any], stage: Stage) -> Books:
    """
    Read both schemas; in one snapshot where the caller's transaction is one.
    """
    reader = Reader(connection, stage, CURRENCY)
    orders, items, prices, freight, payments = reader.row(_ORDERS)
    return Books(
        ledger=read_ledger(reader),
        orders=orders,
        items=items,
        prices=prices,
        freight=freight,
        payments=payments,
        payouts={
            f"payout:{payout_id}": Booked("payout", account, "world", amount)
            for payout_id, account, amount in reader.rows(_PAYOUTS)
        },
    )
