"""Inside a caller's transaction on SQLite: the first thing a posting does is a write, and the rest stays the caller's."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import aiosqlite
import pytest
from sqlalchemy import create_engine, text
from sqlalchemy.ext.asyncio import create_async_engine
from sqlalchemy.orm import Session

import lastro
from lastro import Ledger
from lastro.testing import assert_balanced
from tests.support.sessions import Background

LIMIT_MS = 60_000
SHORT_MS = 50


def wanted(**changed: Any) -> dict[str, Any]:
    """A transfer of 5 BRL from the world to `a`, changed."""
    return {"key": "k", "kind": "pay", "debit": "world", "credit": "a", "amount": 5, "currency": "BRL"} | changed


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A database file."""
    return tmp_path / "ledger.db"


@pytest.fixture
def ledger(path: Path) -> Iterator[Ledger]:
    """A ledger on it, with accounts `a` and `hot`, in order at the end."""
    with lastro.connect(f"sqlite:///{path}", lock_timeout_ms=LIMIT_MS) as ledger:
        ledger.migrate()
        ledger.open_account("a", "BRL")
        ledger.open_account("hot", "BRL", keeping="hot")
        yield ledger
        assert_balanced(ledger)


@pytest.fixture
def caller(path: Path) -> Iterator[sqlite3.Connection]:
    """An application's connection in autocommit mode, for it to begin its transactions itself."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("CREATE TABLE orders (id integer PRIMARY KEY)")
    yield connection
    connection.close()


@pytest.mark.req("1.8")
@pytest.mark.case("C010")
def test_a_read_that_is_out_of_date_is_a_fault(ledger: Ledger, caller: sqlite3.Connection) -> None:
    """A deferred transaction that has read before a rival wrote can't write: SerializationLost, and nothing is stored."""
    caller.execute("BEGIN")
    assert caller.execute("SELECT count(*) FROM lastro_transfer").fetchall() == [(0,)]
    ledger.post(**wanted(key="rival"))
    held = ledger.within(caller)
    for call in (lambda: held.post(**wanted()), lambda: held.post_many([wanted()]), lambda: held.bump("c")):
        with pytest.raises(lastro.SerializationLost, match="retry the whole transaction") as caught:
            call()
        assert caught.value.committed == "no"
    assert held.balance("a", "BRL").posted == 0, "it still reads what it read"
    caller.execute("ROLLBACK")
    caller.execute("BEGIN")
    assert held.balance("a", "BRL").posted == 5
    assert not held.post(**wanted()).replayed
    caller.execute("COMMIT")


@pytest.mark.req("1.8")
@pytest.mark.case("C010")
def test_a_posting_takes_the_write_lock_before_it_reads(ledger: Ledger, path: Path, caller: sqlite3.Connection) -> None:
    """In a deferred transaction the posting's first statement locks: no rival can write between its look and its write."""
    caller.execute("BEGIN")
    # Whatever the library knows already: a process that has just begun must look the accounts up first.
    with lastro.connect(f"sqlite:///{path}", lock_timeout_ms=SHORT_MS) as fresh:
        seen: list[str] = []
        caller.set_trace_callback(seen.append)
        fresh.within(caller).post(**wanted())
        caller.set_trace_callback(None)
        spoken = [line for line in seen if not line.startswith("PRAGMA")]
        # Only the check of the ledger's version, which decides nothing, may come before it.
        first = next(line for line in spoken if "lastro_migration" not in line and "sqlite_schema" not in line)
        assert first.startswith("UPDATE lastro_base")
        with pytest.raises(lastro.LockTimeout):
            fresh.post(**wanted(key="rival"))
    caller.execute("COMMIT")
    assert ledger.transfer("k") is not None


def test_a_posting_waits_for_the_writer_before_it(ledger: Ledger, path: Path, caller: sqlite3.Connection) -> None:
    """In a transaction that hasn't read, a posting waits for whoever writes, and then sees what that one wrote."""
    caller.execute("BEGIN IMMEDIATE")
    ledger.within(caller).post(**wanted(amount=7))
    second = sqlite3.connect(path, check_same_thread=False, timeout=LIMIT_MS / 1000)
    knocked = threading.Event()
    second.set_trace_callback(lambda line: knocked.set() if line.startswith("BEGIN") else None)
    waiting = Background(lambda: ledger.within(second).post(**wanted(key="2", debit="a", credit="hot", amount=7)))
    assert knocked.wait(30)
    assert not waiting.done
    caller.execute("COMMIT")
    assert not waiting.result().replayed
    second.commit()
    second.close()
    assert ledger.balance("hot", "BRL").posted == 7


@pytest.mark.case("C020")
def test_the_wait_has_an_end(ledger: Ledger, path: Path, caller: sqlite3.Connection) -> None:
    """A posting gives up after the ledger's limit, or the caller's own where that is stricter, and gives it back."""
    caller.execute("BEGIN IMMEDIATE")
    with lastro.connect(f"sqlite:///{path}", lock_timeout_ms=SHORT_MS) as impatient:
        for asked, timeout_s in ((impatient, 30.0), (ledger, SHORT_MS / 1000)):
            connection = sqlite3.connect(path, timeout=timeout_s)
            with pytest.raises(lastro.LockTimeout, match="not granted in time") as caught:
                asked.within(connection).post(**wanted())
            assert caught.value.committed == "no"
            assert connection.execute("PRAGMA busy_timeout").fetchall() == [(round(timeout_s * 1000),)]
            connection.close()
        with pytest.raises(lastro.LockTimeout):
            impatient.post(**wanted())
    caller.execute("COMMIT")
    assert ledger.transfer("k") is None


def test_autocommit_is_refused(ledger: Ledger, path: Path, caller: sqlite3.Connection) -> None:
    """Without a transaction each statement would stand alone: refused, until the caller opens one."""
    held = ledger.within(caller)
    with pytest.raises(lastro.NotInTransaction, match=r"autocommit.*BEGIN IMMEDIATE"):
        held.post(**wanted())
    caller.execute("BEGIN")
    held.post(**wanted())
    caller.execute("COMMIT")
    engine = create_engine(f"sqlite:///{path}", isolation_level="AUTOCOMMIT")
    with engine.connect() as connected, pytest.raises(lastro.NotInTransaction, match="autocommit"):
        ledger.within(connected).post(**wanted(key="2"))
    engine.dispose()
    assert [entry.key for entry in ledger.entries("a", "BRL")] == ["k"]


def test_a_step_is_done_or_undone_as_one(ledger: Ledger, caller: sqlite3.Connection) -> None:
    """A step of several statements that fails at the second leaves nothing of the first, and the caller's work alone."""
    caller.execute("CREATE TRIGGER broken BEFORE INSERT ON lastro_tail BEGIN SELECT raise(ABORT, 'no tail'); END")
    caller.execute("BEGIN")
    caller.execute("INSERT INTO orders VALUES (1)")
    held = ledger.within(caller)
    for call in (
        lambda: held.post(**wanted(credit="hot")),
        lambda: held.post_many([wanted(credit="hot"), wanted(key="2")]),
    ):
        with pytest.raises(lastro.LastroError, match="no tail"):
            call()
    assert caller.execute("SELECT count(*) FROM lastro_transfer").fetchall() == [(0,)]
    caller.execute("COMMIT")
    caller.execute("DROP TRIGGER broken")
    assert caller.execute("SELECT id FROM orders").fetchall() == [(1,)]


def test_the_callers_way_to_read_does_not_matter(ledger: Ledger, path: Path) -> None:
    """Row and text factories of the connection change nothing of what is read, and are the caller's again afterwards."""
    for number, (row_factory, text_factory) in enumerate(
        ((sqlite3.Row, str), (lambda _, row: {"row": row}, bytes), (None, bytes), (lambda *_: None, str))
    ):
        connection = sqlite3.connect(path)
        connection.row_factory, connection.text_factory = row_factory, text_factory
        held = ledger.within(connection)
        posted = [held.post(**wanted(key=f"{number}")), *held.post_many([wanted(key=f"{number} 2", metadata={"a": 1})])]
        assert [held.transfer(t.key) for t, _ in posted] == [t for t, _ in posted]
        assert (connection.row_factory, connection.text_factory) == (row_factory, text_factory)
        connection.commit()
        connection.close()
    assert ledger.balance("a", "BRL").posted == 40


def test_a_closed_connection_is_a_fault(ledger: Ledger, path: Path) -> None:
    """A connection that is gone is ConnectionLost, with nothing stored."""
    connection = sqlite3.connect(path)
    connection.close()
    with pytest.raises(lastro.ConnectionLost, match="closed") as caught:
        ledger.within(connection).post(**wanted())
    assert caught.value.committed == "no"


def test_what_holds_no_transaction_is_refused(ledger: Ledger, caller: sqlite3.Connection) -> None:
    """Anything else is refused by its type."""
    engine = create_engine("postgresql+psycopg://nobody@127.0.0.1:1/nothing")
    for handle in (None, object(), "sqlite:///x.db", caller.cursor(), engine, text("SELECT 1"), ledger):
        with pytest.raises(lastro.InvalidInput, match=r"within\(\) takes .*Connection") as caught:
            ledger.within(handle).post(**wanted())
        assert type(handle).__qualname__ in str(caught.value)


async def test_the_other_style_is_refused(ledger: Ledger, path: Path) -> None:
    """An awaited connection in a blocking ledger and the reverse are told apart, in words."""
    engine, async_engine = create_engine(f"sqlite:///{path}"), create_async_engine(f"sqlite+aiosqlite:///{path}")
    async with aiosqlite.connect(path) as awaited, async_engine.connect() as connected:
        for handle in (awaited, connected):
            with pytest.raises(lastro.InvalidInput, match="Connection"):
                ledger.within(handle).post(**wanted())
    async with await lastro.connect_async(f"sqlite:///{path}") as async_ledger:
        with engine.connect() as sqlalchemys, Session(engine) as session:
            for blocking in (sqlalchemys, session):
                with pytest.raises(lastro.InvalidInput, match=type(blocking).__qualname__):
                    await async_ledger.within(blocking).post(**wanted())
    engine.dispose()
    await async_engine.dispose()


async def test_a_sqlite3_connection_may_be_used_from_asyncio(ledger: Ledger, path: Path) -> None:
    """The loop's own sqlite3 connection takes postings; while one waits for the lock the loop goes on."""
    url = f"sqlite:///{path}"
    first, second = sqlite3.connect(path), sqlite3.connect(path, timeout=LIMIT_MS / 1000)
    async with await lastro.connect_async(url, lock_timeout_ms=LIMIT_MS) as async_ledger:
        await async_ledger.within(first).post(**wanted())
        waiting = asyncio.create_task(async_ledger.within(second).post(**wanted(key="2")))
        await asyncio.sleep(0)
        assert not waiting.done()
        first.commit()
        assert not (await waiting).replayed
        second.commit()
    first.close()
    second.close()
    assert ledger.balance("a", "BRL").posted == 10


async def test_a_call_that_is_cancelled_stores_nothing(ledger: Ledger, path: Path, caller: sqlite3.Connection) -> None:
    """A posting given up while it waits for the lock or for its turn isn't stored later, and the next one goes on."""
    async with await lastro.connect_async(f"sqlite:///{path}", lock_timeout_ms=LIMIT_MS) as async_ledger:
        await async_ledger.balance("a", "BRL")
        caller.execute("BEGIN IMMEDIATE")
        calls = [asyncio.create_task(async_ledger.post(**wanted(key=f"{number}"))) for number in range(3)]
        await asyncio.sleep(0)
        for call in calls:
            call.cancel()
        assert all(
            isinstance(end, asyncio.CancelledError) for end in await asyncio.gather(*calls, return_exceptions=True)
        )
        caller.execute("COMMIT")
        assert not (await async_ledger.post(**wanted(key="next"))).replayed
    assert [entry.key for entry in ledger.entries("a", "BRL")] == ["next"]
