"""Database errors at every statement of every debit: none becomes a word about funds, none leaves half a posting."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
import pytest

from lastro import LastroError, Ledger, LockTimeout, SerializationLost, ServerUnavailable
from lastro.engine import psycopg_cursor
from lastro.ledger import HeldLedger
from lastro.model.account import Keeping
from lastro.testing import assert_balanced
from tests.support.money import KEEPINGS, fund, posted, transfer
from tests.support.sessions import Sessions

EXPECTED: dict[str, type[LastroError]] = {
    "40001": SerializationLost,
    "40P01": SerializationLost,
    "55P03": LockTimeout,
    "57014": ServerUnavailable,
}
STATEMENTS_MAX = 40

OPERATIONS: dict[str, Callable[[HeldLedger], Any]] = {
    "post": lambda held: held.post(**transfer("k", "shop", "seller", 100)),
    "post_many": lambda held: held.post_many(
        [transfer("k", "shop", "seller", 60), transfer("l", "shop", "seller", 40)]
    ),
    "reverse": lambda held: held.reverse("earned", "k"),
}


@pytest.fixture(params=KEEPINGS)
def keeping(request: pytest.FixtureRequest, ledger: Ledger) -> Keeping:
    """How `shop` is kept; it has exactly the 100 that each operation takes."""
    kept: Keeping = request.param
    fund(ledger, "shop", 0, kept)
    fund(ledger, "seller", 0, kept)
    ledger.post(**transfer("earned", "world", "shop", 100))
    return kept


def learn(ledger: Ledger, session: Sessions, name: str) -> None:
    """Let this process learn the accounts, so that each try after it takes the same statements."""
    caller = session()
    OPERATIONS[name](ledger.within(caller))
    caller.rollback()


@contextmanager
def failing(at: int, state: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Let the statement number *at* fail as the server would; yield the names of the statements that were executed."""
    executed: list[str] = []
    real = psycopg_cursor.execute

    def execute(cursor: Any, statements: Any, step: Any) -> Any:
        executed.append(step.statement)
        if len(executed) == at:
            # The server has really failed the transaction, with this very code.
            cursor.execute(f"DO $$ BEGIN RAISE SQLSTATE '{state}'; END $$".encode(), prepare=False)
        return real(cursor, statements, step)

    with monkeypatch.context() as patched:
        patched.setattr("lastro.engine.postgres.execute", execute)
        yield executed


@pytest.mark.case("C009")
@pytest.mark.parametrize("state", EXPECTED)
@pytest.mark.parametrize("name", OPERATIONS)
def test_in_the_callers_transaction(
    *, ledger: Ledger, session: Sessions, keeping: Keeping, name: str, state: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each error at each statement reaches the caller as its fault, marked as not stored, and nothing is stored."""
    del keeping
    raised: list[LastroError] = []
    clean = 0
    learn(ledger, session, name)
    for at in range(1, STATEMENTS_MAX):
        caller = session()
        with failing(at, state, monkeypatch) as executed:
            try:
                OPERATIONS[name](ledger.within(caller))
            except LastroError as error:
                raised.append(error)
        caller.rollback()
        caller.close()
        if len(executed) < at:
            clean = len(executed)
            break
    assert len(raised) == clean > 0, "each statement of the clean run has failed once"
    assert {type(error) for error in raised} == {EXPECTED[state]}
    assert {error.details["sqlstate"] for error in raised} == {state}
    assert all(isinstance(error.__cause__, psycopg.Error) for error in raised)
    assert posted(ledger, "shop") == 100
    assert_balanced(ledger)


@pytest.mark.case("C009")
@pytest.mark.case("C006")
@pytest.mark.parametrize("state", EXPECTED)
@pytest.mark.parametrize("name", OPERATIONS)
def test_in_a_transaction_of_our_own(
    *, ledger: Ledger, session: Sessions, keeping: Keeping, name: str, state: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A lost race at any statement is tried again and posts once; a lock timeout is the caller's to decide."""
    del keeping
    learn(ledger, session, name)
    for at in range(1, STATEMENTS_MAX):
        with failing(at, state, monkeypatch) as executed:
            if EXPECTED[state] is LockTimeout:
                try:
                    OPERATIONS[name](ledger)
                except LockTimeout:
                    assert posted(ledger, "shop") == 100
                else:
                    assert len(executed) < at
            else:
                OPERATIONS[name](ledger)
        if posted(ledger, "shop") == 0:
            break
    OPERATIONS[name](ledger)
    assert (posted(ledger, "shop"), posted(ledger, "seller")) == ((0, 0) if name == "reverse" else (0, 100))
    assert_balanced(ledger)
