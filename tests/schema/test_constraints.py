"""Each constraint and trigger of the schema refuses what it is named after, whoever writes it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import psycopg
import pytest
from psycopg import errors

from lastro import Ledger

# Rows that are right; each test changes what its constraint is about.
ROWS: dict[str, dict[str, Any]] = {
    "account": {"id": 1, "name": "n", "currency": "BRL", "opened_at": "2026-01-01Z"},
    "base": {"account_id": 1, "keeping": "hot", "changed_at": "2026-01-01Z"},
    "transfer": {
        "id": 900, "debit_id": 1, "credit_id": 2, "amount": 5, "occurred_at": "2026-01-01Z",
        "recorded_at": "2026-01-01Z", "key": "raw", "kind": "pay",
    },
    "transfer_key": {"key": "raw", "transfer_id": 900, "debit_id": 1},
    "tail": {"account_id": 1, "transfer_id": 900, "amount": 5},
    "reversal": {"original_id": 1, "already": 0, "amount": 5, "original_amount": 5, "transfer_id": 900},
    "counter": {"name": "c", "slice": 0, "value": 1},
    "period_closing": {"closed_until": "2026-01-01Z", "reopens": False, "recorded_at": "2026-01-02Z"},
    "closed_period": {"only_row": True, "closing_id": 0},
    "kind": {"name": "k", "debit": "*", "credit": "world", "either_way": False, "registered_at": "2026-01-01Z"},
    "migration": {"number": 99, "name": "n", "serves_from": 1, "checksum": "c", "applied_at": "2026-01-01Z"},
}  # fmt: skip

# table, constraint -> the changes that it must refuse. "twice" says: the same row again.
TWICE: dict[str, Any] = {}
CONSTRAINTS: dict[tuple[str, str], list[dict[str, Any]]] = {
    ("account", "account_pkey"): [{"name": "other"}],
    ("account", "account_name_and_currency_once"): [{"id": 2}],
    ("account", "account_name_length"): [{"name": ""}, {"name": "n" * 341}],
    ("account", "account_currency_length"): [{"currency": ""}, {"currency": "C" * 33}],
    ("account", "account_closed_after_opened"): [{"closed_at": "2025-12-31Z"}],
    ("base", "base_pkey"): [TWICE],
    ("base", "base_keeping_known"): [{"keeping": "warm"}, {"keeping": ""}],
    ("base", "base_state_known"): [{"state": "shut"}],
    ("base", "base_held_not_negative"): [{"held": -1}],
    ("base", "base_payments_not_negative"): [{"payments": -1}],
    ("transfer", "transfer_once"): [{"key": "other"}],
    ("transfer", "transfer_amount_positive"): [{"amount": 0}, {"amount": -5}],
    ("transfer", "transfer_between_two_accounts"): [{"credit_id": 1}],
    ("transfer", "transfer_adds_up"): [
        {"debit_before": 10, "debit_after": 6},
        {"debit_before": 10, "debit_after": 15},
        {"debit_before": 10},
        {"debit_after": 5},
        {"credit_before": 10, "credit_after": 14},
        {"credit_before": 10, "credit_after": 5},
        {"credit_before": 10},
        {"credit_after": 5},
        {"debit_before": 10, "debit_after": 5, "credit_before": 0, "credit_after": 4},
        {"debit_before": 10, "debit_after": 4, "credit_before": 0, "credit_after": 5},
    ],
    ("transfer_key", "transfer_key_once"): [{"transfer_id": 901}],
    ("tail", "tail_once"): [{"amount": 7}],
    ("reversal", "reversal_part_once"): [{"transfer_id": 901}],
    ("reversal", "reversal_amount_positive"): [{"amount": 0}, {"amount": -1}],
    ("reversal", "reversal_already_not_negative"): [{"already": -1}],
    ("reversal", "reversal_within_original"): [{"amount": 6}, {"already": 1}],
    ("counter", "counter_slice_once"): [{"value": 2}],
    ("counter", "counter_name_length"): [{"name": ""}, {"name": "n" * 256}],
    ("period_closing", "period_closing_once"): [{"id": 1}],
    ("period_closing", "period_closing_key_once"): [{"key": "k"}],
    ("period_closing", "period_reopened_by_name"): [
        {"reopens": True, "key": "k", "reason": "r"},
        {"reopens": True, "key": "k", "actor": "a"},
        {"reopens": True, "reason": "r", "actor": "a"},
        {"reopens": True, "key": "", "reason": "r", "actor": "a"},
    ],
    ("closed_period", "closed_period_once"): [TWICE],
    ("closed_period", "closed_period_is_one"): [{"only_row": False}],
    ("kind", "kind_once"): [{"debit": "other"}],
    ("kind", "kind_names_something"): [{"name": ""}, {"debit": ""}, {"credit": ""}, {"undone_by": ""}],
    ("migration", "migration_pkey"): [{"name": "other"}],
}  # fmt: skip

# The lengths of history's texts are their types': a CHECK each would cost every posting.
LENGTHS = {
    "transfer": {"key": 400, "kind": 16, "cause": 255, "reverses": 400, "source": 255, "actor": 255},
    "transfer_key": {"key": 400},
    "kind": {"name": 16, "debit": 340, "credit": 340, "undone_by": 16},
}

# What the row that is there already says of a column that may be left out.
TAKEN = {"period_closing_key_once": {"key": "k"}}

APPEND_ONLY = ("transfer", "transfer_key", "reversal", "period_closing")
NEVER_DELETED = ("account", "base", "closed_period")
TRIGGERS = {
    *((table, f"{table}_append_only") for table in APPEND_ONLY),
    *((table, f"{table}_not_truncated") for table in (*APPEND_ONLY, "transfer_default")),
    *((table, f"{table}_not_deleted") for table in NEVER_DELETED),
    ("closed_period", "closed_period_not_truncated"),
    ("closed_period", "closed_period_explained"),
}

Connection = psycopg.Connection[Any]


def insert(connection: Connection, table: str, row: dict[str, Any]) -> None:
    """Write a row by raw SQL."""
    columns, places = ", ".join(row), ", ".join(["%s"] * len(row))
    connection.execute(f"INSERT INTO {table} ({columns}) VALUES ({places})".encode(), list(row.values()))


def without_its_row(connection: Connection) -> None:
    """Take away the row that `closed_period` always has, so that one can be written."""
    connection.execute("SET LOCAL session_replication_role = replica")
    connection.execute("DELETE FROM closed_period")
    connection.execute("SET LOCAL session_replication_role = origin")


@pytest.mark.req("2.3")
@pytest.mark.case("S05")
@pytest.mark.parametrize(("table", "constraint"), CONSTRAINTS, ids=str)
def test_the_constraint_refuses(connection: Connection, table: str, constraint: str) -> None:
    """A row that breaks the rule is refused by the constraint of that name, by INSERT and, of CHECKs, by UPDATE."""
    connection.execute("TRUNCATE counter")
    for changed in CONSTRAINTS[table, constraint]:
        without_its_row(connection)
        unique = constraint.endswith(("_once", "_pkey"))
        if unique:
            insert(connection, table, ROWS[table] | TAKEN.get(constraint, {}))
        with pytest.raises(errors.IntegrityError) as caught, connection.transaction():
            insert(connection, table, ROWS[table] | changed)
        named = caught.value.diag.constraint_name
        # A unique constraint of a partitioned table is enforced by the partition's index, which has a name of its own.
        assert named == constraint or (unique and str(named).startswith("transfer_p"))
        assert isinstance(caught.value, errors.UniqueViolation if unique else errors.CheckViolation)
        if not unique and table not in (*APPEND_ONLY, "closed_period"):
            insert(connection, table, ROWS[table])
            changes = ", ".join(f"{column} = %s" for column in changed)
            with pytest.raises(errors.CheckViolation, match=constraint), connection.transaction():
                connection.execute(f"UPDATE {table} SET {changes}".encode(), list(changed.values()))
        connection.rollback()


@pytest.mark.req("1.1")
@pytest.mark.parametrize("table", LENGTHS)
def test_a_text_that_is_too_long_is_refused(connection: Connection, table: str) -> None:
    """The longest text goes in whole; one character more is refused, not cut."""
    for column, characters in LENGTHS[table].items():
        insert(connection, table, ROWS[table] | {column: "é" * characters})
        stored = connection.execute(f"SELECT {column} FROM {table}".encode()).fetchone()
        assert stored == ("é" * characters,)
        connection.rollback()
        with pytest.raises(errors.StringDataRightTruncation):
            insert(connection, table, ROWS[table] | {column: "é" * (characters + 1)})
        connection.rollback()


@pytest.mark.parametrize("table", ROWS)
def test_the_rows_are_right_otherwise(connection: Connection, table: str) -> None:
    """The rows that the tests change are accepted as they are: what is refused above is refused for the change."""
    without_its_row(connection)
    insert(connection, table, ROWS[table])
    connection.rollback()


def test_what_must_be_there_is_there(connection: Connection) -> None:
    """No column that a balance or a transfer needs takes NULL."""
    without_its_row(connection)
    for table, row in ROWS.items():
        for column in row:
            with pytest.raises(errors.NotNullViolation) as caught, connection.transaction():
                insert(connection, table, row | {column: None})
            assert caught.value.diag.column_name == column
    nullable = connection.execute(
        "SELECT table_name || '.' || column_name FROM information_schema.columns "
        "WHERE table_schema = current_schema() AND is_nullable = 'YES' AND table_name = ANY(%s) ORDER BY 1",
        [list(ROWS)],
    ).fetchall()
    assert [name for (name,) in nullable] == [
        "account.closed_at", "account.metadata", "base.floor", "closed_period.closed_until",
        "kind.undone_by", "period_closing.actor", "period_closing.key", "period_closing.reason", "transfer.actor", "transfer.cause",
        "transfer.credit_after", "transfer.credit_before", "transfer.debit_after", "transfer.debit_before",
        "transfer.metadata", "transfer.reverses", "transfer.source",
    ]  # fmt: skip


def test_every_constraint_is_broken_by_a_test(connection: Connection) -> None:
    """The tests above break exactly the constraints that the schema has: a new one without a test fails here."""
    rows = connection.execute(
        "SELECT conrelid::regclass::text, conname FROM pg_constraint JOIN pg_class ON pg_class.oid = conrelid "
        "WHERE connamespace = current_schema()::regnamespace AND contype <> 'n' AND NOT relispartition"
    ).fetchall()
    assert {(table, name) for table, name in rows} == set(CONSTRAINTS)


def test_every_trigger_is_pulled_by_a_test(connection: Connection) -> None:
    """The same for triggers; partitions inherit the row triggers and have a truncate trigger each."""
    rows = connection.execute(
        "SELECT tgrelid::regclass::text, tgname FROM pg_trigger JOIN pg_class ON pg_class.oid = tgrelid "
        "WHERE relnamespace = current_schema()::regnamespace AND NOT tgisinternal"
    ).fetchall()
    partitions = {name for (name,) in connection.execute("SELECT relid::text FROM pg_partition_tree('transfer')")}
    triggers = {(table, name) for table, name in rows}
    assert {pair for pair in triggers if pair[0] not in partitions - {"transfer"}} | {
        ("transfer_default", "transfer_default_not_truncated")
    } == TRIGGERS
    for partition in partitions - {"transfer"}:
        assert {name for table, name in triggers if table == partition} == {
            "transfer_append_only", f"{partition}_not_truncated",
        }  # fmt: skip


@pytest.fixture
def written(ledger: Ledger, connection: Connection) -> Connection:
    """A ledger in which every table has rows."""
    ledger.open_account("a", "BRL", keeping="hot")
    ledger.post(key="k", kind="pay", debit="world", credit="a", amount=5, currency="BRL")
    ledger.reverse("k", "undo", amount=2)
    ledger.close_period(until=datetime(2025, 11, 1, tzinfo=UTC))
    return connection


@pytest.mark.req("0.6")
@pytest.mark.req("2.1")
@pytest.mark.parametrize("table", APPEND_ONLY)
def test_append_only_refuses_update_and_delete(written: Connection, table: str) -> None:
    """No UPDATE and no DELETE of history, by any way that reaches its rows, also for the owner and superuser."""
    row_before = written.execute(f"SELECT * FROM {table} ORDER BY 1".encode()).fetchall()
    column = "key" if table != "reversal" else "amount"
    for statement in (
        f"UPDATE {table} SET {column} = {column}",
        f"DELETE FROM {table}",
        f"MERGE INTO {table} AS t USING (SELECT 1) AS s ON true WHEN MATCHED THEN DELETE",
    ):
        with pytest.raises(errors.RestrictViolation, match=rf"\.{table}\w* is append-only") as caught:
            written.execute(statement.encode())
        assert caught.value.diag.message_hint is not None
        assert "Post a new transfer" in caught.value.diag.message_hint
        written.rollback()
    assert written.execute(f"SELECT * FROM {table} ORDER BY 1".encode()).fetchall() == row_before != []


@pytest.mark.req("0.6")
@pytest.mark.req("2.1")
def test_append_only_holds_on_partitions(written: Connection) -> None:
    """Partitions refuse the same when they are addressed by name, the default one and those made later alike."""
    names = [name for (name,) in written.execute("SELECT relid::text FROM pg_partition_tree('transfer') WHERE isleaf")]
    assert len(names) >= 3
    for name in names:
        with pytest.raises(errors.RestrictViolation):
            written.execute(f"TRUNCATE {name}".encode())
        written.rollback()
    filled = [name for name in names if written.execute(f"SELECT 1 FROM {name} LIMIT 1".encode()).fetchone()]
    assert filled
    for name in filled:
        for statement in (f"UPDATE {name} SET kind = 'x'", f"DELETE FROM {name}"):
            with pytest.raises(errors.RestrictViolation):
                written.execute(statement.encode())
            written.rollback()


@pytest.mark.req("2.1")
@pytest.mark.parametrize("table", APPEND_ONLY)
def test_not_truncated(written: Connection, table: str) -> None:
    """TRUNCATE is refused, with CASCADE too."""
    for statement in (f"TRUNCATE {table}", f"TRUNCATE {table} CASCADE"):
        with pytest.raises(errors.RestrictViolation, match="TRUNCATE refused"):
            written.execute(statement.encode())
        written.rollback()


@pytest.mark.parametrize("table", NEVER_DELETED)
def test_not_deleted(written: Connection, table: str) -> None:
    """Accounts and their base rows are closed, never deleted."""
    with pytest.raises(errors.RestrictViolation, match="DELETE refused"):
        written.execute(f"DELETE FROM {table}".encode())
    written.rollback()


def test_what_is_closed_is_explained(written: Connection) -> None:
    """The bound moves only to what a later row of the closings says; its one row isn't truncated."""
    for statement in (
        "UPDATE closed_period SET closed_until = NULL",
        "UPDATE closed_period SET closed_until = '2020-01-01Z'",
        "UPDATE closed_period SET closing_id = closing_id + 1",
        "UPDATE closed_period SET closing_id = closing_id",
        "TRUNCATE closed_period",
    ):
        with pytest.raises(errors.RestrictViolation):
            written.execute(statement.encode())
        written.rollback()
