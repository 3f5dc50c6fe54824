"""Waits for locks are bounded, by the caller's own limit where there is one; and the caller's setting is left alone."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import psycopg
import pytest

import lastro
from lastro import LastroError, Ledger, LockTimeout
from lastro.ledger import HeldLedger
from lastro.model.account import Keeping
from lastro.testing import assert_balanced
from tests.support.money import CURRENCY, KEEPINGS, fund, posted, transfer
from tests.support.sessions import Background, Observer, Sessions

Operation = Callable[[HeldLedger], Any]

DEBITS: dict[str, Operation] = {
    "post": lambda held: held.post(**transfer("k", "shop", "world", 10)),
    "post_many": lambda held: held.post_many([transfer("k", "shop", "world", 9), transfer("l", "shop", "world", 1)]),
    "partial": lambda held: held.post_many(
        [transfer("k", "shop", "world", 10), transfer("l", "x", "y", 1)], partial=True
    ),
    "reverse": lambda held: held.reverse("undoable", "k"),
}
REFUSED: dict[str, Operation] = {
    "insufficient": lambda held: held.post(**transfer("r", "shop", "world", 1_000)),
    "insufficient in a batch": lambda held: held.post_many(
        [transfer("r", "world", "shop", 1), transfer("s", "shop", "world", 1_000)]
    ),
    "conflict": lambda held: held.post(**transfer("undoable", "world", "shop", 11)),
    "unknown": lambda held: held.post(**transfer("r", "nobody", "shop", 1)),
    "closed": lambda held: held.post(**transfer("r", "world", "closed", 1)),
    "reversed before": lambda held: held.reverse("undone", "r"),
    "nothing to reverse": lambda held: held.reverse("none", "r"),
    "invalid": lambda held: held.post(**transfer("r", "world", "shop", 0)),
}
OTHERS: dict[str, Operation] = {
    "credit": lambda held: held.post(**transfer("c", "world", "shop", 1)),
    "replay": lambda held: held.post(**transfer("undoable", "world", "shop", 10)),
    "balance": lambda held: held.balance("shop", CURRENCY),
    "entries": lambda held: held.entries("shop", CURRENCY),
    "bump": lambda held: held.bump("orders"),
    "open": lambda held: held.open_account("new", CURRENCY),
}


@pytest.fixture(params=KEEPINGS)
def keeping(request: pytest.FixtureRequest, ledger: Ledger) -> Keeping:
    """How `shop` is kept; it has 110, and a credit of 10 that can be undone."""
    kept: Keeping = request.param
    fund(ledger, "shop", 100, kept)
    fund(ledger, "closed", 0, kept)
    ledger.post(**transfer("undoable", "world", "shop", 10))
    ledger.post(**transfer("undone", "world", "shop", 10))
    ledger.reverse("undone", "undo")
    ledger.close_account("closed", CURRENCY)
    return kept


@pytest.mark.case("C009")
@pytest.mark.req("3.1")
@pytest.mark.parametrize("within", [False, True])
@pytest.mark.parametrize("name", DEBITS)
def test_a_lock_that_is_not_granted(
    *, ledger: Ledger, server_url: str, session: Sessions, keeping: Keeping, name: str, within: bool
) -> None:
    """A debit that waits too long is LockTimeout, never a word about funds; with the same key it succeeds later."""
    del keeping
    holder, caller = session(), session()
    ledger.within(holder).post(**transfer("held", "shop", "world", 1))
    with lastro.connect(server_url, ledger=ledger._operations.ledger, lock_timeout_ms=50) as impatient:
        asked = impatient.within(caller) if within else impatient
        with pytest.raises(LockTimeout) as caught:
            DEBITS[name](asked)
        assert caught.value.committed == "no"
    holder.commit()
    DEBITS[name](ledger)
    assert posted(ledger, "shop") == 99
    assert_balanced(ledger)


@pytest.mark.parametrize("setting", ["0", "1234ms"])
@pytest.mark.parametrize("name", [*DEBITS, *REFUSED, *OTHERS])
def test_the_callers_lock_timeout_is_left_alone(
    *, ledger: Ledger, session: Sessions, keeping: Keeping, name: str, setting: str
) -> None:
    """After every operation, refused or not, the caller's lock_timeout is what it was, and its transaction usable."""
    del keeping
    caller = session()
    caller.execute(f"SET LOCAL lock_timeout = '{setting}'".encode())
    operation = (DEBITS | REFUSED | OTHERS)[name]
    for _ in range(2):  # the second time the process knows the accounts
        if name in REFUSED:
            with pytest.raises(LastroError):
                operation(ledger.within(caller))
        else:
            operation(ledger.within(caller))
        assert caller.execute("SHOW lock_timeout").fetchone() == (setting,)
    assert caller.info.transaction_status is psycopg.pq.TransactionStatus.INTRANS
    caller.commit()
    assert_balanced(ledger)


@pytest.mark.parametrize("name", DEBITS)
def test_the_callers_own_limit_stands(*, ledger: Ledger, session: Sessions, keeping: Keeping, name: str) -> None:
    """A stricter limit that the caller set ends the wait before ours would."""
    del keeping
    holder, caller = session(), session()
    ledger.within(holder).post(**transfer("held", "shop", "world", 1))
    caller.execute("SET LOCAL lock_timeout = '30ms'")
    began = time.monotonic()
    with pytest.raises(LockTimeout):
        DEBITS[name](ledger.within(caller))
    assert time.monotonic() - began < 2.5, "our own limit of 3 s was used"


@pytest.mark.parametrize("name", [*DEBITS, "credit", "bump"])
def test_the_callers_lock_timeout_after_a_wait(
    *, ledger: Ledger, session: Sessions, observer: Observer, keeping: Keeping, name: str
) -> None:
    """A wait that ended well leaves the caller's lock_timeout alone too, though the conditions are judged once more."""
    holder, caller = session(), session()
    for one in (holder, caller):
        one.execute("SELECT 1")
    operation = (DEBITS | OTHERS)[name]
    if name == "bump":
        # Every slice is held, whichever the caller's may be.
        ledger.bump("orders", 0)
        holder.execute(
            f"INSERT INTO {ledger._operations.ledger}.counter SELECT 'orders', slice, 0 FROM generate_series(0, 15) slice"
            " ON CONFLICT (name, slice) DO UPDATE SET value = counter.value".encode()
        )
    elif name == "credit" and keeping != "direct":
        ledger.within(holder).post(**transfer("c", "world", "shop", 1))
    else:
        ledger.within(holder).post(**transfer("held", "shop", "world", 1))
    waiting = Background(lambda: operation(ledger.within(caller)))
    observer.until_blocked(caller.info.backend_pid, by=holder.info.backend_pid)
    holder.commit()
    waiting.result()
    assert caller.execute("SHOW lock_timeout").fetchone() == ("0",)
    caller.commit()
    assert_balanced(ledger)


def test_a_counters_slice_that_is_not_granted(*, ledger: Ledger, server_url: str, session: Sessions) -> None:
    """A bump waits no longer for its slice than any other operation for its lock."""
    holder, caller = session(), session()
    ledger.within(holder).bump("orders")
    with lastro.connect(server_url, ledger=ledger._operations.ledger, lock_timeout_ms=50) as impatient:
        holder.execute(
            f"INSERT INTO {ledger._operations.ledger}.counter SELECT 'orders', slice, 0 FROM generate_series(0, 15) slice"
            " ON CONFLICT (name, slice) DO UPDATE SET value = counter.value".encode()
        )
        with pytest.raises(LockTimeout):
            impatient.within(caller).bump("orders")
    holder.commit()
    assert ledger.count("orders") == 1


def test_a_savepoint_of_the_caller_survives_a_lock_timeout(
    *, ledger: Ledger, server_url: str, session: Sessions, keeping: Keeping
) -> None:
    """A caller that set a savepoint goes back to it after LockTimeout: its own work and its setting are still there."""
    del keeping
    holder, caller = session(), session()
    ledger.within(holder).post(**transfer("held", "shop", "world", 1))
    with lastro.connect(server_url, ledger=ledger._operations.ledger, lock_timeout_ms=50) as impatient:
        impatient.within(caller).bump("orders")
        with pytest.raises(LockTimeout), caller.transaction():
            impatient.within(caller).post(**transfer("k", "shop", "world", 10))
        assert caller.execute("SHOW lock_timeout").fetchone() == ("0",)
        caller.commit()
    assert ledger.count("orders") == 1
