"""No order of accounts, keys or operations deadlocks: each of them takes its locks in the one order there is."""

from __future__ import annotations

import random
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

import pytest
from psycopg import sql

from lastro import AlreadyReversed, Ledger
from lastro.ledger import HeldLedger
from lastro.testing import assert_balanced
from tests.support.money import KEEPINGS, fund, posted, transfer
from tests.support.sessions import Background, Observer, Sessions, pid_of, together
from tests.support.stores import do, in_every_callers_transaction, transaction

ROUNDS = 80
BATCH_ROUNDS = 25
BATCH = 40
OPERATIONS = 50
WRITERS = 4


@in_every_callers_transaction
@pytest.mark.case("C011")
@pytest.mark.parametrize("keeping", KEEPINGS)
def test_there_and_back_in_parallel(ledger: Ledger, session: Sessions, store: str, keeping: Any) -> None:
    """A → B and B → A, over and over at the same time: not one deadlock, nothing lost."""
    for name in ("ada", "ben"):
        fund(ledger, name, 1_000, keeping)

    def posts(caller: Any, debit: str, credit: str) -> None:
        for number in range(ROUNDS):
            wanted = transfer(f"{debit}:{number}", debit, credit, 1 + number % 3)
            do("" if keeping == "direct" else store, caller, partial(ledger.within(caller).post, **wanted))

    there, back = session(), session()
    assert together([lambda: posts(there, "ada", "ben"), lambda: posts(back, "ben", "ada")]) == [None, None]
    assert posted(ledger, "ada") == posted(ledger, "ben") == 1_000
    assert_balanced(ledger)


@in_every_callers_transaction
@pytest.mark.case("C005")
def test_batches_in_opposite_orders(ledger: Ledger, session: Sessions, store: str) -> None:
    """Batches that name the same accounts, and the same keys, in opposite orders never wait for each other in a circle."""
    names = [f"account:{number}" for number in range(6)]
    for number, name in enumerate(names):
        fund(ledger, name, 10_000, KEEPINGS[number % len(KEEPINGS)])
    replayed: list[int] = []

    def posts(caller: Any, turn: Callable[[list[Any]], list[Any]]) -> None:
        for number in range(BATCH_ROUNDS):
            pairs = list(zip(names, names[1:] + names[:1], strict=True))
            batch = [transfer(f"{number}:{debit}", debit, credit, 2) for debit, credit in pairs]
            outcomes = do(store, caller, partial(ledger.within(caller).post_many, turn(batch)))
            replayed.append(sum(outcome.replayed for outcome in outcomes))

    forward, backward = session(), session()
    answers = together([lambda: posts(forward, list), lambda: posts(backward, lambda batch: batch[::-1])])
    assert answers == [None, None]
    assert sum(replayed) == BATCH_ROUNDS * len(names), "each key was created once and replayed once"
    assert {posted(ledger, name) for name in names} == {10_000}
    assert_balanced(ledger)


@in_every_callers_transaction
@pytest.mark.case("C005")
def test_batches_with_keys_in_opposite_orders(ledger: Ledger, session: Sessions) -> None:
    """Batches that lock no account and name the same keys in opposite orders take them in one order all the same."""
    fund(ledger, "platform", 0, "hot")

    def posts(caller: Any, turn: int) -> None:
        for number in range(BATCH_ROUNDS):
            batch = [transfer(f"{number}:{part}", "world", "platform", 1) for part in range(BATCH)]
            with transaction(caller):
                ledger.within(caller).post_many(batch[::turn])

    forward, backward = session(), session()
    assert together([partial(posts, forward, 1), partial(posts, backward, -1)]) == [None, None]
    assert posted(ledger, "platform") == BATCH_ROUNDS * BATCH
    assert_balanced(ledger)


@in_every_callers_transaction
@pytest.mark.case("C005")
@pytest.mark.case("C006")
def test_random_operations_in_parallel(ledger: Ledger, session: Sessions, store: str) -> None:
    """Any mix of postings, batches and reversals over random accounts, with a consolidator going: no deadlock."""
    names = [f"account:{number}" for number in range(6)]
    for number, name in enumerate(names):
        fund(ledger, name, 100_000, KEEPINGS[number % len(KEEPINGS)])

    def write(caller: Any, writer: int) -> None:
        choice = random.Random(writer)
        for number in range(OPERATIONS):
            held = ledger.within(caller)
            wanted = []
            for part in range(choice.randint(1, 5)):
                debit, credit = choice.sample(names, 2)
                wanted.append(transfer(f"{writer}:{number}:{part}", debit, credit, choice.randint(1, 9)))
            choice.shuffle(wanted)
            post = partial(held.post, **wanted[0]) if len(wanted) == 1 else partial(held.post_many, wanted)
            do(store, caller, post)
            undone = f"{choice.randrange(WRITERS)}:{choice.randint(0, number)}:0"
            do(store, caller, partial(undo, held, undone, f"undo:{writer}:{number}"))

    def undo(held: HeldLedger, key: str, new_key: str) -> None:
        with suppress(AlreadyReversed):
            if held.transfer(key):
                held.reverse(key, new_key)

    def consolidate() -> None:
        for _ in range(OPERATIONS):
            ledger.consolidate()

    callers = [session() for _ in range(WRITERS)]
    writing = [partial(write, caller, writer) for writer, caller in enumerate(callers)]
    running: list[Callable[[], None]] = [*writing, consolidate]
    assert together(running) == [None] * (WRITERS + 1)
    assert_balanced(ledger)


@pytest.mark.case("S10")
@pytest.mark.case("C004")
@pytest.mark.parametrize("keeping", KEEPINGS)
@pytest.mark.parametrize("referenced", ["account(id)", "base(account_id)"])
def test_foreign_keys_of_the_application(
    *, ledger: Ledger, ledger_name: str, session: Sessions, observer: Observer, keeping: Any, referenced: str
) -> None:
    """An application whose tables reference ours inserts there before or after it posts, and never deadlocks."""
    fund(ledger, "shop", 100, keeping)
    with session() as setup:
        setup.execute(f"CREATE TABLE {ledger_name}.note (holder bigint REFERENCES {ledger_name}.{referenced})".encode())
    note = sql.SQL("INSERT INTO {0}.note SELECT id FROM {0}.account WHERE name = 'shop'").format(
        sql.Identifier(ledger_name)
    )
    one, two = session(), session()
    one.execute(note)
    two.execute(note)
    ledger.within(one).post(**transfer("one", "shop", "world", 60))
    going = Background(lambda: ledger.within(two).post(**transfer("two", "shop", "world", 40)))
    observer.until_blocked(pid_of(two), by=pid_of(one))
    one.execute(note)
    one.commit()
    assert not going.result().replayed
    two.execute(note)
    two.commit()
    assert posted(ledger, "shop") == 0
