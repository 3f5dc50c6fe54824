"""
What the database says after a rehearsal, read through the ledger's views and the marketplace's own tables.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import psycopg
from psycopg import sql

from lastro.rehearsal.marketplace import CURRENCY
from lastro.rehearsal.stage import Stage

_BALANCES = "SELECT account, posted FROM {ledger}.balance WHERE currency = %(currency)s"

_TRANSFERS = "SELECT movement_key, kind, debit, credit, amount FROM {ledger}.movement"

# From the table: the views show a transfer only where both of its accounts are there.
_KEYS = "SELECT count(*) AS transfers, count(DISTINCT key) AS keys FROM {ledger}.transfer"

# Each side by the currency of its own account: a side whose account is missing or of another currency leaves a rest.
_ENTRIES = """
SELECT coalesce(sum(side.amount), 0)::bigint AS entries
FROM (
    SELECT debit_id AS account_id, -amount AS amount FROM {ledger}.transfer
    UNION ALL
    SELECT credit_id AS account_id, amount FROM {ledger}.transfer
) AS side
INNER JOIN {ledger}.account AS account ON side.account_id = account.id
WHERE account.currency = %(currency)s
"""

_DRIFT = """
SELECT count(*) AS drifting
FROM {ledger}.balance AS balance
LEFT JOIN (
    SELECT account_id, sum(CASE side WHEN 'credit' THEN amount ELSE -amount END) AS posted
    FROM {ledger}.entry
    GROUP BY account_id
) AS history ON balance.account_id = history.account_id
WHERE balance.posted <> coalesce(history.posted, 0)
"""

_TAIL = "SELECT count(*) AS rows FROM {ledger}.tail"

_ORDERS = """
SELECT
    (SELECT count(*) FROM {marketplace}.orders) AS orders,
    (SELECT count(*) FROM {marketplace}.order_items) AS items,
    (SELECT coalesce(sum(price), 0)::bigint FROM {marketplace}.order_items) AS prices,
    (SELECT coalesce(sum(freight), 0)::bigint FROM {marketplace}.order_items) AS freight,
    (SELECT coalesce(sum(amount), 0)::bigint FROM {marketplace}.payments) AS payments
"""

_PAYOUTS = "SELECT payout_id, account, amount FROM {marketplace}.payouts"


class Booked(NamedTuple):
    """
    One transfer as it stands in the history; `amount` in cents.
    """

    kind: str
    debit: str
    credit: str
    amount: int


class Books(NamedTuple):
    """
    Everything the proofs judge, in cents and counts. `drifting`: accounts whose balance isn't the sum of their history.
    """

    balances: dict[str, int]
    transfers: dict[str, Booked]
    transfer_count: int
    key_count: int
    entries_sum: int
    drifting: int
    tail_rows: int
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
    names = stage.names()

    def read(statement: str) -> list[tuple[Any, ...]]:
        return connection.execute(sql.SQL(statement).format(**names), {"currency": CURRENCY}).fetchall()

    transfer_count, key_count = read(_KEYS)[0]
    orders, items, prices, freight, payments = read(_ORDERS)[0]
    return Books(
        balances=dict(read(_BALANCES)),
        transfers={key: Booked(*booked) for key, *booked in read(_TRANSFERS)},
        transfer_count=transfer_count,
        key_count=key_count,
        entries_sum=read(_ENTRIES)[0][0],
        drifting=read(_DRIFT)[0][0],
        tail_rows=read(_TAIL)[0][0],
        orders=orders,
        items=items,
        prices=prices,
        freight=freight,
        payments=payments,
        payouts={
            f"payout:{payout_id}": Booked("payout", account, "world", amount)
            for payout_id, account, amount in read(_PAYOUTS)
        },
    )
