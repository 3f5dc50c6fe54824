"""What a process believes, and the sessions it works on: rolled back, forked, shared, set up otherwise, or waiting."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
from collections.abc import Callable
from functools import partial
from itertools import groupby
from typing import Any, NoReturn

import psycopg
import pytest
from psycopg.types.numeric import FloatLoader

import lastro
from lastro import AsyncLedger, InsufficientFunds, InvalidInput, Ledger, LockTimeout
from lastro.engine import postgres_async
from lastro.engine.psycopg_cursor import AsyncDictCursor, Statements, execute_async
from lastro.errors import AccountNotEmpty, Fault
from lastro.ledger import HeldLedger
from lastro.model.account import Keeping
from lastro.plans.course import Act, Course, Pause
from lastro.plans.plan import Rows, Step
from lastro.testing import assert_balanced
from tests.support.money import CURRENCY, KEEPINGS, fund, posted, transfer
from tests.support.sessions import PATIENCE_S, Sessions, together

BY_FEW, BY_MANY = 2, 60
# The first whole number that a float can't tell from its neighbour, and one more.
UNFIT_FOR_FLOATS = 2**53 + 1
ROUNDS = 10


@pytest.mark.parametrize("kept", KEEPINGS)
def test_an_account_that_was_rolled_back_is_not_believed_in(ledger: Ledger, session: Sessions, kept: Keeping) -> None:
    """After a currency's first checkout was rolled back its world is a new one; every posting goes to that one."""
    caller = session()
    held = ledger.within(caller)
    held.open_account("gone", CURRENCY, keeping=kept, floor=None)
    held.post(**transfer("gone in", "world", "gone", 100))
    held.post(**transfer("gone out", "gone", "world", 50))
    caller.rollback()
    ledger.open_account("seller", CURRENCY, keeping=kept, floor=None)
    assert not ledger.post(**transfer("in", "world", "seller", 500)).replayed
    assert not ledger.post(**transfer("out", "seller", "world", 200)).replayed
    assert ledger.post(**transfer("in", "world", "seller", 500)).replayed
    assert (posted(ledger, "seller"), posted(ledger, "world")) == (300, -300)
    assert_balanced(ledger)


def test_a_forked_child_leaves_its_parents_connections_alone(ledger: Ledger) -> None:
    """A child that can't reach the server says so; it doesn't try the connections that are its parent's."""
    fund(ledger, "seller", 0)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        refusing = f"postgresql://nobody@127.0.0.1:{listener.getsockname()[1]}/nowhere"
    child = os.fork()
    if child == 0:
        _post_and_exit(ledger, refusing)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0, "the child touched the pool of its parent, or was refused otherwise"
    for number in range(20):
        assert not ledger.post(**transfer(f"after {number}", "world", "seller", 1)).replayed
    assert posted(ledger, "seller") == 20


def _post_and_exit(ledger: Ledger, url: str) -> NoReturn:
    signal.alarm(int(PATIENCE_S))
    engine: Any = ledger._engine
    engine._settings = engine._settings._replace(url=url)
    engine._pool.check = lambda: os._exit(3)
    try:
        ledger.post(**transfer("child", "world", "seller", 1))
    except Fault:
        os._exit(0)
    finally:
        os._exit(4)


class Steps:
    """A change of terms that goes on act by act, each in its own transaction, when the test says so."""

    def __init__(self, ledger: Ledger, course: Course[Any]) -> None:
        self._ledger, self._course = ledger, course
        self._going: Act | Pause | None = next(course)

    def take(self, acts: int = 1) -> None:
        """Go on by so many acts."""
        for _ in range(acts):
            self._take()

    def until_it_waits(self) -> None:
        """Go on until it would pause, or is over."""
        while self._going is not None and not isinstance(self._going, Pause):
            self._take()

    def finish(self) -> None:
        """Go on to the end."""
        while self._going is not None:
            self._take()

    def _take(self) -> None:
        assert self._going is not None
        answer = self._ledger._act(self._going)
        try:
            self._going = self._course.send(answer)
        except StopIteration:
            self._going = None


@pytest.mark.parametrize("kept", ["hot", "summed"])
def test_a_change_ends_no_turning_but_its_own(ledger: Ledger, session: Sessions, kept: Keeping) -> None:
    """Turned, turned back by a refused closing and turned anew: a posting from in between is still waited for."""
    ledger.open_account("platform", CURRENCY, keeping=kept, floor=None)
    ledger.post(**transfer("before", "world", "platform", 100))
    ledger.consolidate()
    change = Steps(ledger, ledger._operations.keep("platform", CURRENCY, "direct"))
    change.take(3 if kept == "hot" else 2)  # turned; nobody under way; the tail folded: what is left is to finish
    with pytest.raises(AccountNotEmpty):
        ledger.close_account("platform", CURRENCY)
    between = session()
    ledger.within(between).post(**transfer("between", "world", "platform", 500))
    closing = Steps(ledger, ledger._operations.close_account("platform", CURRENCY))
    closing.take()
    change.until_it_waits()
    assert ledger.account("platform", CURRENCY).keeping == kept
    between.commit()
    change.finish()
    with pytest.raises(AccountNotEmpty):
        closing.finish()
    assert ledger.account("platform", CURRENCY).keeping == "direct"
    assert posted(ledger, "platform") == 600
    assert_balanced(ledger)


@pytest.mark.parametrize("kept", ["hot", "summed"])
def test_a_callers_float_loader_rounds_no_sum(ledger: Ledger, session: Sessions, kept: Keeping) -> None:
    """On a connection that loads decimals as floats a balance is exact all the same, and judges to the minor unit."""
    fund(ledger, "platform", UNFIT_FOR_FLOATS + 2, kept)
    caller = session()
    caller.adapters.register_loader("numeric", FloatLoader)
    held = ledger.within(caller)
    assert held.balance("platform", CURRENCY).posted == UNFIT_FOR_FLOATS + 2
    asks: list[Callable[[], object]] = [
        lambda: held.post(**transfer("over", "platform", "world", UNFIT_FOR_FLOATS + 3)),
        lambda: held.post_many([transfer("over", "platform", "world", UNFIT_FOR_FLOATS + 3)] * 2),
    ]
    for ask in asks:
        with pytest.raises(InsufficientFunds):
            ask()
        caller.rollback()
    assert posted(ledger, "platform") == UNFIT_FOR_FLOATS + 2
    assert not held.post(**transfer("all", "platform", "world", UNFIT_FOR_FLOATS + 2)).replayed
    caller.commit()


def refused_and_accepted(number: int) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return a batch that the funds don't cover and one that is posted."""
    return (
        [transfer(f"refused {number} {part}", "empty", "world", 5) for part in range(BY_FEW)],
        [transfer(f"posted {number} {part}", "world", "seller", 5) for part in range(BY_FEW)],
    )


def test_threads_take_turns_on_one_callers_connection(ledger: Ledger, session: Sessions) -> None:
    """One thread's refused batch, undone to its savepoint, never takes another thread's posted batch with it."""
    fund(ledger, "empty", 0)
    fund(ledger, "seller", 0)
    caller = session()
    for number in range(ROUNDS):
        refused, accepted = refused_and_accepted(number)
        calls = [partial(ledger.within(caller).post_many, batch) for batch in (refused, accepted)]
        outcomes = together(calls)
        assert isinstance(outcomes[0], lastro.InsufficientFunds)
        assert isinstance(outcomes[1], list), outcomes[1]
        caller.commit()
        assert posted(ledger, "seller") == 5 * BY_FEW * (number + 1)
    assert_balanced(ledger)


async def test_tasks_take_turns_on_one_callers_connection(
    ledger: Ledger, async_ledger: AsyncLedger, server_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same of tasks that are gathered on one connection: none takes a step while another is under way."""
    fund(ledger, "empty", 0)
    fund(ledger, "seller", 0)
    takers: list[asyncio.Task[Any] | None] = []

    async def recorded(cursor: AsyncDictCursor, statements: Statements, step: Step) -> Rows:
        takers.append(asyncio.current_task())
        return await execute_async(cursor, statements, step)

    monkeypatch.setattr(postgres_async, "execute_async", recorded)
    async with await psycopg.AsyncConnection.connect(server_url) as caller:
        await async_ledger.within(caller).balance(
            "seller", CURRENCY
        )  # the schema is looked at once, by a plan of its own
        for number in range(ROUNDS):
            takers.clear()
            calls = [async_ledger.within(caller).post_many(batch) for batch in refused_and_accepted(number)]
            outcomes = await asyncio.gather(*calls, return_exceptions=True)
            assert isinstance(outcomes[0], lastro.InsufficientFunds)
            assert isinstance(outcomes[1], list), outcomes[1]
            assert len([taker for taker, _ in groupby(takers)]) == len(calls)
            await caller.commit()
            assert posted(ledger, "seller") == 5 * BY_FEW * (number + 1)
    assert_balanced(ledger)


def every_call(ledger: HeldLedger) -> list[Callable[[], object]]:
    """Return one call of each way to write and to read."""
    return [
        lambda: ledger.post(**transfer("one", "world", "seller", 1)),
        *(
            partial(ledger.post_many, [transfer(f"{many} {part}", "world", "seller", 1) for part in range(many)])
            for many in (BY_FEW, BY_MANY)
        ),
        lambda: ledger.reverse("fund:seller:0", "undo"),
        lambda: ledger.bump("bumped"),
        lambda: ledger.open_account("new", CURRENCY),
        lambda: ledger.balance("seller", CURRENCY),
        lambda: ledger.entries("seller", CURRENCY),
    ]


# The environment's variable for each of these settings of a session.
VARIABLES = {"datestyle": "PGDATESTYLE", "client_encoding": "PGCLIENTENCODING"}
UNREADABLE = [
    ("datestyle", "German"),
    ("datestyle", "SQL, DMY"),
    ("client_encoding", "LATIN1"),
    ("client_encoding", "SQL_ASCII"),
]
WHAT_TO_SET = "use DateStyle ISO and client_encoding UTF8"


@pytest.mark.parametrize("unreadable", UNREADABLE)
async def test_a_session_that_could_not_read_its_outcome_writes_nothing(
    ledger: Ledger, server_url: str, monkeypatch: pytest.MonkeyPatch, unreadable: tuple[str, str]
) -> None:
    """By a setting of the session or of the environment: refused before anything is written, on every kind of ledger."""
    (setting, value), ledger_name = unreadable, ledger._operations.ledger
    fund(ledger, "seller", 100)
    before = len(ledger.entries("seller", CURRENCY))
    with psycopg.connect(server_url) as caller:
        caller.execute(f"SET {setting} = '{value}'".encode())
        refuse_every(every_call(ledger.within(caller)))
        caller.commit()
    monkeypatch.setenv(VARIABLES[setting], value)
    with lastro.connect(server_url, ledger=ledger_name) as own:
        refuse_every(every_call(own))
    async with await lastro.connect_async(server_url, ledger=ledger_name) as awaited:
        with pytest.raises(InvalidInput, match=WHAT_TO_SET):
            await awaited.post(**transfer("one", "world", "seller", 1))
        async with await psycopg.AsyncConnection.connect(server_url) as connection:
            with pytest.raises(InvalidInput, match=WHAT_TO_SET):
                await awaited.within(connection).post(**transfer("one", "world", "seller", 1))
    assert len(ledger.entries("seller", CURRENCY)) == before
    assert ledger.count("bumped") == 0
    assert_balanced(ledger)


def refuse_every(calls: list[Callable[[], object]]) -> None:
    """Assert that each call is refused as input, naming what to set."""
    for call in calls:
        with pytest.raises(InvalidInput, match=WHAT_TO_SET):
            call()


@pytest.mark.parametrize("style", ["ISO, DMY", "ISO, MDY"])
def test_every_iso_style_is_fine(ledger: Ledger, session: Sessions, style: str) -> None:
    """The order of day and month says nothing about how a moment is shown in ISO; such a session posts."""
    fund(ledger, "seller", 100)
    caller = session()
    caller.execute(f"SET datestyle = '{style}'".encode())
    for call in every_call(ledger.within(caller)):
        call()
    caller.commit()
    assert_balanced(ledger)


def test_opening_an_account_does_not_wait_for_ever(
    ledger: Ledger, server_url: str, ledger_name: str, session: Sessions
) -> None:
    """Behind a transaction that opens the same account or currency and never ends, opening is a LockTimeout."""
    stuck = session()
    ledger.within(stuck).open_account("first", CURRENCY)
    with lastro.connect(server_url, ledger=ledger_name, lock_timeout_ms=100) as impatient:
        for name in ("first", "second"):
            with pytest.raises(LockTimeout):
                impatient.open_account(name, CURRENCY)
        stuck.rollback()
        assert impatient.open_account("second", CURRENCY).name == "second"
