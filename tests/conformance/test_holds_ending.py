"""Holds at their end: deadlines, guards, owners' lists, and groups that end as one."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

import lastro
from lastro import Ledger
from lastro.testing.clock import Clock
from tests.conformance.test_holds import capture, figures, fund, wanted

# Holds take more than plain SQL.
pytestmark = [pytest.mark.usefixtures("balanced"), pytest.mark.stores("postgres", "mariadb", "sqlite")]

START = datetime(2026, 11, 30, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)


@pytest.fixture
def clock() -> Clock:
    """The moment that the ledger under test is told."""
    return Clock(START)


@pytest.fixture(params=["direct", "hot", "summed"])
def book(request: pytest.FixtureRequest, reopen: Callable[..., Ledger], clock: Clock) -> Ledger:
    """A ledger on that clock; `a` has 1,000, in each keeping."""
    book = reopen(clock=clock)
    fund(book, request.param)
    return book


def due(**changed: Any) -> dict[str, Any]:
    """A hold that is due in an hour, changed."""
    return wanted(**{"expires_at": START + HOUR} | changed)


@pytest.mark.req("3.8")
@pytest.mark.case("C025")
@pytest.mark.case("C045")
def test_a_hold_expires_and_says_when(book: Ledger, clock: Clock) -> None:
    """What is left is given back; a late capture is told when it expired and what to do, a late release gives nothing."""
    book.place_hold(**due())
    book.capture(**capture(key="part", amount=30, final=False))
    assert book.expire_holds().holds == 0
    expired_at = clock.advance(HOUR)
    assert book.expire_holds()[:3] == (1, 1, 0)
    hold = book.hold("h")
    assert (hold.captured, hold.expired, hold.left, hold.state, hold.expired_at) == (30, 70, 0, "expired", expired_at)
    assert figures(book) == (970, 0, 970)
    with pytest.raises(lastro.HoldClosed, match=r"place a new one under a new key .*'h:2'") as caught:
        book.capture(**capture())
    assert (caught.value.state, caught.value.expired_at, caught.value.captured_by) == ("expired", expired_at, "part")
    assert book.release(key="r", hold="h") == lastro.Released(0, hold, replayed=False)
    # A retry of the placing is told that it expired; the second attempt has a key of its own.
    assert book.place_hold(**due()) == lastro.Placed(hold, replayed=True)
    book.place_hold(**wanted(key="h:2"))
    assert book.capture(**capture(hold="h:2")).transfer.amount == 100
    assert [(event.kind, event.amount, event.left) for event in book.hold_events("h")] == [
        ("captured", 30, 70),
        ("expired", 70, 0),
    ]
    assert book.expire_holds().holds == 0


def test_a_hold_past_its_deadline_is_open_until_it_has_expired(book: Ledger, clock: Clock) -> None:
    """The deadline lets the expirer come; until it came the money is there, and is captured."""
    book.place_hold(**due())
    clock.advance(2 * HOUR)
    assert book.hold("h").state == "open"
    assert book.capture(**capture()).hold.state == "captured"
    assert book.expire_holds().holds == 0


@pytest.mark.case("C006")
def test_a_guarded_hold_does_not_expire(book: Ledger, clock: Clock) -> None:
    """While its settlement is queued its owner guards it; the guard ends by itself, or when it is taken away."""
    book.place_hold(**due())
    book.place_hold(**due(key="h2"))
    assert book.guard_hold("h", START + 5 * HOUR).guarded_until == START + 5 * HOUR
    book.guard_hold("h2", START + 5 * HOUR)
    clock.advance(2 * HOUR)
    assert book.expire_holds().holds == 0
    assert book.guard_hold("h2", None).guarded_until is None
    assert book.expire_holds().holds == 1
    assert (book.hold("h").state, book.hold("h2").state) == ("open", "expired")
    assert book.capture(**capture(amount=40, final=False)).hold.guarded_until == START + 5 * HOUR
    clock.advance(3 * HOUR)
    assert book.expire_holds().holds == 1
    with pytest.raises(lastro.HoldClosed):
        book.guard_hold("h", START + 9 * HOUR)
    assert figures(book) == (960, 0, 960)


def test_a_guard_never_shortens_the_deadline(book: Ledger, clock: Clock) -> None:
    """A guard that ends before the deadline changes nothing."""
    book.place_hold(**due())
    book.guard_hold("h", START + HOUR / 2)
    clock.advance(HOUR / 2)
    assert book.expire_holds().holds == 0
    clock.advance(HOUR / 2)
    assert book.expire_holds().holds == 1


@pytest.mark.req("3.8")
def test_an_overdue_hold_stands_in_its_owners_list(book: Ledger, clock: Clock) -> None:
    """It never expires by itself: its owner finds it, the longest overdue first, page by page, and ends it."""
    for number in range(3):
        book.place_hold(**wanted(key=f"h{number}", overdue="list", expires_at=START + HOUR * (3 - number)))
    book.place_hold(**due(key="other", overdue="list", owner="other"))
    book.place_hold(**due(key="plain"))
    assert book.overdue_holds() == []
    clock.advance(2 * HOUR)
    assert book.expire_holds().holds == 1
    assert [hold.key for hold in book.overdue_holds(owner="shop")] == ["h2", "h1"]
    assert {hold.key for hold in book.overdue_holds()} == {"h2", "other", "h1"}
    assert [hold.key for hold in book.overdue_holds(owner="shop", limit=1)] == ["h2"]
    assert [hold.key for hold in book.overdue_holds(owner="shop", after="h2", limit=1)] == ["h1"]
    book.guard_hold("h2", START + 9 * HOUR)
    assert [hold.key for hold in book.overdue_holds(owner="shop")] == ["h1"]
    book.release(key="void", hold="h1")
    assert book.overdue_holds(owner="shop") == []
    assert book.hold("h2").state == "open"


@pytest.mark.parametrize("limit", [0, 1_001, True, "5", None])
def test_pages_are_bounded(book: Ledger, limit: Any) -> None:
    """A page has 1 … 1,000 holds."""
    with pytest.raises(lastro.InvalidInput, match="limit must be"):
        book.overdue_holds(limit=limit)
    with pytest.raises(lastro.InvalidInput, match="limit must be"):
        book.holds("a", "BRL", limit=limit)


def test_expiry_goes_in_bounded_batches(book: Ledger, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    """Page by page, told of each as it is committed, and ended when told so; several holds of one account in a page."""
    monkeypatch.setattr("lastro.plans.expiring.expire_holds.__kwdefaults__", {"holds_max": 3, "after_batch": None})
    for number in range(7):
        book.place_hold(**due(key=f"h{number}", amount=10))
    clock.advance(HOUR)
    told: list[int] = []

    def after_batch(holds: int) -> bool:
        told.append(holds)
        return False

    assert book.expire_holds(after_batch=after_batch) == (3, 1, 0, True)
    assert figures(book) == (1_000, 40, 960)
    assert book.expire_holds() == (4, 2, 0, False)
    assert (told, figures(book)) == ([3], (1_000, 0, 1_000))


@pytest.mark.req("3.4")
def test_a_group_is_captured_as_one(book: Ledger) -> None:
    """Every open hold of it, whoever's it is, in one transaction; once, and told again the same."""
    book.open_account("b", "BRL", keeping="hot")
    book.post(key="fund:b", kind="fund", debit="world", credit="b", amount=500, currency="BRL")
    for number, account in enumerate("abab"):
        book.place_hold(**wanted(key=f"h{number}", account=account, amount=10 + number, group="g"))
    book.release(key="gone", hold="h1")
    asked = {"key": "c", "group": "g", "credit": "till", "kind": "sale", "cause": "order:1"}
    captured = book.capture_group(**asked)
    assert [(one.transfer.key, one.transfer.debit, one.transfer.amount) for one in captured] == [
        ("c", "a", 10),
        ("c:2", "a", 12),
        ("c:3", "b", 13),
    ]
    assert {one.hold.state for one in captured} == {"captured"}
    assert (figures(book), figures(book, "b"), figures(book, "till")) == (
        (978, 0, 978), (487, 0, 487), (35, 0, 35),
    )  # fmt: skip
    assert book.capture_group(**asked) == [one._replace(replayed=True) for one in captured]
    with pytest.raises(lastro.TransferConflict):
        book.capture_group(**asked | {"kind": "other"})
    book.place_hold(**wanted(key="x", group="other"))
    with pytest.raises(lastro.TransferConflict):
        book.capture_group(**asked | {"group": "other"})
    with pytest.raises(lastro.HoldClosed):
        book.capture_group(**asked | {"key": "again"})


def test_a_group_is_captured_as_one_or_not_at_all(book: Ledger) -> None:
    """Where one can't be captured, none is."""
    book.open_account("usd", "USD")
    book.post(key="fund:usd", kind="fund", debit="world", credit="usd", amount=500, currency="USD")
    book.place_hold(**wanted(group="g"))
    book.place_hold(**wanted(key="h2", account="usd", currency="USD", group="g"))
    with pytest.raises(lastro.CurrencyMismatch):
        book.capture_group(key="c", group="g", credit="till", kind="sale")
    assert (book.transfer("c"), book.hold("h").state, figures(book)) == (None, "open", (1_000, 100, 900))
    book.open_account("till", "USD")
    assert len(book.capture_group(key="c", group="g", credit="till", kind="sale")) == 2


@pytest.mark.req("3.8")
def test_a_group_is_released_as_one(book: Ledger) -> None:
    """Every open hold of it; once, and told again the same; when nothing is left nothing is given."""
    book.open_account("b", "BRL")
    book.post(key="fund:b", kind="fund", debit="world", credit="b", amount=500, currency="BRL")
    for number, account in enumerate("aba"):
        book.place_hold(**wanted(key=f"h{number}", account=account, amount=10 + number, group="g"))
    book.capture(**capture(hold="h0", amount=4, final=False))
    released = book.release_group(key="r", group="g", cause="void")
    assert [(one.amount, one.hold.key, one.hold.left) for one in released] == [
        (6, "h0", 0),
        (11, "h1", 0),
        (12, "h2", 0),
    ]
    assert [book.hold(f"h{number}").state for number in range(3)] == ["captured", "released", "released"]
    assert (figures(book), figures(book, "b")) == ((996, 0, 996), (500, 0, 500))
    assert book.release_group(key="r", group="g", cause="void") == [one._replace(replayed=True) for one in released]
    assert book.release_group(key="r2", group="g") == []
    with pytest.raises(lastro.HoldConflict):
        book.release_group(key="r", group="g")
    book.place_hold(**wanted(key="x", group="other"))
    with pytest.raises(lastro.HoldConflict):
        book.release_group(key="r", group="other")


def test_a_group_has_a_limit(book: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    """A group of more holds than one transaction ends is refused with what to do; so is a key without room for them."""
    monkeypatch.setattr("lastro.plans.grouping.GROUP_HOLDS_MAX", 2)
    for number in range(3):
        book.place_hold(**wanted(key=f"h{number}", amount=1, group="g"))
    with pytest.raises(lastro.InvalidInput, match="one by one"):
        book.release_group(key="r", group="g")
    with pytest.raises(lastro.InvalidInput, match="key may have 396"):
        book.release_group(key="r" * 397, group="g")
