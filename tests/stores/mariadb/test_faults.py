"""What the database does to a posting, and what is left of it: nothing, or all."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pymysql
import pytest

import lastro
from lastro import Ledger
from lastro.engine.mysql_errors import translated
from tests.stores.mariadb.conftest import Connect, rows_of
from tests.support.money import CURRENCY, fund, posted, transfer
from tests.support.sessions import Background, together, until

ONE_SECOND = "SET SESSION innodb_lock_wait_timeout = 1"


@pytest.fixture
def orders(name: str, connect: Connect) -> str:
    """A table of the application's own."""
    rows_of(connect(), f"CREATE TABLE {name}.orders (id integer PRIMARY KEY) ENGINE = InnoDB")
    return f"{name}.orders"


def waits(connect: Connect) -> Any:
    """A session that can tell how many transactions wait for a lock."""
    return connect(autocommit=True)


@pytest.mark.parametrize("wanted", ["key", "base", "batch", "few", "reversal"])
def test_a_lock_timeout_leaves_nothing_of_the_posting(
    ledger: Ledger, name: str, connect: Connect, orders: str, wanted: str
) -> None:
    """The server undoes only the statement that waited; the posting undoes the rest of itself, and no more."""
    fund(ledger, "a", 100)
    fund(ledger, "b", 100)
    ledger.post(**transfer("to undo", "a", "b", 1))
    rival, caller = connect(), connect(ONE_SECOND)
    ledger.within(rival).post(**transfer("k", "a", "world", 1))
    rows_of(caller, f"INSERT INTO {orders} VALUES (1)")
    held = ledger.within(caller)
    calls: dict[str, Callable[[], object]] = {
        "key": lambda: held.post(**transfer("k", "world", "b", 1)),
        "base": lambda: held.post(**transfer("other", "world", "a", 1)),
        "few": lambda: held.post_many([transfer("x", "world", "b", 1), transfer("k", "world", "b", 1)]),
        "batch": lambda: held.post_many([transfer(f"{'k' if n == 9 else n}", "b", "world", 1) for n in range(10)]),
        "reversal": lambda: held.reverse("to undo", "undo"),
    }
    with pytest.raises(lastro.LockTimeout) as caught:
        calls[wanted]()
    assert caught.value.committed == "no"
    assert rows_of(caller, "SELECT @@innodb_lock_wait_timeout, @lastro_patience") == [(1, None)]
    rival.rollback()
    assert not held.post(**transfer("after", "world", "b", 5)).replayed
    caller.commit()
    assert rows_of(caller, f"SELECT id FROM {orders}") == [(1,)]
    assert (posted(ledger, "a"), posted(ledger, "b")) == (99, 106)
    assert rows_of(caller, f"SELECT count(*) FROM {name}.transfer_key WHERE debit_id < 0 OR `key` = 'k'") == [(0,)]


def test_our_own_transaction_gives_up_in_time(name: str, mariadb_url: str, ledger: Ledger, connect: Connect) -> None:
    """On a connection of ours a wait ends after the ledger's own limit, in whole seconds, and the whole is rolled back."""
    fund(ledger, "a", 100)
    rival = connect()
    ledger.within(rival).post(**transfer("k", "a", "world", 1))
    with lastro.connect(mariadb_url, ledger=name, lock_timeout_ms=900) as impatient:
        for call in (
            lambda: impatient.post(**transfer("x", "a", "world", 1)),
            lambda: impatient.post(**transfer("k", "a", "world", 1)),
            lambda: impatient.post_many([transfer(f"{n}", "world", "a", 1) for n in range(9)]),
        ):
            with pytest.raises(lastro.LockTimeout):
                call()
        rival.rollback()
        assert not impatient.post(**transfer("k", "a", "world", 1)).replayed
    assert posted(ledger, "a") == 99


@pytest.mark.parametrize(
    ("number", "error"),
    [(1205, lastro.LockTimeout), (1213, lastro.SerializationLost), (1467, lastro.SerializationLost)],
)
def test_what_the_server_breaks_is_a_fault(number: int, error: type[lastro.Fault]) -> None:
    """A lock that isn't granted, a deadlock over rows, and one over the counter of ids: each may be tried again."""
    told = translated(pymysql.err.OperationalError(number, "the server's words"), ambiguous=False)
    assert type(told) is error
    assert told.committed == "no"
    assert "the server's words" in str(told)


def test_a_deadlock_of_the_callers_is_said_as_one(ledger: Ledger, connect: Connect) -> None:
    """Two transactions that lock two accounts in opposite orders: one is broken and told to start over, one goes on."""
    fund(ledger, "a", 100)
    fund(ledger, "b", 100)
    callers = connect(), connect()
    for caller, account in zip(callers, "ab", strict=True):
        ledger.within(caller).post(**transfer(f"first {account}", account, "world", 1))

    def cross(number: int) -> str:
        try:
            ledger.within(callers[number]).post(**transfer(f"second {number}", "ba"[number], "world", 1))
        except lastro.SerializationLost as lost:
            callers[number].rollback()
            return str(lost)[:46]
        callers[number].commit()
        return "committed"

    assert sorted(map(str, together([lambda: cross(0), lambda: cross(1)]))) == [
        "a deadlock was broken at our cost: retry the w",
        "committed",
    ]
    assert posted(ledger, "a") + posted(ledger, "b") == 198


def test_a_killed_session_is_replaced(ledger: Ledger, connect: Connect) -> None:
    """Idle connections that the server ended cost a call a try and nothing else, however many there were."""
    fund(ledger, "a", 100)
    together([lambda number=number: ledger.post(**transfer(f"{number}", "a", "world", 1)) for number in range(8)])  # type: ignore[misc]
    killer = connect()
    own = killer.thread_id()
    sessions = [
        one for (one,) in rows_of(killer, "SELECT id FROM information_schema.processlist WHERE command = 'Sleep'")
    ]
    assert len(sessions) >= 2
    for session in sessions:
        if session != own:
            rows_of(killer, f"KILL {session}")
    assert not ledger.post(**transfer("after", "a", "world", 1)).replayed
    assert posted(ledger, "a") == 91


def test_a_callers_killed_session_is_a_fault(ledger: Ledger, connect: Connect) -> None:
    """The caller's connection dies under the posting: nothing was stored, and nothing is tried again."""
    fund(ledger, "a", 100)
    caller, killer = connect(), connect()
    held = ledger.within(caller)
    held.post(**transfer("1", "a", "world", 1))
    rows_of(killer, f"KILL {caller.thread_id()}")
    with pytest.raises(lastro.ConnectionLost) as caught:
        held.post(**transfer("2", "a", "world", 1))
    assert caught.value.committed == "no"
    assert posted(ledger, "a") == 100


def test_a_rival_with_the_same_key_is_waited_for(ledger: Ledger, connect: Connect) -> None:
    """While a rival writes the key the caller waits; then it replays what was committed, or posts what was rolled back."""
    ledger.open_account("a", CURRENCY, keeping="hot")
    for number, ends in enumerate(("commit", "rollback")):
        rival = connect()
        ledger.within(rival).post(**transfer(f"k{number}", "world", "a", 5))
        going = Background(lambda number=number: ledger.post(**transfer(f"k{number}", "world", "a", 5)))  # type: ignore[misc]
        watching = waits(connect)
        until(
            lambda watching=watching: (
                rows_of(  # type: ignore[misc]
                    watching,
                    "SELECT count(*) FROM information_schema.processlist WHERE info LIKE 'INSERT INTO %transfer_key%'",
                )
                >= [(1,)]
            ),
            "the rival's key to be waited for",
        )
        getattr(rival, ends)()
        assert going.result().replayed is (ends == "commit")
    assert posted(ledger, "a") == 10


@pytest.mark.case("C070")
@pytest.mark.req("0.4")
def test_consolidators_and_postings_never_deadlock(ledger: Ledger, name: str, mariadb_url: str) -> None:
    """Three consolidators beside credits, debits and batches on the same accounts: no fault, and the books are in order."""
    for number in range(3):
        ledger.open_account(f"h{number}", CURRENCY, keeping="hot")
    ledger.post_many([transfer(f"seed {n}", "world", f"h{n}", 10_000) for n in range(3)])

    def consolidate() -> int:
        with lastro.connect(mariadb_url, ledger=name) as other:
            return sum(other.consolidate().blocked for _ in range(40))

    def post(writer: int) -> int:
        with lastro.connect(mariadb_url, ledger=name) as other:
            for n in range(30):
                account = f"h{n % 3}"
                other.post(**transfer(f"in {writer}:{n}", "world", account, 3))
                other.post(**transfer(f"out {writer}:{n}", account, "world", 1))
                other.post_many([transfer(f"{p} of {writer}:{n}", f"h{p % 3}", f"h{(p + 1) % 3}", 1) for p in range(6)])
        return 0

    calls = [consolidate] * 3 + [partial(post, writer) for writer in range(3)]
    assert together(calls) == [0] * 6
    ledger.consolidate()
    assert sum(posted(ledger, f"h{n}") for n in range(3)) == 30_000 + 3 * 30 * 2
