"""SQLite as a store: which files it takes, what it refuses, and what keeps its history as it was written."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

import lastro
from lastro import Ledger
from lastro.testing import assert_balanced, temporary_ledger
from lastro.workers.roster import workers_for

LOWEST = -(2**63)
REPLACE_BY_KEY = """
    INSERT OR REPLACE INTO lastro_transfer (id, debit_id, credit_id, amount, occurred_at, recorded_at, key, kind)
    SELECT 99, debit_id, credit_id, 900, occurred_at, recorded_at, key, kind FROM lastro_transfer WHERE key = 'k'
"""


def wanted(**changed: Any) -> dict[str, Any]:
    """A transfer of 5 BRL from the world to `a`, changed."""
    return {"key": "k", "kind": "pay", "debit": "world", "credit": "a", "amount": 5, "currency": "BRL"} | changed


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A database file."""
    return tmp_path / "ledger.db"


@pytest.fixture
def ledger(path: Path) -> Iterator[Ledger]:
    """A ledger on it with an account `a`."""
    with lastro.connect(f"sqlite:///{path}") as ledger:
        ledger.migrate()
        ledger.open_account("a", "BRL")
        yield ledger


@pytest.fixture
def raw(path: Path, ledger: Ledger) -> Iterator[sqlite3.Connection]:
    """The tables themselves."""
    del ledger  # asked for so that the tables are there
    connection = sqlite3.connect(path, isolation_level=None)
    yield connection
    connection.close()


@pytest.mark.parametrize(
    "url", ["sqlite://", "sqlite:///", "sqlite:///:memory:", "sqlite://host/a.db", "sqlite:///a.db?cache=shared",
            "sqlite:///a.db?mode=memory"]
)  # fmt: skip
def test_what_is_no_file_is_refused(url: str) -> None:
    """A database in memory, on a host, or with options that would change what is promised is refused when connecting."""
    with pytest.raises(lastro.InvalidInput, match=r"sqlite:///relative\.db|mode=rwc") as caught:
        lastro.connect(url)
    assert caught.value.argument == "url"


def test_a_relative_path_stays_where_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """sqlite:///name.db is below the working directory at the time of connecting; SQLAlchemy's spelling is taken too."""
    monkeypatch.chdir(tmp_path)
    with lastro.connect("sqlite+pysqlite:///some name?mode=rwc") as ledger:
        monkeypatch.chdir("/")
        ledger.migrate()
    assert (tmp_path / "some name").exists()


def test_two_ledgers_live_in_one_file(ledger: Ledger, path: Path) -> None:
    """A ledger is a prefix of its tables' names: another one in the same file has keys and accounts of its own."""
    ledger.post(**wanted())
    with temporary_ledger(f"sqlite:///{path}") as other:
        with pytest.raises(lastro.UnknownAccount):
            other.post(**wanted())
        other.open_account("a", "BRL")
        assert not other.post(**wanted(amount=900)).replayed
    assert ledger.balance("a", "BRL").posted == 5
    with sqlite3.connect(path) as raw:
        left = raw.execute("SELECT name FROM sqlite_schema WHERE name GLOB 'temporary_*'").fetchall()
    raw.close()
    assert left == []


def test_what_is_acknowledged_is_on_the_disk(ledger: Ledger, raw: sqlite3.Connection) -> None:
    """Our own connections flush the WAL with each commit, whatever the application's connections do."""
    assert raw.execute("PRAGMA journal_mode").fetchall() == [("wal",)]
    with ledger._engine._opened_pool().connection() as connection:  # type: ignore[attr-defined]
        assert connection.execute("PRAGMA synchronous").fetchall() == [(2,)]


def test_a_file_that_takes_no_writes(ledger: Ledger, path: Path) -> None:
    """On a read-only connection reads work; each write is a fault with nothing stored."""
    ledger.post(**wanted())
    with lastro.connect(f"sqlite:///{path}?mode=ro") as reader:
        assert reader.balance("a", "BRL").posted == 5
        for call in (
            lambda: reader.post(**wanted(key="2")),
            lambda: reader.post_many([wanted(key="2")]),
            lambda: reader.open_account("b", "BRL"),
        ):
            with pytest.raises(lastro.ServerUnavailable, match="takes no writes") as caught:
                call()
            assert caught.value.committed == "no"


def test_files_that_are_no_ledger(tmp_path: Path) -> None:
    """A folder that isn't there, a missing file that may not be made, and something else than a database are told apart."""
    for url in (f"sqlite:///{tmp_path}/nowhere/a.db", f"sqlite:///{tmp_path}/missing.db?mode=rw"):
        with lastro.connect(url) as ledger, pytest.raises(lastro.ConnectionLost, match="can't be reached"):
            ledger.migrate()
    (tmp_path / "text.db").write_text("This is prose, and long enough to be taken for a header. " * 30)
    with (
        lastro.connect(f"sqlite:///{tmp_path}/text.db") as ledger,
        pytest.raises(lastro.Refusal, match="not a SQLite database"),
    ):
        ledger.migrate()


def test_partitions_are_refused(ledger: Ledger) -> None:
    """SQLite has no partitions: each call that needs them says so and what to do, and migrating goes without."""
    for call in (ledger.partitions, ledger.keep_partitions, lambda: ledger.retire_partition("transfer_p1")):
        with pytest.raises(lastro.InvalidInput, match=r"one table.*takes PostgreSQL"):
            call()
    assert ledger.migrate() == []


def test_nobody_works_at_what_the_store_lacks(ledger: Ledger, path: Path) -> None:
    """Without being named the partition keeper isn't among the workers; who names it is told why before any starts."""
    ledger.post(**wanted())

    def open_ledger() -> Ledger:
        return lastro.connect(f"sqlite:///{path}")

    workers = workers_for([], open_ledger=open_ledger, stopping=lambda: False)
    assert [worker.name for worker in workers] == [
        "consolidator", "hold_expirer", "points_expirer", "day_closer", "reconciler", "adopter",
    ]  # fmt: skip
    for worker in workers:
        worker.run_once()
        worker.close()
    with pytest.raises(lastro.InvalidInput, match=r"no use for 'partitions'.*takes PostgreSQL"):
        workers_for(["consolidate", "partitions"], open_ledger=open_ledger, stopping=lambda: False)


@pytest.mark.req("0.6")
@pytest.mark.parametrize(
    ("statement", "words"),
    [
        ("UPDATE lastro_transfer SET amount = 6", "UPDATE refused"),
        ("DELETE FROM lastro_transfer", "DELETE refused"),
        ("REPLACE INTO lastro_transfer SELECT * FROM lastro_transfer", "REPLACE refused"),
        (REPLACE_BY_KEY, "REPLACE refused"),
        ("UPDATE lastro_reversal SET amount = 1", "UPDATE refused"),
        ("DELETE FROM lastro_reversal", "DELETE refused"),
        ("DELETE FROM lastro_account", "DELETE refused"),
        ("DELETE FROM lastro_base", "DELETE refused"),
    ],
)  # fmt: skip
def test_history_is_append_only(ledger: Ledger, raw: sqlite3.Connection, statement: str, words: str) -> None:
    """Raw SQL can't change, delete or replace what was posted."""
    ledger.post(**wanted())
    ledger.reverse("k", "u", amount=2)
    with pytest.raises(sqlite3.IntegrityError, match=words):
        raw.execute(statement)
    assert_balanced(ledger)


def test_a_trigger_says_no_by_an_error_of_ours(ledger: Ledger, raw: sqlite3.Connection) -> None:
    """A refusal of a trigger comes through the library as a Refusal."""
    raw.execute("CREATE TRIGGER mine BEFORE INSERT ON lastro_counter BEGIN SELECT raise(ABORT, 'not today'); END")
    with pytest.raises(lastro.Refusal, match="not today"):
        ledger.bump("c")


@pytest.mark.parametrize(
    ("column", "value"),
    [("amount", "1.5"), ("amount", "'12abc'"), ("amount", "9223372036854775808"), ("debit_id", "NULL"),
     ("amount", "0"), ("amount", "-1"), ("key", "''"), ("metadata", "'{'"), ("credit_id", "debit_id"),
     ("kind", "'seventeen letters'"), ("recorded_at", "'2026-01-01'")]
)  # fmt: skip
@pytest.mark.case("S08")
@pytest.mark.case("C102")
def test_a_row_is_typed_and_checked(ledger: Ledger, raw: sqlite3.Connection, column: str, value: str) -> None:
    """What isn't what its column says is refused by the table, also where it could be read as something near."""
    ledger.post(**wanted())
    row = {
        "debit_id": "debit_id", "credit_id": "credit_id", "amount": "1", "occurred_at": "1", "recorded_at": "1",
        "key": "'other'", "kind": "'pay'", "metadata": "NULL",
    } | {column: value}  # fmt: skip
    statement = f"INSERT INTO lastro_transfer ({', '.join(row)}) SELECT {', '.join(row.values())} FROM lastro_transfer"
    with pytest.raises(sqlite3.IntegrityError):
        raw.execute(statement)
    assert raw.execute("SELECT count(*) FROM lastro_transfer").fetchall() == [(1,)]


@pytest.mark.case("F25")
def test_a_sum_never_becomes_a_real(ledger: Ledger, raw: sqlite3.Connection) -> None:
    """Beyond 64 bits SQLite would go on in floating point: the table refuses it in both directions, by the unit."""
    ledger.bump("low", LOWEST)
    ledger.bump("high", 2**63 - 1)
    for counter, change in (("low", -1), ("low", -600), ("high", 1), ("high", 2**63 - 1)):
        with pytest.raises(lastro.AmountOutOfRange):
            ledger.bump(counter, change)
    assert (ledger.count("low"), ledger.count("high")) == (LOWEST, 2**63 - 1)
    raw.execute("UPDATE lastro_base SET keeping = 'hot', amount = 9223372036854775807 WHERE keeping = 'direct'")
    raw.execute("INSERT INTO lastro_tail SELECT account_id, 1, 1 FROM lastro_base WHERE keeping = 'hot'")
    with pytest.raises(lastro.AmountOutOfRange):
        ledger.balance("a", "BRL")
    with pytest.raises(lastro.AmountOutOfRange):
        ledger.consolidate()
    assert raw.execute("SELECT count(*) FROM lastro_tail").fetchall() == [(1,)]


@pytest.mark.req("1.9")
def test_the_views_show_moments_as_text(ledger: Ledger, raw: sqlite3.Connection) -> None:
    """Moments are exact to the microsecond and readable in the views, before 1970 as after it."""
    moments = (
        "0001-01-02T00:00:00.000001+00:00",
        "1969-12-31T23:59:59.999999+00:00",
        "2026-02-28T23:59:59.500000+00:00",
    )
    for moment in moments:
        ledger.post(**wanted(key=moment, occurred_at=datetime.fromisoformat(moment)))
    shown = raw.execute("SELECT occurred_at FROM lastro_movement ORDER BY position").fetchall()
    assert shown == [(moment.replace("+00:00", "Z"),) for moment in moments]


def test_a_child_has_connections_of_its_own(ledger: Ledger, path: Path) -> None:
    """After a fork parent and child post through the same ledger object, and nothing is lost."""
    ledger.post(**wanted(key="before"))
    child = os.fork()
    if child == 0:
        status = 1
        try:
            for number in range(20):
                ledger.post(**wanted(key=f"child {number}"))
            status = 0
        finally:
            os._exit(status)
    for number in range(20):
        ledger.post(**wanted(key=f"parent {number}"))
    assert os.waitpid(child, 0)[1] == 0
    assert ledger.balance("a", "BRL").posted == 41 * 5
    assert_balanced(ledger)
