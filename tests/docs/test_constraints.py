"""Each rule of the schema refuses the row that breaks it, whoever writes that row; and history refuses to be changed."""

from __future__ import annotations

import re
from typing import Any

import psycopg
import pytest

from lastro import Ledger
from tests.house.checkout import PACKAGE

MIGRATIONS = PACKAGE / "schema" / "postgres"
TRANSFER = """
    INSERT INTO transfer (id, debit_id, credit_id, amount, {columns} occurred_at, recorded_at, key, kind)
    VALUES {rows}
"""


def _transfer(*rows: str, columns: str = "") -> str:
    return TRANSFER.format(columns=columns, rows=", ".join(f"({row}, now(), now(), 'k', 'sale')" for row in rows))


def _account(*rows: str, columns: str = "id, name, currency, opened_at") -> str:
    return f"INSERT INTO account ({columns}) VALUES {', '.join(f'({row})' for row in rows)}"


def _base(values: str, columns: str) -> str:
    return f"INSERT INTO base (account_id, changed_at, {columns}) VALUES (1, now(), {values})"


def _reversal(*rows: str) -> str:
    columns = "original_id, transfer_id, already, amount, original_amount"
    return f"INSERT INTO reversal ({columns}) VALUES {', '.join(f'(1, 2, {row})' for row in rows)}"


# constraint → statements that break it
BROKEN: dict[str, list[str]] = {
    "account_name_and_currency_once": [_account("1, 'a', 'BRL', now()", "2, 'a', 'BRL', now()")],
    "account_name_length": [_account("1, '', 'BRL', now()"), _account("1, repeat('a', 341), 'BRL', now()")],
    "account_currency_length": [_account("1, 'a', '', now()"), _account("1, 'a', repeat('a', 33), now()")],
    "account_closed_after_opened": [
        _account("1, 'a', 'BRL', now(), now() - interval '1 s'", columns="id, name, currency, opened_at, closed_at")
    ],
    "base_keeping_known": [_base("'cold'", "keeping")],
    "base_state_known": [_base("'hot', 'ajar'", "keeping, state")],
    "base_held_not_negative": [_base("'hot', -1", "keeping, held")],
    "base_payments_not_negative": [_base("'hot', -1", "keeping, payments")],
    "transfer_once": [_transfer("1, 10, 20, 5", "1, 10, 20, 5")],
    "transfer_amount_positive": [_transfer("1, 10, 20, 0"), _transfer("1, 10, 20, -5")],
    "transfer_between_two_accounts": [_transfer("1, 10, 10, 5")],
    "transfer_adds_up": [
        _transfer("1, 10, 20, 5, 100, 96", columns="debit_before, debit_after,"),
        _transfer("1, 10, 20, 5, 100, 95, 0, 4", columns="debit_before, debit_after, credit_before, credit_after,"),
        # One of the two alone says nothing, and isn't taken for something that adds up.
        _transfer("1, 10, 20, 5, 100, NULL", columns="debit_before, debit_after,"),
        _transfer("1, 10, 20, 5, 100", columns="credit_after,"),
    ],
    "transfer_key_once": ["INSERT INTO transfer_key (key, transfer_id, debit_id) VALUES ('k', 1, 1), ('k', 2, 1)"],
    "tail_once": ["INSERT INTO tail (account_id, transfer_id, amount) VALUES (1, 1, 5), (1, 1, 5)"],
    "reversal_part_once": [_reversal("0, 3, 10", "0, 4, 10")],
    "reversal_amount_positive": [_reversal("0, 0, 10"), _reversal("0, -3, 10")],
    "reversal_already_not_negative": [_reversal("-1, 1, 10")],
    "reversal_within_original": [_reversal("8, 3, 10")],
    "counter_slice_once": ["INSERT INTO counter (name, slice, value) VALUES ('a', 1, 1), ('a', 1, 1)"],
    "counter_name_length": ["INSERT INTO counter (name, slice, value) VALUES ('', 1, 1)"],
}

APPEND_ONLY = ("transfer", "transfer_key", "reversal")
NEVER_DELETED = ("account", "base")


def named_constraints() -> set[str]:
    """Every constraint that a migration names."""
    texts = [path.read_text("utf-8") for path in sorted(MIGRATIONS.glob("[0-9]*.sql"))]
    return {name for text in texts for name in re.findall(r"CONSTRAINT (\w+)", text)}


def test_every_named_constraint_is_broken_here() -> None:
    """No constraint is added without a row that breaks it."""
    assert set(BROKEN) == named_constraints()


@pytest.mark.req("2.3")
@pytest.mark.parametrize("constraint", sorted(BROKEN))
def test_every_named_constraint_refuses(constraint: str, connection: psycopg.Connection[Any]) -> None:
    """A row that breaks the rule is refused in the name of that rule, with none of the library's code between."""
    for statement in BROKEN[constraint]:
        with pytest.raises(psycopg.errors.IntegrityError) as refused, connection.transaction():
            connection.execute(statement.encode())
        assert constraint in _family(connection, refused.value.diag.constraint_name), statement


def _family(connection: psycopg.Connection[Any], name: str | None) -> set[str | None]:
    """The constraint's name, and that of the history's where it was a partition's that refused."""
    parents = connection.execute(
        "SELECT parent.relname FROM pg_class AS index "
        "JOIN pg_inherits AS link ON link.inhrelid = index.oid JOIN pg_class AS parent ON link.inhparent = parent.oid "
        "WHERE index.relname = %s AND index.relnamespace = current_schema()::regnamespace",
        (name,),
    )
    return {name, *(parent for (parent,) in parents)}


@pytest.mark.req("0.6")
@pytest.mark.req("2.1")
def test_history_refuses_whoever_tries(ledger: Ledger, connection: psycopg.Connection[Any]) -> None:
    """UPDATE, DELETE and TRUNCATE of what was posted are refused, even to the owner of the tables, partition by partition."""
    ledger.open_account("seller:42", "BRL")
    ledger.post(key="k", kind="sale", debit="world", credit="seller:42", amount=5, currency="BRL")
    ledger.reverse("k", "undone", amount=2)
    partitions = tuple(partition.name for partition in ledger.partitions())
    changes = [f"UPDATE {table} SET {column} = 7" for table, column in (
        ("transfer", "amount"), ("transfer_key", "transfer_id"), ("reversal", "amount"), (partitions[0], "amount"),
    )]  # fmt: skip
    changes += [f"DELETE FROM {table}" for table in (*APPEND_ONLY, *NEVER_DELETED, partitions[0])]
    changes += [f"TRUNCATE {table}" for table in (*APPEND_ONLY, "transfer_default", *partitions)]
    for change in changes:
        with pytest.raises(psycopg.errors.RestrictViolation, match="append-only"), connection.transaction():
            connection.execute(change.encode())
    assert ledger.balance("seller:42", "BRL").posted == 3
