"""The schema is what the snapshot says; who changes it by a migration changes the snapshot in the same commit."""

from __future__ import annotations

import difflib
import os
from pathlib import Path
from typing import Any

import psycopg
import pytest

import lastro
from lastro import Ledger
from tests.schema.catalogue import described
from tests.support.migrations import MIGRATIONS

SNAPSHOT = Path(__file__).with_name("postgres.txt")
WRITE = "LASTRO_WRITE_SNAPSHOT"

Connection = psycopg.Connection[Any]


@pytest.mark.req("0.7")
@pytest.mark.req("1.1")
def test_the_schema_is_the_snapshot(ledger: Ledger, connection: Connection, ledger_name: str) -> None:
    """
    All migrations applied one after the other make exactly the committed schema.

    `LASTRO_WRITE_SNAPSHOT=1` writes it anew, to be read in the diff before it is committed.
    """
    assert ledger.migrate() == []
    found = described(connection, ledger_name)
    if os.environ.get(WRITE):
        SNAPSHOT.write_text(found, encoding="utf-8")
    expected = SNAPSHOT.read_text(encoding="utf-8")
    changes = "\n".join(difflib.unified_diff(expected.splitlines(), found.splitlines(), "snapshot", "database", n=1))
    assert not changes, f"the schema isn't the snapshot's ({WRITE}=1 writes it anew):\n{changes}"


def test_the_snapshot_notices_a_change(connection: Connection, ledger_name: str) -> None:
    """Each kind of thing that a migration may change shows in the text."""
    before = described(connection, ledger_name)
    views = "DROP VIEW {s}.entry, {s}.balance, {s}.movement, {s}.hold_standing, {s}.bet_standing; "
    for change in (
        "ALTER TABLE {s}.tail ADD COLUMN extra text",
        "ALTER TABLE {s}.tail ALTER COLUMN amount SET DEFAULT 0",
        "CREATE SEQUENCE {s}.extra",
        "ALTER TABLE {s}.transfer DROP CONSTRAINT transfer_amount_positive",
        "CREATE INDEX extra ON {s}.tail (amount)",
        "DROP TRIGGER account_not_deleted ON {s}.account",
        "ALTER TABLE {s}.base SET (fillfactor = 90)",
        "CREATE VIEW {s}.extra AS SELECT 1 AS extra",
        "ALTER VIEW {s}.movement RENAME COLUMN cause TO why",
        "COMMENT ON TABLE {s}.tail IS 'x'",
        "CREATE TYPE {s}.extra AS ENUM ('x')",
        "CREATE RULE extra AS ON DELETE TO {s}.tail DO INSTEAD NOTHING",
        "CREATE FUNCTION {s}.extra() RETURNS integer LANGUAGE sql RETURN 1",
    ):
        connection.execute(change.replace("{s}", ledger_name).encode())
        assert described(connection, ledger_name) != before, change
        connection.rollback()
        assert described(connection, ledger_name) == before
    # These need the views out of the way, so it is compared with the schema without them.
    connection.execute(views.replace("{s}", ledger_name).encode())
    without_views = described(connection, ledger_name)
    connection.rollback()
    for change in (
        "ALTER TABLE {s}.transfer ALTER COLUMN cause TYPE varchar(300)",
        'ALTER TABLE {s}.account ALTER COLUMN name TYPE text COLLATE "default"',
    ):
        connection.execute((views + change).replace("{s}", ledger_name).encode())
        assert described(connection, ledger_name) != without_views, change
        connection.rollback()


def test_a_ledger_of_another_name_is_the_same(server_url: str, connection: Connection, ledger_name: str) -> None:
    """The name of the ledger changes nothing but the schema's name, at its longest and with SQL's own words too."""
    expected = described(connection, ledger_name)
    for name in ("l" * 48, "select", "_1", "lastro_lastro"):
        with lastro.connect(server_url, ledger=name) as other:
            try:
                assert other.migrate() == MIGRATIONS
                other.open_account("a", "BRL", keeping="hot")
                other.post(key="k", kind="pay", debit="world", credit="a", amount=5, currency="BRL")
                other.post(key="out", kind="pay", debit="a", credit="world", amount=3, currency="BRL")
                assert other.consolidate().rows == 2
                assert other.balance("a", "BRL").posted == 2
                quoted = described(connection, f'"{name}"' if name == "select" else name)
                assert quoted.replace('"select".', "lastro.") == expected
            finally:
                connection.rollback()
                connection.execute(f'DROP SCHEMA IF EXISTS "{name}" CASCADE'.encode())
                connection.commit()


@pytest.mark.parametrize("name", ["", "L", "a-b", "1a", "a" * 49, "pg_a", "a.b", 'a"b', "a;", "é", None, 5, "a\n"])
def test_a_ledgers_name_is_checked(server_url: str, name: Any) -> None:
    """What can't stand in a statement is no ledger's name."""
    with pytest.raises(lastro.InvalidInput, match="a ledger's name has"):
        lastro.connect(server_url, ledger=name)
