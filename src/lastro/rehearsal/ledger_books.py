"""
What a ledger says after a rehearsal, read through its views by plain SQL: balances, transfers, and what is left to do.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import psycopg
from psycopg import sql

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


class Booked(NamedTuple):
    """
    One transfer as it stands in the history; `amount` in cents.
    """

    kind: str
    debit: str
    credit: str
    amount: int


class LedgerBooks(NamedTuple):
    """
    What stands in a ledger, in cents and counts. `drifting`: accounts whose balance isn't the sum of their history.
    """

    balances: dict[str, int]
    transfers: dict[str, Booked]
    transfer_count: int
    key_count: int
    entries_sum: int
    drifting: int
    tail_rows: int


class Reader:
    """
    Runs statements that name a stage's schemas as `{ledger}` and `{marketplace}`, and its currency as a parameter.
    """

    def __init__(self, connection: psycopg.Connection[Any], stage: Stage, currency: str) -> None:
        self._connection, self._names, self._currency = connection, stage.names(), currency

    def rows(self, statement: str) -> list[tuple[Any, ...]]:
        """Return all rows of a statement."""
        named = sql.SQL(statement).format(**self._names)
        return self._connection.execute(named, {"currency": self._currency}).fetchall()

    def row(self, statement: str) -> tuple[Any, ...]:
        """Return the one row of a statement that has one."""
        (found,) = self.rows(statement)
        return found


def read_ledger(reader: Reader) -> LedgerBooks:
    """
    Read a ledger; in one snapshot where the caller's transaction is one.
    """
    transfer_count, key_count = reader.row(_KEYS)
    return LedgerBooks(
        balances=dict(reader.rows(_BALANCES)),
        transfers={key: Booked(*booked) for key, *booked in reader.rows(_TRANSFERS)},
        transfer_count=transfer_count,
        key_count=key_count,
        entries_sum=reader.row(_ENTRIES)[0],
        drifting=reader.row(_DRIFT)[0],
        tail_rows=reader.row(_TAIL)[0],
    )
