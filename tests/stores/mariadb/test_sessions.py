"""A caller's session is the caller's: what it set doesn't matter, what was changed is put back, what won't do is said."""

from __future__ import annotations

from datetime import UTC, datetime
from types import ModuleType
from typing import Any

import asyncmy
import pymysql
import pytest
from sqlalchemy import create_engine, text
from sqlalchemy.ext.asyncio import create_async_engine
from sqlalchemy.orm import Session

import lastro
from lastro import Ledger
from tests.conformance.adapters import mariadb_engine_url
from tests.stores.mariadb.conftest import Connect, rows_of
from tests.support.mariadb import arguments_of
from tests.support.money import CURRENCY, fund, transfer

TRAP = "it's \\ \" %s {} é😀 \u00a0"


def fields(key: str) -> dict[str, Any]:
    """A transfer whose text every client likes to spoil."""
    return transfer(key, "world", "a", 5, cause=TRAP, source=TRAP, actor=TRAP, metadata={TRAP: [TRAP, 1.5, None]})


@pytest.mark.parametrize(
    "settings",
    [
        ("SET NAMES latin1",),
        ("SET NAMES utf8mb4 COLLATE utf8mb4_turkish_ci",),
        ("SET SESSION sql_mode = 'ANSI,NO_BACKSLASH_ESCAPES,NO_AUTO_VALUE_ON_ZERO'",),
        ("SET SESSION sql_mode = 'ORACLE'",),
        ("SET SESSION time_zone = '-03:00', SESSION lc_time_names = 'fr_FR'",),
        ("SET SESSION auto_increment_increment = 7, SESSION auto_increment_offset = 3",),
        ("SET SESSION sql_auto_is_null = 1, SESSION div_precision_increment = 0",),
    ],
    ids=["latin1", "turkish", "ansi", "oracle", "time zone", "increments", "nulls"],
)
def test_the_callers_settings_do_not_matter(ledger: Ledger, connect: Connect, settings: tuple[str, ...]) -> None:
    """Character set, modes, time zone and increments of the session change nothing of what is stored and read."""
    ledger.open_account("a", CURRENCY)
    ledger.open_account("h", CURRENCY, keeping="hot")
    caller = connect(*settings)
    held = ledger.within(caller)
    posted = [held.post(**fields("1")), *held.post_many([fields("2"), fields("3")])]
    posted += held.post_many([fields(f"many {number}") for number in range(9)])
    posted.append(held.post(**transfer("4", "world", "h", 9)))
    posted.append(held.post(**transfer("5", "h", "a", 4)))
    posted.append(held.reverse("5", "6"))
    assert [held.transfer(one.key) for one, _ in posted] == [one for one, _ in posted]
    assert held.post(**fields("1")).replayed
    caller.commit()
    assert [ledger.transfer(one.key) for one, _ in posted] == [one for one, _ in posted]
    assert [one.id for one, _ in posted] == sorted(one.id for one, _ in posted)
    assert ledger.balance("a", CURRENCY).posted == 60


@pytest.mark.parametrize("cursor", [pymysql.cursors.DictCursor, pymysql.cursors.SSCursor, pymysql.cursors.SSDictCursor])
def test_the_callers_cursors_do_not_matter(ledger: Ledger, connect: Connect, cursor: Any) -> None:
    """Dictionaries or streamed rows as the connection's default change nothing."""
    ledger.open_account("a", CURRENCY)
    caller = connect(cursorclass=cursor)
    held = ledger.within(caller)
    assert not held.post(**fields("1")).replayed
    assert held.post_many([fields("1"), fields("2"), fields("3")])[0].replayed
    caller.commit()
    assert ledger.balance("a", CURRENCY).posted == 15


def test_the_lock_wait_is_the_callers_again(ledger: Ledger, connect: Connect) -> None:
    """After postings, refusals and batches the session's limit is what it was; no variable of ours is left in its way."""
    fund(ledger, "a", 100)
    fund(ledger, "hot", 100, "hot")
    fund(ledger, "summed", 0, "summed")
    for seconds in (1, 2, 50, 600):
        caller = connect(f"SET SESSION innodb_lock_wait_timeout = {seconds}")
        held = ledger.within(caller)
        held.open_account(f"new {seconds}", CURRENCY)
        held.post(**transfer(f"in {seconds}", "world", "hot", 1))
        held.post(**transfer(f"direct {seconds}", "a", "hot", 1))
        held.post(**transfer(f"locked {seconds}", "hot", "a", 1))
        held.post_many([transfer(f"few {seconds}", "a", "hot", 1), transfer(f"few more {seconds}", "world", "a", 1)])
        held.post_many([transfer(f"{n} of many {seconds}", "a", "hot", 1) for n in range(9)])
        for refused in ("summed", "hot", "a"):
            with pytest.raises(lastro.InsufficientFunds):
                held.post(**transfer("r", refused, "world", 10_000))
            with pytest.raises(lastro.InsufficientFunds):
                held.post_many([transfer("r", refused, "world", 10_000), transfer("s", "world", "a", 1)])
        held.reverse(f"in {seconds}", f"undo {seconds}")
        held.bump("c")
        assert rows_of(caller, "SELECT @@innodb_lock_wait_timeout, @lastro_patience") == [(seconds, None)]
        caller.rollback()


@pytest.mark.case("C094")
def test_a_migration_leaves_no_limit_behind(ledger: Ledger, name: str, mariadb_url: str) -> None:
    """Migrating waits briefly for its locks; what comes after it on the same connection waits as long as it may."""
    settings = "SELECT @@innodb_lock_wait_timeout, @@lock_wait_timeout, @lastro_patience"
    del ledger
    with lastro.connect(mariadb_url, ledger=name, lock_timeout_ms=40_000, pool_max=1) as patient:
        patient.accounts()
        pool = patient._engine._pool  # type: ignore[attr-defined]
        with pool.connection() as connection:
            before = rows_of(connection, settings)
        assert patient.migrate() == []
        with pool.connection() as connection:
            assert rows_of(connection, settings) == before


@pytest.mark.case("C094")
def test_no_setting_of_the_session_is_changed(ledger: Ledger, connect: Connect) -> None:
    """After all that a caller's transaction can do, refusals included, every variable of the session is what it was."""
    fund(ledger, "a", 100)
    fund(ledger, "h", 100, "hot")
    caller = connect()
    before = dict(rows_of(caller, "SHOW SESSION VARIABLES"))
    held = ledger.within(caller)
    held.post(**transfer("1", "a", "h", 5))
    held.post_many([transfer(f"{n}", "h", "a", 1) for n in range(2, 30)])
    held.reverse("1", "undo")
    held.bump("orders")
    with pytest.raises(lastro.InsufficientFunds):
        held.post(**transfer("no", "h", "world", 1_000))
    caller.commit()
    after = dict(rows_of(caller, "SHOW SESSION VARIABLES"))
    # What a session is told of its own last statement isn't a setting.
    changed = {name for name in after if after[name] != before[name]} - {
        "last_insert_id",
        "identity",
        "timestamp",
        "last_gtid",
    }
    assert changed <= {"rand_seed1", "rand_seed2", "error_count", "warning_count"}


def test_autocommit_is_refused(ledger: Ledger, connect: Connect, mariadb_url: str) -> None:
    """Without a transaction each statement would stand alone: refused, until the caller begins one."""
    ledger.open_account("a", CURRENCY)
    caller = connect(autocommit=True)
    with pytest.raises(lastro.NotInTransaction, match="autocommit"):
        ledger.within(caller).post(**fields("1"))
    assert ledger.transfer("1") is None
    caller.begin()
    ledger.within(caller).post(**fields("1"))
    caller.commit()
    engine = create_engine(mariadb_engine_url(mariadb_url, "pymysql"), isolation_level="AUTOCOMMIT")
    with engine.connect() as connected, pytest.raises(lastro.NotInTransaction, match="autocommit"):
        ledger.within(connected).post(**fields("2"))
    engine.dispose()
    assert [entry.key for entry in ledger.entries("a", CURRENCY)] == ["1"]


async def test_autocommit_is_refused_awaiting(ledger: Ledger, name: str, mariadb_url: str) -> None:
    """The same from asyncio."""
    ledger.open_account("a", CURRENCY)
    async with await lastro.connect_async(mariadb_url, ledger=name) as awaited:
        caller = await asyncmy.connect(**arguments_of(mariadb_url), autocommit=True)
        with pytest.raises(lastro.NotInTransaction, match="autocommit"):
            await awaited.within(caller).post(**fields("1"))
        await caller.begin()
        await awaited.within(caller).post(**fields("1"))
        await caller.commit()
        await caller.ensure_closed()
        with pytest.raises(lastro.ConnectionLost, match="closed"):
            await awaited.within(caller).post(**fields("2"))
    assert [entry.key for entry in ledger.entries("a", CURRENCY)] == ["1"]


def test_a_closed_connection_is_a_fault(ledger: Ledger, connect: Connect) -> None:
    """A connection that is gone is ConnectionLost, with nothing stored."""
    ledger.open_account("a", CURRENCY)
    caller = connect()
    caller.close()
    with pytest.raises(lastro.ConnectionLost, match="closed") as caught:
        ledger.within(caller).post(**fields("1"))
    assert caught.value.committed == "no"


async def test_what_holds_no_transaction_is_refused(ledger: Ledger, name: str, mariadb_url: str) -> None:
    """Another driver, the other style, a cursor, an engine, a URL: each by its type, with what would do."""
    other, engine = create_engine("sqlite://"), create_engine(mariadb_engine_url(mariadb_url, "pymysql"))
    async_engine = create_async_engine(mariadb_engine_url(mariadb_url, "asyncmy"))
    blocking = pymysql.connect(**arguments_of(mariadb_url))
    awaiting = await asyncmy.connect(**arguments_of(mariadb_url))
    with other.connect() as connected, pytest.raises(lastro.InvalidInput, match=r"sqlite3.*mysql\+pymysql://"):
        ledger.within(connected).post(**fields("1"))
    async with async_engine.connect() as awaited:
        for handle in (
            None,
            object(),
            mariadb_url,
            blocking.cursor(),
            engine,
            text("SELECT 1"),
            ledger,
            awaiting,
            awaited,
        ):
            with pytest.raises(lastro.InvalidInput, match=r"within\(\) takes .*Connection") as caught:
                ledger.within(handle).post(**fields("1"))
            assert type(handle).__qualname__ in str(caught.value)
    async with await lastro.connect_async(mariadb_url, ledger=name) as book:
        with engine.connect() as sqlalchemys, Session(engine) as session:
            for handle in (blocking, sqlalchemys, session):
                with pytest.raises(lastro.InvalidInput, match="Async"):
                    await book.within(handle).post(**fields("1"))
    blocking.close()
    await awaiting.ensure_closed()
    for created in (other, engine):
        created.dispose()
    await async_engine.dispose()


def test_mysqlclient_is_taken_where_it_is_installed(ledger: Ledger, mariadb_url: str, mysqlclient: ModuleType) -> None:
    """Mysqlclient's connection carries a posting too; in autocommit mode it is refused, whatever it doesn't tell."""
    ledger.open_account("a", CURRENCY)
    caller = mysqlclient.connect(**arguments_of(mariadb_url))
    held = ledger.within(caller)
    assert not held.post(**fields("1")).replayed
    assert held.post_many([fields("1"), fields("2")])[0].replayed
    caller.commit()
    caller.autocommit(True)
    with pytest.raises(lastro.NotInTransaction):
        held.post(**fields("3"))
    caller.close()
    assert ledger.balance("a", CURRENCY).posted == 10


@pytest.mark.req("3.4")
def test_a_capture_may_be_the_first_call_of_a_session(ledger: Ledger, mariadb_url: str) -> None:
    """A session in which no wait was bounded yet has nothing to give back, and a capture goes on all the same."""
    fund(ledger, "a", 100)
    deadline = datetime(2100, 1, 1, tzinfo=UTC)
    ledger.place_hold(key="h", account="a", currency=CURRENCY, amount=10, owner="o", expires_at=deadline)
    caller = pymysql.connect(**arguments_of(mariadb_url))
    assert ledger.within(caller).capture(key="c", hold="h", credit="world", kind="sale").transfer.amount == 10
    caller.commit()
    caller.close()
    assert (ledger.balance("a", CURRENCY).posted, ledger.balance("a", CURRENCY).held) == (90, 0)
