"""A hot account with a tail as checkouts leave it: many single rows, quickly made."""

from __future__ import annotations

from typing import Any

import psycopg

from lastro import Ledger

CALL = 5_000


def fill_tail(ledger: Ledger, connection: psycopg.Connection[Any], account: str, rows: int) -> None:
    """Post so that the hot *account* has *rows* more in its tail, each of 1; *connection* sees the ledger's tables."""
    ledger.open_account(account, "BRL", keeping="hot")
    for start in range(0, rows, CALL):
        ledger.post_many(
            [
                {
                    "key": f"{account}:{number}",
                    "kind": "commission",
                    "debit": "world",
                    "credit": account,
                    "amount": 1,
                    "currency": "BRL",
                }
                for number in range(start, min(start + CALL, rows))
            ]
        )
    # A batch leaves one row an account; the single postings it stands for would have left one each.
    with connection.transaction():
        connection.execute("DELETE FROM tail WHERE account_id = (SELECT id FROM account WHERE name = %s)", [account])
        connection.execute(
            "INSERT INTO tail (account_id, transfer_id, amount)"
            " SELECT account.id, transfer.id, transfer.amount FROM transfer"
            " JOIN account ON account.id = transfer.credit_id WHERE account.name = %s",
            [account],
        )


def rows_in_tail(connection: psycopg.Connection[Any], account: str) -> int:
    """Count what is not yet folded in of an account."""
    row = connection.execute(
        "SELECT count(*) FROM tail JOIN account ON account.id = tail.account_id WHERE account.name = %s", [account]
    ).fetchone()
    connection.rollback()
    assert row is not None
    return int(row[0])
