"""Cancelling: what an activity earned goes back, below zero as well, and its room under the cap is free again."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import pytest

from lastro import InsufficientFunds, Ledger, UnknownActivity
from lastro.ledger.points_blocking import Points
from tests.points.members import CURRENCY, Club

NOON = datetime(2026, 1, 7, 12, tzinfo=UTC)
WAIT_S = 30


@pytest.mark.req("1.12")
def test_a_cancelled_activity_is_taken_back_by_name(ledger: Ledger, points: Points) -> None:
    """Each movement gets a reverse one that names it; the activity says when it was cancelled, and has earned nothing."""
    points.define_rule("game", activity="game", points=10, currency="PTS")
    points.define_rule("gems", activity="game", points=1, currency="GEM")
    points.earn("g1", activity="game", member="ana", occurred_at=NOON)
    done = points.cancel("g1", actor="referee")
    assert not done.replayed
    assert {(taken.rule, taken.amount, taken.currency) for taken in done.taken} == {
        ("game", 10, "PTS"), ("gems", 1, "GEM"),
    }  # fmt: skip
    assert done.activity.earnings == ()
    assert points.activity("g1") == done.activity
    back = ledger.entries("ana", "PTS")[-1]
    assert (back.kind, back.signed, back.reverses, back.cause) == ("earn-cancel", -10, "points:g1:game", "g1")
    assert back.actor == "referee"
    assert back.counter_account == "points:issued"


@pytest.mark.req("1.12")
def test_cancelling_again_changes_nothing(ledger: Ledger, points: Points) -> None:
    """A second cancellation is a replay; the activity can't earn again under its key."""
    points.define_rule("game", activity="game", points=10, currency="PTS")
    points.earn("g1", activity="game", member="ana")
    first = points.cancel("g1")
    again = points.cancel("g1")
    assert (again.replayed, again.taken, again.activity) == (True, (), first.activity)
    late = points.earn("g1", activity="game", member="ana")
    assert (late.replayed, late.earnings) == (True, ())
    assert ledger.balance("ana", "PTS").posted == 0


@pytest.mark.req("1.12")
@pytest.mark.case("C053")
def test_a_cancellation_goes_below_zero_and_a_spend_never(ledger: Ledger, club: Club) -> None:
    """What was spent is owed: the balance is below zero, nothing can be spent, and the next points pay for it."""
    won = club.earn("ana", 100)
    club.spend("ana", 80)
    club.points.cancel(won)
    assert (club.posted("ana"), club.lots("ana")) == (-80, [])
    with pytest.raises(InsufficientFunds):
        club.spend("ana", 1)
    assert ledger.balance("ana", CURRENCY).available == -80


def test_its_own_lot_goes_first(club: Club) -> None:
    """A cancellation takes out of the lot that the activity brought, then out of those that expire soonest."""
    club.earn("ana", 10, days=5)
    won = club.earn("ana", 10, days=50)
    club.earn("ana", 10)
    club.points.cancel(won)
    assert club.lots("ana") == [(10, 5), (10, None)]
    spent = club.earn("ana", 10, days=3)
    club.spend("ana", 8)
    club.points.cancel(spent)
    assert club.lots("ana") == [(2, 5), (10, None)]


@pytest.mark.req("1.11")
@pytest.mark.case("C078")
def test_the_room_under_the_cap_comes_back(points: Points) -> None:
    """What a cancelled activity used of a cap is free again in its period, and in no other."""
    points.define_rule("game", activity="game", points=10, currency="PTS", cap=20, period="day")
    for number in range(3):
        points.earn(f"g{number}", activity="game", member="ana", occurred_at=NOON)
    points.earn("next", activity="game", member="ana", units=2, occurred_at=NOON + timedelta(days=1))
    points.cancel("g1")
    points.cancel("g2")  # it had earned nothing
    assert points.earn("g3", activity="game", member="ana", units=5, occurred_at=NOON).earnings[0].amount == 10
    assert points.earn("g4", activity="game", member="ana", units=5, occurred_at=NOON).earnings == ()
    after = points.earn("g5", activity="game", member="ana", occurred_at=NOON + timedelta(days=1))
    assert after.earnings == ()


def test_an_unknown_activity_is_named(points: Points) -> None:
    """Who cancels before the activity is there hears so, and may come again."""
    with pytest.raises(UnknownActivity, match="'g1'"):
        points.cancel("g1")


def test_cancelled_at_once_by_many_is_cancelled_once(ledger: Ledger, points: Points) -> None:
    """Of several who cancel one activity at once exactly one takes it back, with an account to lock or without."""
    points.define_rule("game", activity="game", points=10, currency="PTS")
    points.earn("g1", activity="game", member="ana")
    points.earn("w1", activity="walk", member="bea")
    for key in ("g1", "w1"):
        together = threading.Barrier(4)

        def cancel(_: int, key: str = key, together: threading.Barrier = together) -> bool:
            together.wait(WAIT_S)
            return points.cancel(key).replayed

        with ThreadPoolExecutor(4) as pool:
            assert sorted(pool.map(cancel, range(4))) == [False, True, True, True]
    assert ledger.balance("ana", "PTS").posted == 0
    assert [entry.signed for entry in ledger.entries("ana", "PTS")] == [10, -10]
