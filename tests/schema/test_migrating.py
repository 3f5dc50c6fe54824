"""Migrating: once, by one at a time, giving way to traffic, refusing what it doesn't know."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psycopg
import pytest

import lastro
from lastro import Ledger
from tests.schema.catalogue import described

Connection = psycopg.Connection[Any]
WAIT_S = 30
MIGRATIONS = ["0001_core", "0002_points", "0003_holds", "0004_kinds", "0009_outbox", "0010_betting"]


@pytest.fixture
def nameless(server_url: str) -> Iterator[str]:
    """The name of a ledger that isn't there yet."""
    name = "to_migrate"
    yield name
    with psycopg.connect(server_url, autocommit=True) as connection:
        connection.execute(f"DROP SCHEMA IF EXISTS {name} CASCADE".encode())


def test_migrating_again_is_nothing(ledger: Ledger, connection: Connection, ledger_name: str, server_url: str) -> None:
    """A second run applies nothing, makes nothing, and changes nothing."""
    before = described(connection, ledger_name)
    applied = connection.execute(f"SELECT * FROM {ledger_name}.migration".encode()).fetchall()
    connection.rollback()
    assert ledger.migrate() == []
    with lastro.connect(server_url, ledger=ledger_name) as another:
        assert another.migrate() == []
    assert described(connection, ledger_name) == before
    assert connection.execute(f"SELECT * FROM {ledger_name}.migration".encode()).fetchall() == applied


async def test_migrating_awaited_is_the_same(
    server_url: str, nameless: str, ledger: Ledger, connection: Connection, ledger_name: str
) -> None:
    """The awaited ledger migrates to the same schema."""
    async with await lastro.connect_async(server_url, ledger=nameless) as awaited:
        assert await awaited.migrate() == MIGRATIONS
        assert await awaited.migrate() == []
    assert described(connection, nameless) == described(connection, ledger_name)


def test_migrators_at_once(server_url: str, nameless: str) -> None:
    """Of several migrators at once one applies each migration, perhaps another one the next, and all succeed."""
    together = threading.Barrier(4)

    def migrate(_: int) -> list[str]:
        with lastro.connect(server_url, ledger=nameless) as ledger:
            # The connection is there before the race begins.
            with pytest.raises(lastro.SchemaOutdated):
                ledger.accounts()
            together.wait(WAIT_S)
            applied = ledger.migrate()
            ledger.open_account("a", "BRL")
            return applied

    with ThreadPoolExecutor(4) as pool:
        applied = list(pool.map(migrate, range(4)))
    assert sorted(name for one in applied for name in one) == MIGRATIONS


def test_a_changed_migration_is_refused(ledger: Ledger, connection: Connection) -> None:
    """A migration that was applied with another content is refused and named; nothing is done."""
    connection.execute("UPDATE migration SET checksum = 'other' WHERE number = 1")
    connection.commit()
    with pytest.raises(
        lastro.SchemaOutdated, match=r"migration 0001 \(core\) was applied .* another content"
    ) as caught:
        ledger.migrate()
    assert caught.value.found == "other"


@pytest.mark.case("C091")
def test_a_migration_gives_way(
    ledger: Ledger, connection: Connection, server_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    While an idle transaction holds a lock that a migration wants, postings go on and the migration tries again.

    It waits briefly for its lock, so that nobody queues behind it for long, and is done when the transaction ends.
    """
    monkeypatch.setattr("lastro.schema.migrate.LOCK_TIMEOUT_MS", 50)
    monkeypatch.setattr("lastro.plans.partitioning.LOCK_TIMEOUT_MS", 50)
    monkeypatch.setattr("lastro.schema.migrate.PAUSE_BETWEEN_TRIES_MS", 20)
    monkeypatch.setattr("lastro.schema.migrate.MIGRATION_TRIES_MAX", 1_000)
    ledger.open_account("a", "BRL", keeping="hot")
    # The next migration has partitions to make: for that it must detach and attach, which wants strong locks.
    for name in [partition.name for partition in ledger.partitions()]:
        connection.execute(f"DROP TABLE {name}".encode())
    connection.commit()
    ledger.post(key="stray", kind="pay", debit="world", credit="a", amount=5, currency="BRL")
    connection.execute("SELECT count(*) FROM transfer")
    with ThreadPoolExecutor(1) as pool, lastro.connect(server_url, ledger=ledger._operations.ledger) as migrator:
        migrating = pool.submit(migrator.migrate)
        for number in range(20):
            ledger.post(key=f"k{number}", kind="pay", debit="world", credit="a", amount=5, currency="BRL")
        assert not migrating.done()
        connection.rollback()
        assert migrating.result(WAIT_S) == []
    assert len(ledger.partitions()) >= 2
    assert ledger.balance("a", "BRL").posted == 105


def test_a_migration_that_never_gets_its_lock_says_so(
    ledger: Ledger, connection: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After its tries the migration ends as LockTimeout, and what was there still works."""
    monkeypatch.setattr("lastro.schema.migrate.LOCK_TIMEOUT_MS", 20)
    monkeypatch.setattr("lastro.schema.migrate.PAUSE_BETWEEN_TRIES_MS", 1)
    monkeypatch.setattr("lastro.schema.migrate.MIGRATION_TRIES_MAX", 3)
    connection.execute("LOCK TABLE migration IN ACCESS EXCLUSIVE MODE")
    with pytest.raises(lastro.LockTimeout):
        ledger.migrate()
    connection.rollback()
    assert ledger.migrate() == []
