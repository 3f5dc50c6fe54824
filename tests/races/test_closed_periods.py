"""Periods close while others post into them: who is under way commits before the closing is said, or is refused."""

from __future__ import annotations

import threading
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any

import psycopg
import pytest
from psycopg import IsolationLevel

import lastro
from lastro import Ledger, PeriodClosed, SerializationLost
from lastro.testing import assert_balanced
from tests.conftest import Counted
from tests.support.money import fund, posted, transfer
from tests.support.sessions import Background, Observer, Sessions, pid_of

OCTOBER_ENDS = datetime(2025, 11, 1, tzinfo=UTC)
IN_OCTOBER = OCTOBER_ENDS - timedelta(days=1)
SEPTEMBER_ENDS = datetime(2025, 10, 1, tzinfo=UTC)
POSTERS = 4
SHORT_ROUNDS, LONG_ROUNDS = 6, 300


def dated_back(key: str, **more: Any) -> dict[str, Any]:
    """A transfer that occurred in October."""
    return transfer(key, "world", "shop", 5, occurred_at=IN_OCTOBER, **more)


@pytest.mark.parametrize("first", [True, False])
def test_a_closing_waits_for_who_posts_into_the_period(
    ledger: Ledger, session: Sessions, observer: Observer, first: bool
) -> None:
    """The first closing as any later one: it isn't said before the transfer under way is committed."""
    fund(ledger, "shop", 0)
    if not first:
        ledger.close_period(until=SEPTEMBER_ENDS)
    caller = session()
    with caller.transaction():
        ledger.within(caller).post(**dated_back("under way"))
        closing = Background(lambda: ledger.close_period(until=OCTOBER_ENDS))
        observer.until_anyone_waits_for(pid_of(caller))
        assert not closing.done
    assert closing.result().closed_until == OCTOBER_ENDS
    assert posted(ledger, "shop") == 5
    with pytest.raises(PeriodClosed):
        ledger.post(**dated_back("late"))


def test_an_old_snapshot_doesnt_pass_the_closing_by(ledger: Ledger, session: Sessions) -> None:
    """A transaction in REPEATABLE READ that began before the closing is told to begin anew; nothing is stored."""
    fund(ledger, "shop", 0)
    caller = session()
    caller.isolation_level = IsolationLevel.REPEATABLE_READ
    caller.execute("SELECT 1")
    ledger.close_period(until=OCTOBER_ENDS)
    with pytest.raises((SerializationLost, PeriodClosed)):
        ledger.within(caller).post(**dated_back("old"))
    caller.rollback()
    with pytest.raises(PeriodClosed):
        ledger.within(caller).post(**dated_back("old"))
    caller.rollback()
    assert posted(ledger, "shop") == 0


def test_a_closing_waits_for_a_transaction_from_before_its_end(
    ledger: Ledger, session: Sessions, observer: Observer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    What isn't asked about, for it occurred less than a minute before its transaction, is waited for all the same.

    The closing is in force for everybody else meanwhile; where the transaction doesn't end, it is named.
    """
    fund(ledger, "shop", 0)
    ledger.close_period(until=OCTOBER_ENDS)
    caller = session()
    began = caller.execute("SELECT now()").fetchone()[0]  # type: ignore[index]
    ledger.within(caller).post(**transfer("recent", "world", "shop", 5, occurred_at=began - timedelta(seconds=59.9)))
    # Time has to go on until the period that holds that moment is over for a minute.
    observer.until(lambda: observer.value("SELECT clock_timestamp()") > began + timedelta(seconds=0.2), "the clock")
    until = observer.value("SELECT clock_timestamp()") - timedelta(seconds=60.001)
    monkeypatch.setattr("lastro.plans.closed_periods.KEEPING_WAIT_MS", 50)
    with pytest.raises(lastro.LockTimeout, match=rf"pid {pid_of(caller)} ") as caught:
        ledger.close_period(until=until)
    assert caught.value.pid == pid_of(caller)
    assert ledger.period_closings()[0].closed_until == until
    with pytest.raises(PeriodClosed):
        ledger.post(**transfer("other", "world", "shop", 5, occurred_at=until - timedelta(microseconds=1)))
    monkeypatch.setattr("lastro.plans.closed_periods.KEEPING_WAIT_MS", 30_000)
    waiting = Background(lambda: ledger.close_period(until=until))
    caller.commit()
    assert waiting.result().closed_until == until
    assert posted(ledger, "shop") == 5


def test_who_doesnt_date_back_isnt_held_up(ledger: Ledger, session: Sessions) -> None:
    """An open transaction that posts into the present doesn't hold a closing of the past up."""
    fund(ledger, "shop", 0)
    ledger.close_period(until=SEPTEMBER_ENDS)
    caller = session()
    with caller.transaction():
        ledger.within(caller).post(**transfer("now", "world", "shop", 5))
        assert ledger.close_period(until=OCTOBER_ENDS).closed_until == OCTOBER_ENDS


def rounds_of(ledger: Ledger, connection: psycopg.Connection[Any], rounds: int, counted: Counted) -> tuple[int, int]:
    """Close and reopen October again and again under load; return how many got in and how many were refused."""
    fund(ledger, "shop", 0)
    fund(ledger, "platform", 0, "hot")
    stop = threading.Event()

    def post(name: int) -> tuple[int, int]:
        in_time = refused = 0
        for number in count():
            if stop.is_set():
                return in_time, refused
            key, account = f"{name}:{number}", ("shop", "platform")[number % 2]
            try:
                if number % 3:
                    ledger.post(**(dated_back(key) | {"credit": account}))
                else:
                    ledger.post_many([dated_back(f"{key}:{part}") | {"credit": account} for part in range(2)])
            except PeriodClosed:
                refused += 1
            else:
                in_time += 1
        raise AssertionError("it counts for ever")

    running = [Background(lambda n=name: post(n)) for name in range(POSTERS)]  # type: ignore[misc]
    inside = "SELECT count(*) FROM transfer WHERE occurred_at < %s"
    try:
        for number in range(rounds):
            ledger.close_period(until=OCTOBER_ENDS)
            there = connection.execute(inside, [OCTOBER_ENDS]).fetchone()
            connection.rollback()
            # Whatever the posters have sent by now is answered before this one is.
            with pytest.raises(PeriodClosed):
                ledger.post(**dated_back(f"probe:{number}"))
            assert connection.execute(inside, [OCTOBER_ENDS]).fetchone() == there
            connection.rollback()
            ledger.reopen_period(key=f"audit:{number}", since=SEPTEMBER_ENDS, reason="test", actor="test")
    finally:
        stop.set()
        totals = [going.result() for going in running]
    assert_balanced(ledger)
    got_in, refused = (sum(column) for column in zip(*totals, strict=True))
    counted(f"{rounds} closings under load: {got_in} posted before one, {refused} refused, 0 inside a closed period")
    return got_in, refused


def test_nothing_gets_into_a_closed_period(
    ledger: Ledger, connection: psycopg.Connection[Any], counted: Counted
) -> None:
    """From the closing's answer to the reopening the period's transfers don't change, whoever is posting into it."""
    got_in, refused = rounds_of(ledger, connection, SHORT_ROUNDS, counted)
    assert got_in + refused > 0


@pytest.mark.soak
def test_nothing_gets_into_a_closed_period_for_long(
    ledger: Ledger, connection: psycopg.Connection[Any], counted: Counted
) -> None:
    """The same, many times over."""
    got_in, refused = rounds_of(ledger, connection, LONG_ROUNDS, counted)
    assert got_in > 0 < refused
