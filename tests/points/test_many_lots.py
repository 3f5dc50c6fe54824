"""Very many lots, and operations on the same members at once: bounded rounds, one order of locks, no point lost."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from typing import Any

import pytest

import lastro
from lastro import InsufficientFunds, Ledger
from lastro.plans.plan import Plan
from lastro.points import lots
from lastro.testing import assert_balanced
from tests.conformance.eyes import Raw
from tests.points.members import CURRENCY, REWARD, Club, fill_lots
from tests.support.sessions import together

MANY = 10_000
PAIRS = 15
Call = Callable[[Ledger], Any]
LATER = datetime(2026, 6, 1, tzinfo=UTC)


@pytest.mark.case("C059")
def test_ten_thousand_lots_are_spent_at_once(club: Club, raw: Raw, monkeypatch: pytest.MonkeyPatch) -> None:
    """One spend takes 10,000 lots, at most 1,000 a statement; its refund puts each of them back."""
    fill_lots(club, raw, ["ana"], MANY, expires_at=LATER)
    sizes: list[int] = []
    noted = lots.note_all

    def listening(uses: list[lots.Numbered]) -> Plan[None]:
        sizes.append(len(uses))
        return noted(uses)

    monkeypatch.setattr(lots, "note_all", listening)
    spend = club.spend("ana", MANY)
    assert sizes == [lots.LOTS_TAKEN_MAX] * (MANY // lots.LOTS_TAKEN_MAX)
    assert (club.posted("ana"), club.lots("ana")) == (1, [(1, None)])
    assert raw.one("SELECT count(*) FROM {s}.lot_use") == MANY
    club.refund(spend)
    assert raw.one("SELECT count(*) FROM {s}.open_lot") == MANY + 1


@pytest.mark.case("C059")
@pytest.mark.case("C006")
def test_two_redeem_all_of_it_in_parallel(club: Club, raw: Raw, store_url: str, ledger_name: str) -> None:
    """Two spends of ten thousand lots at once: one gets them, the other hears that nothing is left."""
    fill_lots(club, raw, ["ana"], MANY)
    outcomes = at_once(store_url, ledger_name, [redeem(f"mug:{number}", MANY + 1) for number in range(2)])
    assert sorted(type(outcome).__name__ for outcome in outcomes) == ["InsufficientFunds", "Posted"]
    (refused,) = (one for one in outcomes if isinstance(one, InsufficientFunds))
    assert refused.available == 0
    assert (club.posted("ana"), club.posted(REWARD)) == (0, MANY + 1)


@pytest.mark.case("C006")
def test_gifts_in_opposite_directions_at_once(club: Club, store_url: str, ledger_name: str) -> None:
    """There and back, each in several lots, from several connections: every gift is posted, and none is a deadlock."""
    for member in ("ana", "ben"):
        for days in (3, 6, None):
            club.earn(member, 100, days=days)
    calls = [
        give(f"gift:{giver}:{number}", giver, receiver, 7)
        for number in range(PAIRS)
        for giver, receiver in (("ana", "ben"), ("ben", "ana"))
    ]
    outcomes = at_once(store_url, ledger_name, calls)
    assert [one for one in outcomes if isinstance(one, BaseException)] == []
    assert club.posted("ana") == club.posted("ben") == 300


@pytest.mark.req("1.12")
def test_many_spenders_spend_what_is_there(club: Club, store_url: str, ledger_name: str) -> None:
    """Twelve spends of 10 out of 95: nine are posted, whoever they are."""
    for _ in range(19):
        club.earn("ana", 5)
    outcomes = at_once(store_url, ledger_name, [redeem(f"mug:{number}", 10) for number in range(12)])
    assert sum(isinstance(one, InsufficientFunds) for one in outcomes) == 3
    assert (club.posted("ana"), club.posted(REWARD)) == (5, 90)


@pytest.mark.case("C036")
def test_refunds_of_one_spend_at_once(club: Club, store_url: str, ledger_name: str) -> None:
    """Six refunds of 3 of a spend of 10 at once: three are posted, and the lots are what the balance says."""
    club.earn("ana", 6, days=4)
    club.earn("ana", 6)
    spend = club.spend("ana", 10)
    outcomes = at_once(store_url, ledger_name, [refund(f"r:{number}", spend.transfer.key, 3) for number in range(6)])
    assert sum(isinstance(one, lastro.AlreadyReversed) for one in outcomes) == 3
    assert (club.posted("ana"), club.lots("ana")) == (11, [(5, 4), (6, None)])


def test_everything_at_once(club: Club, store_url: str, ledger_name: str) -> None:
    """Earnings, spends, gifts, cancellations and expiry of three members at once leave the books and the lots in order."""
    members = ("ana", "ben", "cleo")
    activities = [club.earn(member, 20, days=days) for member in members for days in (1, 2, None)]
    club.pass_days(2)
    calls = [redeem(f"mug:{number}", 3, member=members[number % 3]) for number in range(9)]
    calls += [give(f"gift:{number}", members[number % 3], members[(number + 1) % 3], 4) for number in range(9)]
    calls += [cancel(key) for key in activities[::2]]
    calls += [earn(f"more:{number}", "ana", 2) for number in range(5)]
    calls += [lambda own: own.points.expire() for _ in range(3)]
    outcomes = at_once(store_url, ledger_name, calls, clock=club.clock)
    assert {type(one) for one in outcomes if isinstance(one, BaseException)} <= {InsufficientFunds}
    assert_balanced(club.ledger)


def at_once(url: str, name: str, calls: list[Call], **options: Any) -> list[Any]:
    """Make every call at the same moment, each through a ledger with connections of its own."""

    def run(call: Call) -> Any:
        with lastro.connect(url, ledger=name, **options) as own:
            return call(own)

    return together([partial(run, call) for call in calls])


def redeem(key: str, amount: int, *, member: str = "ana") -> Call:
    """A spend."""
    return lambda own: own.points.spend(key=key, member=member, amount=amount, currency=CURRENCY, reward=REWARD)


def give(key: str, giver: str, receiver: str, amount: int) -> Call:
    """A gift."""
    return lambda own: own.points.give(key=key, giver=giver, receiver=receiver, amount=amount, currency=CURRENCY)


def refund(key: str, spend: str, amount: int) -> Call:
    """A refund."""
    return lambda own: own.points.refund(key=key, spend=spend, amount=amount)


def cancel(key: str) -> Call:
    """A cancellation."""
    return lambda own: own.points.cancel(key)


def earn(key: str, member: str, amount: int) -> Call:
    """An earning of points that never expire."""
    return lambda own: own.points.earn(key, activity="lasting", member=member, units=amount)
