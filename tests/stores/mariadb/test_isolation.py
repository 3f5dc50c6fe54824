"""Inside a caller's REPEATABLE READ, the default here: what decides is what is committed, and nobody waits for a read."""

from __future__ import annotations

from collections import Counter
from threading import Barrier
from typing import Any

import pytest

import lastro
from lastro import Ledger
from lastro.ledger import HeldLedger
from lastro.model.account import Keeping
from tests.stores.mariadb.conftest import Connect, rows_of
from tests.support.money import CURRENCY, KEEPINGS, fund, posted, transfer
from tests.support.sessions import together

SERIALIZABLE = "SET SESSION TRANSACTION ISOLATION LEVEL SERIALIZABLE"
READ_COMMITTED = "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED"


def looked(connection: Any, name: str) -> Any:
    """Begin a transaction whose snapshot is of now."""
    connection.begin()
    rows_of(connection, f"SELECT count(*) FROM {name}.account")
    return connection


@pytest.mark.req("1.8")
@pytest.mark.case("S09")
@pytest.mark.parametrize("keeping", KEEPINGS)
def test_what_was_spent_after_the_snapshot_is_gone(
    ledger: Ledger, name: str, connect: Connect, keeping: Keeping
) -> None:
    """A debit in a transaction that looked before a rival spent everything is refused, whatever its snapshot shows."""
    fund(ledger, "a", 100, keeping)
    caller = looked(connect(), name)
    assert posted(ledger.within(caller), "a") == 100
    ledger.post(**transfer("rival", "a", "world", 100))
    if keeping == "hot":
        ledger.consolidate()
    with pytest.raises(lastro.InsufficientFunds) as refused:
        ledger.within(caller).post(**transfer("late", "a", "world", 1))
    assert refused.value.available == 0
    with pytest.raises(lastro.InsufficientFunds):
        ledger.within(caller).post_many([transfer("late", "a", "world", 1), transfer("x", "world", "a", 0 + 1)])
    caller.commit()
    assert posted(ledger, "a") == 0


@pytest.mark.req("1.8")
@pytest.mark.parametrize("keeping", KEEPINGS)
def test_what_came_after_the_snapshot_can_be_spent(
    ledger: Ledger, name: str, connect: Connect, keeping: Keeping
) -> None:
    """Contention is never answered as insufficient: money that came after the snapshot covers a debit."""
    fund(ledger, "a", 0, keeping)
    caller = looked(connect(), name)
    ledger.post(**transfer("in", "world", "a", 100))
    assert not ledger.within(caller).post(**transfer("out", "a", "world", 100)).replayed
    caller.commit()
    assert posted(ledger, "a") == 0


@pytest.mark.req("1.5")
@pytest.mark.req("1.8")
@pytest.mark.case("S07")
@pytest.mark.parametrize("keeping", KEEPINGS)
def test_a_key_committed_after_the_snapshot_is_met(
    ledger: Ledger, name: str, connect: Connect, keeping: Keeping
) -> None:
    """The same intent is replayed, another is a conflict, alone and in a batch: never posted twice, never insufficient."""
    fund(ledger, "a", 100, keeping)
    caller = looked(connect(), name)
    first = ledger.post(**transfer("k", "a", "world", 100)).transfer
    ledger.post(**transfer("in", "world", "a", 7))
    held = ledger.within(caller)
    for wanted, stored in ((transfer("k", "a", "world", 100), first), (transfer("in", "world", "a", 7), None)):
        again = held.post(**wanted)
        assert again.replayed
        assert stored in (None, again.transfer)
        assert [outcome.replayed for outcome in held.post_many([wanted, wanted, wanted])] == [True] * 3
        with pytest.raises(lastro.TransferConflict) as conflict:
            held.post(**wanted | {"amount": 3})
        assert set(conflict.value.fields) == {"amount"}
        with pytest.raises(lastro.TransferConflict):
            held.post_many([transfer("new", "world", "a", 1), wanted | {"amount": 3}])
    caller.commit()
    assert posted(ledger, "a") == 7


def test_an_account_opened_after_the_snapshot_is_met(ledger: Ledger, name: str, connect: Connect) -> None:
    """Opening it again in an older snapshot is the same account, and on other terms the same conflict."""
    caller = looked(connect(), name)
    opened = ledger.open_account("a", CURRENCY, keeping="hot")
    held = ledger.within(caller)
    assert held.open_account("a", CURRENCY, keeping="hot") == opened
    with pytest.raises(lastro.AccountConflict):
        held.open_account("a", CURRENCY)
    caller.commit()


@pytest.mark.case("S09")
@pytest.mark.parametrize("settings", [(), (READ_COMMITTED,)], ids=["repeatable read", "read committed"])
@pytest.mark.parametrize("work", ["open", "debit", "batch"])
def test_neighbours_never_deadlock(
    ledger: Ledger, name: str, connect: Connect, work: str, settings: tuple[str, ...]
) -> None:
    """20 callers at once, each with accounts and keys of its own: nobody's transaction is broken for another's sake."""
    callers, rounds = 20, 5
    ledger.open_account("the first", CURRENCY)
    if work != "open":
        for caller in range(callers):
            for one in range(rounds):
                ledger.open_account(f"h{caller}:{one}", CURRENCY, keeping="hot")
                ledger.post(**transfer(f"in{caller}:{one}", "world", f"h{caller}:{one}", 10))
    connections = [connect(*settings) for _ in range(callers)]
    barrier = Barrier(callers)

    def run(number: int) -> None:
        for one in range(rounds):
            held = ledger.within(looked(connections[number], name))
            barrier.wait(30)
            do(held, work, f"{number}:{one}")
            connections[number].commit()

    outcomes = together([lambda number=number: run(number) for number in range(callers)])  # type: ignore[misc]
    assert Counter(map(repr, outcomes)) == {"None": callers}


def do(held: HeldLedger, work: str, unit: str) -> None:
    """One caller's own work, which shares nothing with its neighbours' but the tables."""
    match work:
        case "open":
            held.open_account(f"h{unit}", CURRENCY, keeping="hot")
            held.post(**transfer(f"in{unit}", "world", f"h{unit}", 10))
        case "debit":
            held.post(**transfer(f"out{unit}", f"h{unit}", "world", 4))
        case _:
            held.post_many([transfer(f"{unit}.{part}", f"h{unit}", "world", 1) for part in range(9)])


@pytest.mark.req("0.1")
def test_an_open_credit_holds_up_nobody(ledger: Ledger, name: str, connect: Connect) -> None:
    """While credits of a hot account are open in callers' transactions, others credit it and the tail is folded in."""
    fund(ledger, "platform", 50, "hot")
    first, second = looked(connect(), name), looked(connect(), name)
    for number, caller in enumerate((first, second)):
        rows_of(caller, "SET SESSION innodb_lock_wait_timeout = 1")
        ledger.within(caller).post(**transfer(f"open {number}", "world", "platform", 10))
    done = ledger.consolidate()
    assert (done.rows, done.blocked) == (1, 0)
    assert not ledger.post(**transfer("out", "platform", "world", 50)).replayed
    assert posted(ledger, "platform") == 0
    first.commit()
    second.rollback()
    assert posted(ledger, "platform") == 10


@pytest.mark.req("1.6")
@pytest.mark.parametrize("settings", [(), (READ_COMMITTED,), (SERIALIZABLE,)], ids=["rr", "rc", "serializable"])
@pytest.mark.parametrize("keeping", KEEPINGS)
def test_rivals_never_overdraw(
    ledger: Ledger, name: str, connect: Connect, keeping: Keeping, settings: tuple[str, ...]
) -> None:
    """Eight callers with snapshots of before take 60 of 100 at once: one gets it, whatever the others hear."""
    fund(ledger, "a", 100, keeping)
    connections = [looked(connect(*settings), name) for _ in range(8)]

    def spend(number: int) -> str:
        connection = connections[number]
        try:
            ledger.within(connection).post(**transfer(f"out {number}", "a", "world", 60))
            connection.commit()
        except lastro.InsufficientFunds:
            connection.commit()
            return "refused"
        except lastro.SerializationLost:
            connection.rollback()
            return "lost"
        return "spent"

    outcomes = Counter(together([lambda number=number: spend(number) for number in range(8)]))  # type: ignore[misc]
    assert outcomes["spent"] == 1
    assert outcomes["refused"] + outcomes["lost"] == 7
    assert posted(ledger, "a") == 40
