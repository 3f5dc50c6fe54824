"""Holds ended by two at once: exactly one wins, and no cent is lost, doubled or left behind."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import pytest

import lastro
from lastro import Captured, HoldExceeded, InsufficientFunds, Ledger, Placed
from lastro.plans.expiring import _due, _expire
from lastro.plans.plan import Effect
from lastro.testing import assert_balanced
from lastro.testing.clock import Clock
from tests.conftest import Counted
from tests.support.hold_races import DEADLINE, HELD, PAIRS, START, race
from tests.support.money import KEEPINGS, fund, posted
from tests.support.sessions import Background, Observer, Sessions, pid_of, together
from tests.support.stores import on_every_store

SHORT = 60
LONG = 1_000
LATER = DEADLINE.replace(year=2100)


@pytest.fixture
def books(ledger: Ledger) -> Iterator[Ledger]:
    """The ledger on the store under test, in order when the test is over."""
    yield ledger
    assert_balanced(ledger)


@pytest.mark.req("3.4")
@pytest.mark.case("C036")
@pytest.mark.parametrize("pair", PAIRS, ids="-".join)
@on_every_store
def test_exactly_one_ends_a_hold(books: Ledger, store_url: str, pair: tuple[str, str], counted: Counted) -> None:
    """Two rivals with different keys, sixty times: one wins each time."""
    told(counted, pair, race(store_url, books._operations.ledger, pair, SHORT))


@pytest.mark.soak
@pytest.mark.case("C036")
@pytest.mark.parametrize("pair", PAIRS, ids="-".join)
@on_every_store
def test_exactly_one_ends_a_hold_for_long(
    books: Ledger, store_url: str, pair: tuple[str, str], counted: Counted
) -> None:
    """The same a thousand times."""
    told(counted, pair, race(store_url, books._operations.ledger, pair, LONG))


@pytest.mark.case("C036")
@pytest.mark.parametrize("keeping", ["hot", "summed"])
@pytest.mark.parametrize("pair", PAIRS, ids="-".join)
def test_exactly_one_ends_a_hold_of_every_keeping(
    ledger: Ledger, store_url: str, pair: tuple[str, str], keeping: str, counted: Counted
) -> None:
    """The locked way, on accounts that aren't kept direct."""
    told(counted, pair, race(store_url, ledger._operations.ledger, pair, SHORT // 3, keeping=keeping))
    assert_balanced(ledger)


def told(counted: Counted, pair: tuple[str, str], wins: dict[str, int]) -> None:
    """Say who won how often; the sum is the number of rounds."""
    counted(f"{' against '.join(pair)}: {dict(wins)}")


@pytest.mark.req("3.1")
@pytest.mark.case("C009")
@on_every_store
def test_many_place_at_once_what_is_there(books: Ledger) -> None:
    """Of twelve holds of 30 at once on 100 three are placed, in every keeping; the others are refused for funds."""
    for keeping in KEEPINGS:
        fund(books, keeping, 100, keeping)
        answers = together([partial(place, books, f"{keeping}:{number}", keeping, 30) for number in range(12)])
        assert sum(isinstance(answer, Placed) for answer in answers) == 3
        assert {type(answer) for answer in answers} == {Placed, InsufficientFunds}
        assert books.balance(keeping, "BRL").held == 90


@pytest.mark.req("3.2")
@on_every_store
def test_one_key_for_many_at_once(books: Ledger) -> None:
    """The same hold, and the same capture, from many at once is done once; all others replay it."""
    fund(books, "a", 1_000)
    books.open_account("shop", "BRL")
    placed = together([partial(place, books, "h", "a", HELD)] * 8)
    assert sorted(answer.replayed for answer in placed if isinstance(answer, Placed)) == [False] + [True] * 7
    call = partial(books.capture, key="c", hold="h", credit="shop", kind="sale", amount=60, final=False)
    captured = together([call] * 8)
    assert sorted(answer.replayed for answer in captured if isinstance(answer, Captured)) == [False] + [True] * 7
    assert (posted(books, "a"), posted(books, "shop"), books.balance("a", "BRL").held) == (940, 60, 40)


@pytest.mark.case("C041")
@on_every_store
def test_captures_at_once_stay_within_the_hold(books: Ledger) -> None:
    """Of eight captures of 30 at once three fit into 100; then exactly 10 are left."""
    for keeping in KEEPINGS:
        fund(books, keeping, 1_000, keeping)
        place(books, f"h:{keeping}", keeping, HELD)
        answers = together(
            [
                partial(
                    books.capture,
                    key=f"c:{keeping}:{number}",
                    hold=f"h:{keeping}",
                    credit="world",
                    kind="sale",
                    amount=30,
                    final=False,
                )
                for number in range(8)
            ]
        )
        assert sum(isinstance(answer, Captured) for answer in answers) == 3
        assert {type(answer) for answer in answers} == {Captured, HoldExceeded}
        assert books.hold(f"h:{keeping}").left == 10


@pytest.mark.case("C006")
@on_every_store
def test_there_and_back_between_holds(books: Ledger) -> None:
    """Captures from a to b and from b to a at once, groups among them: locks in one order, so nobody deadlocks."""
    for name in "ab":
        fund(books, name, 10_000)
        for number in range(24):
            books.place_hold(
                key=f"{name}{number}",
                account=name,
                currency="BRL",
                amount=10,
                owner="o",
                expires_at=LATER,
                group=f"g{number % 4}",
            )
    calls: list[Callable[[], object]] = [
        partial(books.capture, key=f"c:{name}{number}", hold=f"{name}{number}", credit=other, kind="sale")
        for number in range(12)
        for name, other in ("ab", "ba")
    ]
    calls += [partial(books.release_group, key=f"r:{number}", group=f"g{number}") for number in range(4)]
    answers = together(calls)
    assert {type(answer) for answer in answers} <= {Captured, list, lastro.HoldClosed}
    assert [books.balance(name, "BRL").held for name in "ab"] == [0, 0]
    assert posted(books, "a") + posted(books, "b") == 20_000


def test_a_capture_waits_for_a_release(ledger: Ledger, session: Sessions, observer: Observer) -> None:
    """A capture that waited sees what the release left, in every keeping; when it is rolled back, all of it."""
    for keeping in KEEPINGS:
        fund(ledger, keeping, 1_000, keeping)
        for outcome, left in (("commit", 70), ("rollback", 100)):
            hold = f"{keeping}:{outcome}"
            place(ledger, hold, keeping, HELD)
            one, two = session(), session()
            ledger.within(one).release(key=f"r:{hold}", hold=hold, amount=30)
            going = Background(
                lambda two=two, hold=hold: ledger.within(two).capture(  # type: ignore[misc]
                    key=f"c:{hold}", hold=hold, credit="world", kind="sale"
                )
            )
            observer.until_blocked(pid_of(two), by=pid_of(one))
            getattr(one, outcome)()
            assert going.result().transfer.amount == left
            two.commit()
    assert_balanced(ledger)


def test_the_expirer_waits_for_nobody(ledger: Ledger, server_url: str, session: Sessions) -> None:
    """A hold whose account somebody works on is passed over, one of another account behind it isn't."""
    clock = Clock(START)
    with lastro.connect(server_url, ledger=ledger._operations.ledger, clock=clock) as timed:
        for name in "ab":
            fund(timed, name, 1_000)
            timed.place_hold(key=name, account=name, currency="BRL", amount=HELD, owner="o", expires_at=DEADLINE)
        clock.set(DEADLINE)
        busy = session()
        timed.within(busy).post(key="p", kind="pay", debit="a", credit="world", amount=1, currency="BRL")
        assert timed.expire_holds() == (1, 1, 1, False)
        busy.commit()
        assert timed.expire_holds() == (1, 1, 0, False)
    assert_balanced(ledger)


@pytest.mark.case("C006")
@on_every_store
def test_a_guard_between_the_look_and_the_lock_counts(books: Ledger, store_url: str) -> None:
    """The expirer judges again what it locked: a hold that its owner guarded, captured or released since is left alone."""
    clock = Clock(START)
    with lastro.connect(store_url, ledger=books._operations.ledger, clock=clock) as timed:
        fund(timed, "a", 1_000)
        for key in ("guarded", "captured", "released", "due"):
            timed.place_hold(key=key, account="a", currency="BRL", amount=HELD, owner="o", expires_at=DEADLINE)
        clock.set(DEADLINE)
        seen = timed._engine.run(lambda: _due(None, now=DEADLINE, holds_max=10), Effect.READ)
        timed.guard_hold("guarded", LATER)
        timed.capture(key="c", hold="captured", credit="world", kind="sale")
        timed.release(key="r", hold="released")
        assert timed._engine.run(lambda: _expire(seen, now=DEADLINE), Effect.KEYED) == (1, 0)
        assert [timed.hold(key).state for key in ("guarded", "captured", "released", "due")] == [
            "open",
            "captured",
            "released",
            "expired",
        ]


def place(ledger: Ledger, key: str, account: str, amount: int) -> Placed:
    """Place a hold with a deadline far ahead."""
    return ledger.place_hold(key=key, account=account, currency="BRL", amount=amount, owner="o", expires_at=LATER)
