"""Two at once where all that can be said is a plain INSERT and an UPDATE: article 001's row for every other database."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from sqlalchemy import Engine, event, text

import lastro
from lastro import InsufficientFunds, KeyRaceLost, Ledger, LockTimeout, Posted, SerializationLost
from lastro.engine import generic_values
from lastro.testing import assert_balanced
from tests.support.generic import name_of, own_engine
from tests.support.money import fund, posted, transfer
from tests.support.sessions import PATIENCE_S, Background, together

SPENDERS = 6


@contextmanager
def gate(engine: Engine, beginning: str, parties: int = 2) -> Iterator[None]:
    """Let statements that begin so through only together, the first time that each thread sends one."""
    barrier, passed = threading.Barrier(parties), threading.local()

    def wait(_connection: Any, _cursor: Any, statement: str, *_: Any) -> None:
        if statement.startswith(beginning) and not getattr(passed, "already", False):
            passed.already = True
            barrier.wait(PATIENCE_S)

    event.listen(engine, "before_cursor_execute", wait)
    try:
        yield
    finally:
        event.remove(engine, "before_cursor_execute", wait)


@pytest.mark.req("1.4")
@pytest.mark.req("1.5")
def test_the_uniqueness_error_of_a_race_reaches_the_caller(ledger: Ledger) -> None:
    """Both see the key free and insert it: one stores it, the other is told what happened and that a retry finds it."""
    fund(ledger, "earned", 0, "summed")
    wanted = transfer("k", "world", "earned", 10)
    with gate(own_engine(ledger), f"INSERT INTO {name_of(ledger)}_transfer"):
        outcomes = together([lambda: ledger.post(**wanted)] * 2)
    stored = [outcome for outcome in outcomes if isinstance(outcome, Posted)]
    lost = [outcome for outcome in outcomes if not isinstance(outcome, Posted)]
    assert [outcome.replayed for outcome in stored] == [False]
    assert [type(error) for error in lost] == [KeyRaceLost]
    assert isinstance(lost[0], KeyRaceLost)
    assert lost[0].committed == "no"
    assert "make the same call again" in str(lost[0])
    assert lost[0].__cause__ is not None, "the driver's own uniqueness error is there to be looked at"
    assert posted(ledger, "earned") == 10
    again = ledger.post(**wanted)
    assert (again.replayed, again.transfer) == (True, stored[0].transfer)
    with pytest.raises(lastro.TransferConflict):
        ledger.post(**(wanted | {"amount": 11}))


@pytest.mark.req("1.4")
def test_it_reaches_the_callers_transaction(ledger: Ledger, application: Engine) -> None:
    """In transactions of the callers' own: one commits, the other hears of it, rolls back and finds it when it retries."""
    fund(ledger, "earned", 0, "summed")
    wanted = transfer("k", "world", "earned", 10)

    def attempt() -> Posted:
        with application.connect() as connection, connection.begin():
            return ledger.within(connection).post(**wanted)

    with gate(application, f"INSERT INTO {name_of(ledger)}_transfer"):
        outcomes = together([attempt] * 2)
    kinds = sorted(type(outcome).__name__ for outcome in outcomes)
    assert kinds == ["KeyRaceLost", "Posted"]
    assert posted(ledger, "earned") == 10
    assert attempt().replayed


@pytest.mark.req("1.4")
def test_a_lost_race_undoes_only_itself(ledger: Ledger, application: Engine) -> None:
    """The loser's transaction goes on with the caller's own work, for the posting was in a savepoint of its own."""
    name = name_of(ledger)
    fund(ledger, "earned", 0, "summed")
    wanted = transfer("k", "world", "earned", 10)
    done: list[type[BaseException] | None] = []

    def attempt(counter: str) -> None:
        with application.connect() as connection, connection.begin():
            held = ledger.within(connection)
            held.bump(counter)
            try:
                held.post(**wanted)
            except KeyRaceLost as error:
                done.append(type(error))
            held.bump(counter)

    with gate(application, f"INSERT INTO {name}_transfer"):
        outcomes = together([lambda: attempt("one"), lambda: attempt("other")])
    assert outcomes == [None, None]
    assert done == [KeyRaceLost]
    assert [ledger.count(counter) for counter in ("one", "other")] == [2, 2]
    assert posted(ledger, "earned") == 10


@pytest.mark.req("1.6")
@pytest.mark.parametrize("keeping", ["direct", "summed"])
def test_two_payments_come_one_after_the_other(ledger: Ledger, keeping: Any) -> None:
    """Two payments of 80 from 100, sent to the lock row at once: one is written, the other finds 20 and is refused."""
    fund(ledger, "shop", 100, keeping)
    fund(ledger, "paid", 0, "summed")
    ledger.account("shop", "BRL")
    with gate(own_engine(ledger), f"UPDATE {name_of(ledger)}_base"):
        outcomes = together(
            [
                lambda: ledger.post(**transfer("a", "shop", "paid", 80)),
                lambda: ledger.post(**transfer("b", "shop", "paid", 80)),
            ]
        )
    assert sorted(type(outcome).__name__ for outcome in outcomes) == ["InsufficientFunds", "Posted"]
    (refused,) = [outcome for outcome in outcomes if isinstance(outcome, InsufficientFunds)]
    assert refused.available == 20
    assert (posted(ledger, "shop"), posted(ledger, "paid")) == (20, 80)


@pytest.mark.req("1.6")
def test_many_spenders_never_overdraw(ledger: Ledger) -> None:
    """Several at once: what is paid is what was there; whoever lost every try is told to retry, never "insufficient"."""
    fund(ledger, "shop", 30)
    fund(ledger, "paid", 0, "summed")
    outcomes = together(
        [
            lambda key=f"p{number}": ledger.post(**transfer(key, "shop", "paid", 10))  # type: ignore[misc]
            for number in range(SPENDERS)
        ]
    )
    assert {type(outcome) for outcome in outcomes} <= {Posted, InsufficientFunds, SerializationLost}
    paid = 10 * sum(isinstance(outcome, Posted) for outcome in outcomes)
    assert (posted(ledger, "shop"), posted(ledger, "paid")) == (30 - paid, paid)
    for number in range(SPENDERS):
        try:
            ledger.post(**transfer(f"p{number}", "shop", "paid", 10))
        except InsufficientFunds:
            assert posted(ledger, "shop") == 0
    assert posted(ledger, "paid") == 30
    entries = ledger.entries("shop", "BRL")
    assert [entry.transfer_id for entry in entries] == sorted(entry.transfer_id for entry in entries)
    assert [entry.balance_after for entry in entries] == [12, 30, 20, 10, 0]


@pytest.mark.req("1.6")
def test_a_retry_of_a_payment_waits_for_the_first(ledger: Ledger, application: Engine) -> None:
    """The lock comes before the key: the second attempt waits for the first one's lock row and then finds its key."""
    fund(ledger, "shop", 100)
    fund(ledger, "paid", 0, "summed")
    wanted = transfer("k", "shop", "paid", 100)
    sent = threading.Event()

    def tell(_connection: Any, _cursor: Any, statement: str, *_: Any) -> None:
        if statement.startswith(f"UPDATE {name_of(ledger)}_base"):
            sent.set()

    with application.connect() as connection, connection.begin() as transaction:
        first = ledger.within(connection).post(**wanted)
        event.listen(own_engine(ledger), "before_cursor_execute", tell)
        going = Background(lambda: ledger.post(**wanted))
        assert sent.wait(PATIENCE_S)
        transaction.commit()
    second = going.result()
    assert (second.replayed, second.transfer) == (True, first.transfer)
    assert posted(ledger, "shop") == 0


@pytest.mark.req("1.7")
def test_a_lock_row_that_is_gone_stops_the_payment(ledger: Ledger, application: Engine) -> None:
    """Nothing is written, and the error isn't one about funds."""
    fund(ledger, "shop", 100)
    fund(ledger, "paid", 0, "summed")
    base = f"{name_of(ledger)}_base"
    account = f"(SELECT id FROM {name_of(ledger)}_account WHERE name = 'shop')"
    with application.begin() as connection:
        connection.execute(text(f"UPDATE {base} SET account_id = -1 WHERE account_id = {account}"))
    with pytest.raises(lastro.LastroError) as caught:
        ledger.post(**transfer("k", "shop", "paid", 10))
    assert not isinstance(caught.value, InsufficientFunds)
    assert ledger.transfer("k") is None
    with application.begin() as connection:
        connection.execute(text(f"UPDATE {base} SET account_id = {account} WHERE account_id = -1"))
    assert not ledger.post(**transfer("k", "shop", "paid", 10)).replayed


@pytest.mark.req("1.7")
def test_a_lock_row_that_will_not_change_stops_the_payment(ledger: Ledger) -> None:
    """An UPDATE of the lock row that meets no row after the INSERT takes the INSERT back with it."""
    fund(ledger, "shop", 100)
    fund(ledger, "paid", 0, "summed")

    def miss(_connection: Any, _cursor: Any, statement: str, parameters: Any, *_: Any) -> tuple[str, Any]:
        writes = statement.startswith(f"UPDATE {name_of(ledger)}_base") and "last_id" in statement
        return (f"{statement} AND 1 = 0" if writes else statement), parameters

    event.listen(own_engine(ledger), "before_cursor_execute", miss, retval=True)
    with pytest.raises(LockTimeout, match="lock row of an account could not be updated"):
        ledger.post(**transfer("k", "shop", "paid", 10))
    with pytest.raises(LockTimeout, match="lock row of an account could not be updated"):
        ledger.post_many([transfer(f"k{number}", "shop", "paid", 1) for number in range(3)])
    event.remove(own_engine(ledger), "before_cursor_execute", miss)
    assert ledger.transfer("k") is None
    assert posted(ledger, "shop") == 100


@pytest.mark.parametrize("clock", [0, -3_600])
def test_the_history_is_in_order_whatever_the_clock_says(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch, clock: int
) -> None:
    """A clock that stands still or goes back, in a process that starts anew, puts no entry before the ones it follows."""
    fund(ledger, "shop", 100)
    monkeypatch.setattr("lastro.engine.generic_values.time.time_ns", lambda: (1_790_000_000 + clock) * 10**9)
    monkeypatch.setattr("lastro.engine.generic_steps.IDS", generic_values.Ids())
    for number in range(4):
        ledger.post(**transfer(f"p{number}", "shop", "world", 10))
    ledger.post_many([transfer(f"b{number}", "shop", "world", 10) for number in range(4)])
    assert [entry.key for entry in ledger.entries("shop", "BRL")] == [
        "fund:shop:0", "fund:shop:1", "p0", "p1", "p2", "p3", "b0", "b1", "b2", "b3",
    ]  # fmt: skip
    assert_balanced(ledger)
