"""What the audit finds of holds: drift of each kind, planted past the library, on every store."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from lastro import Ledger
from lastro.testing import assert_balanced, temporary_ledger
from tests.conformance.eyes import MariadbRaw, PostgresRaw, Raw, SqliteRaw

STORES = ("postgres", "mariadb", "sqlite")
DEADLINE = datetime(2100, 1, 1, tzinfo=UTC)
EVENT = (
    "INSERT INTO {s}.hold_event (hold_id, number, kind, amount, taken, left_before, left_after, recorded_at) "
    "SELECT hold_id, 2, 'released', 10, 10, %s, %s, recorded_at FROM {s}.hold_event WHERE number = 1"
)
# What is planted -> the rule that finds it, and words of what it says.
PLANTED: dict[str, tuple[str, str]] = {
    "UPDATE {s}.base SET held = held + 1 WHERE held > 0": ("held", "held on a BRL: expected 40, found 41"),
    "UPDATE {s}.open_hold SET left_over = left_over - 1": ("holds", "hold h"),
    "DELETE FROM {s}.open_hold": ("holds", "hold h"),
    "UPDATE {s}.open_hold SET events = 0": ("holds", "hold h"),
    "UPDATE {s}.open_hold SET captured = 0": ("holds", "hold h"),
    "UPDATE {s}.open_hold SET account_id = account_id + 1": ("held", "held on a BRL: expected 0, found 40"),
    EVENT.replace("%s, %s", "30, 20"): ("hold_events", "event 2 of hold h"),
    EVENT.replace("hold_id, 2, ", "hold_id, 3, ").replace("%s, %s", "40, 30"): ("hold_events", "event 3 of hold h"),
}


@pytest.fixture(params=STORES)
def books(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[Ledger, Raw]]:
    """A ledger on each store with one hold of 100, of which 60 were captured, and its tables."""
    path = f"{tmp_path}/ledger.db"
    match request.param:
        case "sqlite":
            url = f"sqlite:///{path}"
        case store:
            url = request.getfixturevalue("server_url" if store == "postgres" else "mariadb_url")
    with temporary_ledger(url) as ledger:
        name = ledger._operations.ledger
        raw: Raw = {"postgres": PostgresRaw, "mariadb": MariadbRaw, "sqlite": SqliteRaw}[request.param](
            path if request.param == "sqlite" else url, name
        )
        ledger.open_account("a", "BRL")
        ledger.post(key="f", kind="fund", debit="world", credit="a", amount=1_000, currency="BRL")
        ledger.place_hold(key="h", account="a", currency="BRL", amount=100, owner="o", expires_at=DEADLINE)
        ledger.capture(key="c", hold="h", credit="world", kind="sale", amount=60, final=False)
        assert_balanced(ledger)
        yield ledger, raw
        raw.close()


@pytest.mark.case("C041")
@pytest.mark.parametrize("planted", PLANTED)
def test_the_audit_finds(books: tuple[Ledger, Raw], planted: str) -> None:
    """Per account what is held is what is left of its holds; per hold all parts add up, in an unbroken chain."""
    ledger, raw = books
    rule, words = PLANTED[planted]
    raw(planted)
    with pytest.raises(AssertionError) as caught:
        assert_balanced(ledger)
    assert f"{rule}: " in str(caught.value)
    assert words in str(caught.value)


def test_the_audit_finds_a_capture_without_its_transfer(books: tuple[Ledger, Raw]) -> None:
    """A capture that names a transfer of another amount, or none, is found."""
    ledger, raw = books
    raw(
        "INSERT INTO {s}.hold_event (hold_id, number, kind, amount, taken, left_before, left_after, transfer_id, "
        "recorded_at) SELECT hold_id, 2, 'captured', 10, 10, 40, 30, transfer_id, recorded_at FROM {s}.hold_event "
        "WHERE number = 1"
    )
    with pytest.raises(AssertionError, match="hold_events: event 2 of hold h"):
        assert_balanced(ledger)


def test_history_on_sqlite_refuses_what_replaces_it(tmp_path: Path) -> None:
    """UPDATE, DELETE and REPLACE of holds and their events are refused by the database itself."""
    path = f"{tmp_path}/ledger.db"
    with temporary_ledger(f"sqlite:///{path}") as ledger:
        name = ledger._operations.ledger
        ledger.open_account("a", "BRL", floor=None)
        ledger.place_hold(key="h", account="a", currency="BRL", amount=100, owner="o", expires_at=DEADLINE)
        ledger.release(key="r", hold="h", amount=1)
        raw = sqlite3.connect(path, isolation_level=None)
        for table in ("hold", "hold_event"):
            for statement in (
                f"UPDATE {name}_{table} SET amount = 5",
                f"DELETE FROM {name}_{table}",
                f"REPLACE INTO {name}_{table} SELECT * FROM {name}_{table}",
            ):
                with pytest.raises(sqlite3.IntegrityError, match="is append-only"):
                    raw.execute(statement)
        raw.close()
        assert_balanced(ledger)
