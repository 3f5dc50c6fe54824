"""An account changes its keeping, or closes, while others post to it: nothing refused, nothing lost."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial
from itertools import count

import pytest

import lastro
from lastro import AccountClosed, AccountNotEmpty, Ledger, LockTimeout
from lastro.model.account import Keeping
from lastro.plans import keeping
from lastro.plans.plan import Plan, Rows
from lastro.testing import assert_balanced
from tests.support.money import CURRENCY, KEEPINGS, fund, posted, transfer
from tests.support.posting_process import PostingProcess
from tests.support.sessions import PATIENCE_S, Background, Observer, Sessions, pid_of
from tests.support.stores import in_every_callers_transaction, on_every_server, on_every_store, rows_of, transaction

# Every change from every keeping to every other one.
ROUND: tuple[Keeping, ...] = ("hot", "summed", "direct", "summed", "hot", "direct")
SHORT_ROUNDS, LONG_ROUNDS = 2, 40


class Load:
    """Threads that credit 3 and debit 1, one by one, in batches and in transactions of their own, until stopped."""

    def __init__(self, ledger: Ledger, sessions: Sessions, account: str) -> None:
        self._ledger, self._account, self._stop = ledger, account, threading.Event()
        caller = sessions()

        def one_by_one(name: str, number: int) -> int:
            ledger.post(**transfer(f"{name}:in:{number}", "world", account, 3))
            ledger.post(**transfer(f"{name}:out:{number}", account, "seller", 1))
            return 2

        def batched(name: str, number: int) -> int:
            ledger.post_many(
                [
                    transfer(f"{name}:out:{number}", account, "seller", 1),
                    transfer(f"{name}:in:{number}", "world", account, 3),
                ]
            )
            return 2

        def within(name: str, number: int) -> int:
            with transaction(caller):
                held = ledger.within(caller)
                held.post(**transfer(f"{name}:in:{number}", "world", account, 3))
                held.post(**transfer(f"{name}:out:{number}", account, "world", 1))
            return 2

        def folded(_: str, __: int) -> int:
            ledger.consolidate()
            return 0

        kinds = {"one by one": one_by_one, "batched": batched, "within": within, "folded": folded}
        self._running = [Background(partial(self._repeat, name, kind)) for name, kind in kinds.items()]

    def _repeat(self, name: str, kind: Callable[[str, int], int]) -> int:
        done = 0
        for number in count():
            if self._stop.is_set():
                return done
            done += kind(name, number)
        return done

    def acked(self) -> int:
        """Stop, and return what was added; raise the first thing that a thread was refused."""
        self._stop.set()
        return sum(going.result() for going in self._running)


def change_under_load(ledger: Ledger, url: str, sessions: Sessions, *, rounds: int) -> int:
    """Change a busy account's keeping through all changes, so many times; return how much was posted to it."""
    fund(ledger, "platform", 1_000)
    fund(ledger, "seller", 0)
    process = PostingProcess(url, ledger._operations.ledger, "platform")
    load = Load(ledger, sessions, "platform")
    try:
        for _ in range(rounds):
            for keeping in ROUND:
                assert ledger.keep("platform", CURRENCY, keeping).keeping == keeping
    finally:
        acked = load.acked() + process.acked()
    assert posted(ledger, "platform") == 1_000 + acked
    assert_balanced(ledger)
    return acked


@on_every_store
def test_all_changes_under_load(ledger: Ledger, store_url: str, session: Sessions) -> None:
    """Threads and a process post on while the keeping changes: no refusal, no fault, not a cent lost."""
    acked = change_under_load(ledger, store_url, session, rounds=SHORT_ROUNDS)
    assert acked > 0


@on_every_store
@pytest.mark.soak
def test_all_changes_under_load_for_long(ledger: Ledger, store_url: str, session: Sessions) -> None:
    """The same, for hundreds of changes."""
    acked = change_under_load(ledger, store_url, session, rounds=LONG_ROUNDS)
    print(f"{LONG_ROUNDS * len(ROUND)} changes of keeping, {acked} posted meanwhile, 0 refused, 0 lost")  # noqa: T201


def state(url: str, ledger: Ledger, name: str) -> str:
    """Return the state of an account."""
    query = f"SELECT base.state FROM {{s}}base AS base JOIN {{s}}account ON id = account_id WHERE name = '{name}'"
    ((found,),) = rows_of(url, query, ledger._operations.ledger)
    return str(found)


@pytest.mark.parametrize(("kept", "to"), [("hot", "direct"), ("hot", "summed"), ("summed", "direct")])
def test_a_change_waits_for_who_is_prepared_meanwhile(
    *,
    ledger: Ledger,
    session: Sessions,
    observer: Observer,
    monkeypatch: pytest.MonkeyPatch,
    kept: Keeping,
    to: Keeping,
) -> None:
    """A transaction goes by another name once it is prepared for a commit in two phases; it is waited for all the same."""
    fund(ledger, "platform", 100, kept)
    before, name = session(), f"{ledger._operations.ledger} two phases"
    ledger.within(before).post(**transfer("before", "world", "platform", 7))
    looks, under_way = count(), keeping._under_way
    seen = [0]

    def looked() -> Plan[Rows]:
        seen[0] = next(looks)
        return under_way()

    monkeypatch.setattr(keeping, "_under_way", looked)
    going = Background(lambda: ledger.keep("platform", CURRENCY, to))
    observer.until(lambda: seen[0] >= 1, "the first looks")
    before.execute(f"PREPARE TRANSACTION '{name}'")
    prepared = seen[0]
    observer.until(lambda: going.done or seen[0] >= prepared + 3, "some more looks")
    assert not going.done
    ledger.post(**transfer("meanwhile", "world", "platform", 5))
    before.rollback()
    before.autocommit = True
    before.execute(f"COMMIT PREPARED '{name}'")
    assert going.result().keeping == to
    assert posted(ledger, "platform") == 112
    assert_balanced(ledger)


@on_every_server
@pytest.mark.parametrize(
    ("kept", "to"), [("hot", "direct"), ("hot", "summed"), ("summed", "direct"), ("summed", "hot")]
)
def test_a_change_waits_for_what_was_posted_without_a_lock(
    *, ledger: Ledger, store_url: str, session: Sessions, observer: Observer, kept: Keeping, to: Keeping
) -> None:
    """An open transaction that credited the account before is waited for, and its money is there afterwards."""
    fund(ledger, "platform", 100, kept)
    before = session()
    ledger.within(before).post(**transfer("before", "world", "platform", 7))
    going = Background(lambda: ledger.keep("platform", CURRENCY, to))
    observer.until(lambda: state(store_url, ledger, "platform") == "turning", "the account to be turned")
    ledger.post(**transfer("meanwhile", "world", "platform", 5))
    ledger.post(**transfer("all", "platform", "world", 105))
    assert posted(ledger, "platform") == 0
    assert not going.done
    before.commit()
    assert going.result().keeping == to
    assert posted(ledger, "platform") == 7
    assert_balanced(ledger)


@pytest.mark.parametrize("kept", ["hot", "summed"])
def test_a_transaction_that_never_ends_ends_the_change(
    ledger: Ledger, session: Sessions, kept: Keeping, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The change gives up as LockTimeout naming the session; postings go on, and a second call succeeds later."""
    monkeypatch.setattr("lastro.plans.keeping.KEEPING_WAIT_MS", 100)
    fund(ledger, "platform", 100, kept)
    before = session()
    ledger.within(before).post(**transfer("before", "world", "platform", 7))
    with pytest.raises(LockTimeout) as caught:
        ledger.keep("platform", CURRENCY, "direct")
    assert caught.value.pid == pid_of(before)
    assert not ledger.post(**transfer("after", "platform", "world", 100)).replayed
    ledger.within(before).post(**transfer("before too", "world", "platform", 1))
    before.commit()
    assert ledger.keep("platform", CURRENCY, "direct").keeping == "direct"
    assert posted(ledger, "platform") == 8
    assert_balanced(ledger)


@in_every_callers_transaction
@pytest.mark.parametrize("operation", ["keep", "close_account"])
@pytest.mark.parametrize("kept", KEEPINGS)
def test_a_change_does_not_wait_for_ever_for_a_debit(
    ledger: Ledger, store_url: str, session: Sessions, kept: Keeping, operation: str
) -> None:
    """A debit that holds the account's row in a transaction that never ends makes a change of terms a LockTimeout."""
    fund(ledger, "platform", 100, kept)
    stuck = session()
    ledger.within(stuck).post(**transfer("stuck", "platform", "world", 1))
    to: Keeping = "hot" if kept == "direct" else "direct"
    change = partial(Ledger.keep, keeping=to) if operation == "keep" else Ledger.close_account
    with (
        lastro.connect(store_url, ledger=ledger._operations.ledger, lock_timeout_ms=100) as impatient,
        pytest.raises(LockTimeout),
    ):
        change(impatient, "platform", CURRENCY)
    stuck.commit()
    assert ledger.keep("platform", CURRENCY, to).keeping == to
    assert posted(ledger, "platform") == 99


@on_every_server
@pytest.mark.parametrize("ends", ["commit", "rollback"])
@pytest.mark.parametrize("kept", KEEPINGS)
def test_an_account_never_closes_on_a_credit_under_way(
    *, ledger: Ledger, store_url: str, session: Sessions, observer: Observer, kept: Keeping, ends: str
) -> None:
    """Closing waits for credits that are under way; with money on it the account stays open and is kept as before."""
    fund(ledger, "platform", 0, kept)
    credit = session()
    ledger.within(credit).post(**transfer("credit", "world", "platform", 7))
    going = Background(lambda: ledger.close_account("platform", CURRENCY))
    if kept == "direct":
        observer.until_anyone_waits_for(pid_of(credit))
    else:
        observer.until(lambda: state(store_url, ledger, "platform") == "turning", "the account to be turned")
    getattr(credit, ends)()
    if ends == "commit":
        with pytest.raises(AccountNotEmpty) as caught:
            going.result()
        assert caught.value.posted == 7
        assert state(store_url, ledger, "platform") == "open"
        assert ledger.account("platform", CURRENCY).keeping == kept
        ledger.post(**transfer("more", "world", "platform", 1))
        assert posted(ledger, "platform") == 8
    else:
        assert going.result().closed_at is not None
        with pytest.raises(AccountClosed):
            ledger.post(**transfer("late", "world", "platform", 1))
        assert posted(ledger, "platform") == 0
    assert_balanced(ledger)


@on_every_store
@pytest.mark.parametrize("kept", KEEPINGS)
def test_closing_against_credits(ledger: Ledger, store_url: str, kept: Keeping) -> None:
    """Whoever wins, creditors or the closer: a closed account has no money on it."""
    for attempt in range(8):
        name = f"platform:{attempt}"
        fund(ledger, name, 0, kept)
        barrier = threading.Barrier(3)

        def credit(part: int, name: str = name, barrier: threading.Barrier = barrier) -> str:
            barrier.wait(PATIENCE_S)
            try:
                ledger.post(**transfer(f"{name}:{part}", "world", name, 5))
            except AccountClosed:
                return "refused"
            return "credited"

        def close(name: str = name, barrier: threading.Barrier = barrier) -> str:
            barrier.wait(PATIENCE_S)
            try:
                ledger.close_account(name, CURRENCY)
            except AccountNotEmpty:
                return "open"
            return "closed"

        crediting = [Background(partial(credit, part)) for part in range(2)]
        closing = Background(close)
        credited = [going.result() for going in crediting]
        closed = closing.result()
        assert posted(ledger, name) == 5 * credited.count("credited")
        assert state(store_url, ledger, name) == ("closed" if closed == "closed" else "open")
        assert closed == "open" or credited == ["refused", "refused"]
    assert_balanced(ledger)
