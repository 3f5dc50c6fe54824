"""Earning: recorded once, by every rule for the activity, up to each rule's cap in its period."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pymysql
import pytest

from lastro import (
    AccountClosed,
    AccountConflict,
    ActivityConflict,
    AmountOutOfRange,
    CapExceeded,
    InvalidInput,
    Ledger,
    SerializationLost,
    TransferConflict,
)
from lastro.ledger.points_blocking import Points
from lastro.testing import Clock
from tests.conformance.eyes import Raw
from tests.points.members import Club
from tests.support.mariadb import arguments_of

NOON = datetime(2026, 1, 7, 12, tzinfo=UTC)  # a Wednesday
CONNECT: dict[str, Callable[[str], Any]] = {
    "postgres": psycopg.connect,
    "sqlite": lambda url: sqlite3.connect(url.removeprefix("sqlite:///")),
    "mariadb": lambda url: pymysql.connect(**arguments_of(url)),
}
REPEATABLE_READ = {
    "postgres": "BEGIN ISOLATION LEVEL REPEATABLE READ",
    "mariadb": "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ",
}
DAY, WEEK = timedelta(days=1), timedelta(days=7)


def define(book: Points, name: str = "game", **said: Any) -> None:
    """Ten points a game, unless something else is said."""
    book.define_rule(name, **{"activity": "game", "points": 10, "currency": "PTS"} | said)


def earned(points: Points, key: str, **reported: Any) -> list[tuple[str, int]]:
    """What ana's game earned, by rule."""
    done = points.earn(key, **{"activity": "game", "member": "ana", "occurred_at": NOON} | reported)
    assert not done.replayed
    return [(earning.rule, earning.amount) for earning in done.earnings]


@pytest.mark.req("1.11")
def test_ten_points_a_game_fifty_at_most_a_week(ledger: Ledger, points: Points) -> None:
    """The cap takes what still fits, nothing where nothing fits, and is whole again in the next week."""
    define(points, cap=50, period="week", time_zone="Europe/Paris")
    assert earned(points, "g1", units=3) == [("game", 30)]
    assert earned(points, "g2", units=3) == [("game", 20)]
    assert earned(points, "g3") == []
    assert earned(points, "g4", occurred_at=NOON + WEEK) == [("game", 10)]
    # Sunday 23:59:59.999999 in Paris is this week, the moment after is the next.
    monday = datetime(2026, 1, 11, 23, tzinfo=UTC)
    assert earned(points, "g5", occurred_at=monday - timedelta(microseconds=1)) == []
    assert earned(points, "g6", occurred_at=monday, units=9) == [("game", 40)]
    assert ledger.balance("ana", "PTS").posted == 100


@pytest.mark.req("1.11")
@pytest.mark.case("C076")
@pytest.mark.parametrize(
    ("zone", "last_before", "first_after"),
    [
        ("Europe/Paris", "2026-03-29T21:59:59.999999", "2026-03-29T22:00"),
        ("Europe/Paris", "2026-10-25T22:59:59.999999", "2026-10-25T23:00"),
        ("Europe/Paris", "2026-12-31T22:59:59.999999", "2026-12-31T23:00"),
        ("America/Sao_Paulo", "2018-11-04T02:59:59.999999", "2018-11-04T03:00"),
        ("America/Sao_Paulo", "2018-02-18T02:59:59.999999", "2018-02-18T03:00"),
        ("America/Sao_Paulo", "2027-01-01T02:59:59.999999", "2027-01-01T03:00"),
        ("UTC", "2026-12-31T23:59:59.999999", "2027-01-01T00:00"),
        ("UTC", "2028-02-28T23:59:59.999999", "2028-02-29T00:00"),
        ("Asia/Kolkata", "2026-06-01T18:29:59.999999", "2026-06-01T18:30"),
        ("Asia/Kathmandu", "2026-06-01T18:14:59.999999", "2026-06-01T18:15"),
    ],
)
def test_a_daily_cap_turns_over_at_local_midnight(
    points: Points, zone: str, last_before: str, first_after: str
) -> None:
    """The last microsecond of a day and the first of the next count in their own day, whatever the clocks do."""
    define(points, cap=10, period="day", time_zone=zone)
    before, after = (datetime.fromisoformat(text).replace(tzinfo=UTC) for text in (last_before, first_after))
    assert earned(points, "before", occurred_at=before) == [("game", 10)]
    assert earned(points, "before again", occurred_at=before) == []
    assert earned(points, "after", occurred_at=after) == [("game", 10)]
    assert earned(points, "after again", occurred_at=after) == []


@pytest.mark.req("1.11")
@pytest.mark.case("C078")
def test_a_refused_activity_writes_nothing_and_takes_no_room(points: Points, raw: Raw) -> None:
    """150 beyond a cap of 100 is refused whole, with the numbers; 100 then pass."""
    define(points, "free", points=1, priority=9)
    define(points, points=1, cap=100, beyond_cap="refuse")
    assert earned(points, "warm", units=1, activity="none") == []
    before = raw.written()
    with pytest.raises(CapExceeded) as refused:
        earned(points, "g1", units=150)
    assert (refused.value.rule, refused.value.cap, refused.value.used, refused.value.asked) == ("game", 100, 0, 150)
    assert raw.written() == before
    assert earned(points, "g1", units=100) == [("free", 100), ("game", 100)]
    with pytest.raises(CapExceeded):
        earned(points, "g2", units=1)
    assert points.activity("g2") is None


@pytest.mark.req("1.11")
def test_every_rule_for_an_activity_gives_in_its_own_currency(ledger: Ledger, points: Points) -> None:
    """Rules of one activity are independent: each its cap and its currency; the highest priority posts first."""
    define(points, "base", points=5, priority=1)
    define(points, "gems", points=2, currency="GEM", cap=3)
    define(points, "bonus", points=1, priority=2)
    define(points, "other", activity="win", points=100)
    define(points, "over", points=50)
    points.end_rule("over")
    done = points.earn("g1", activity="game", member="ana", units=2)
    assert {(earning.rule, earning.amount, earning.currency) for earning in done.earnings} == {
        ("bonus", 2, "PTS"), ("base", 10, "PTS"), ("gems", 3, "GEM"),
    }  # fmt: skip
    assert [entry.key for entry in ledger.entries("ana", "PTS")] == ["points:g1:bonus", "points:g1:base"]
    assert ledger.balance("ana", "GEM").posted == 3
    entry = ledger.entries("ana", "GEM")[0]
    assert (entry.kind, entry.cause, entry.counter_account) == ("earn", "g1", "points:issued")


@pytest.mark.req("1.2")
def test_an_activity_earns_once(ledger: Ledger, points: Points) -> None:
    """The same key again returns what is there, however the rules and the cap stand by then."""
    define(points, cap=15)
    first = points.earn("g1", activity="game", member="ana", actor="till 3")
    points.define_rule("game", activity="game", points=1, currency="PTS")
    again = points.earn("g1", activity="game", member="ana", actor="till 4")
    assert again.replayed
    assert again.activity == first.activity == points.activity("g1")
    assert ledger.balance("ana", "PTS").posted == 10
    # A moment that was left out is the moment of recording, and the same if it is given.
    assert points.earn("g1", activity="game", member="ana", occurred_at=first.activity.occurred_at).replayed


def test_a_key_names_one_activity(points: Points) -> None:
    """Another member, kind, number of units or moment under the same key is a conflict that names the fields."""
    define(points)
    earned(points, "g1")
    for field, change in (
        ("member", {"member": "bea"}),
        ("activity", {"activity": "win"}),
        ("units", {"units": 2}),
        ("occurred_at", {"occurred_at": NOON + DAY}),
    ):
        with pytest.raises(ActivityConflict) as refused:
            earned(points, "g1", **change)
        assert list(refused.value.fields) == [field]
    assert points.activity("g2") is None


def test_an_activity_without_a_rule_is_recorded(points: Points, raw: Raw) -> None:
    """What no rule speaks of earns nothing, is kept for a later rebuild, and opens no account."""
    done = points.earn("g1", activity="walk", member="ana", units=7)
    assert (done.earnings, done.activity.units) == ((), 7)
    assert raw.one("SELECT count(*) FROM {s}.account") == 0
    assert points.earn("g1", activity="walk", member="ana", units=7).replayed


def test_a_new_version_counts_what_the_old_one_gave(points: Points) -> None:
    """A cap that is lowered, raised or moved to another period counts what was earned before it was."""
    define(points, cap=50, period="week")
    earned(points, "g1", units=4)
    define(points, cap=30, period="week")
    assert earned(points, "g2") == []
    define(points, cap=60, period="month")
    assert earned(points, "g3", units=9, occurred_at=NOON + WEEK) == [("game", 20)]
    define(points, points=1)
    earned(points, "g4", units=500)
    define(points, cap=600, period="ever")
    assert earned(points, "g5", units=9) == [("game", 40)]


def test_lots_expire_at_the_end_of_the_local_day(points: Points) -> None:
    """lot_days after the day on which the activity happened in the rule's zone; never without."""
    define(points, lot_days=30, time_zone="America/Sao_Paulo")
    define(points, "lasting", points=1, priority=-1)
    # 01:00 UTC on the 8th is still the 7th there.
    earned(points, "g1", occurred_at=datetime(2026, 1, 8, 1, tzinfo=UTC))
    lots = points.lots("ana", "PTS")
    assert [(lot.left_over, lot.expires_at) for lot in lots] == [(10, datetime(2026, 2, 7, 3, tzinfo=UTC)), (1, None)]
    assert lots[0].earned_at == datetime(2026, 1, 8, 1, tzinfo=UTC)


def test_what_is_owed_is_paid_first(points: Points, club: Club) -> None:
    """Points that come to an account below zero pay for that before their lot holds anything."""
    club.earn("ana", 100, key="won")
    club.spend("ana", 100)
    points.cancel("won")
    assert club.posted("ana") == -100
    club.earn("ana", 30)
    assert (club.posted("ana"), club.lots("ana")) == (-70, [])
    club.earn("ana", 90)
    assert (club.posted("ana"), club.lots("ana")) == (20, [(20, None)])


def test_an_account_with_a_balance_is_nobodys_to_take(ledger: Ledger, points: Points) -> None:
    """A name that is an account's with a balance, and no member's, is refused: no lots stand behind that balance."""
    define(points)
    ledger.open_account("till", "PTS")
    ledger.open_account("ana", "PTS")
    ledger.post(key="k", kind="pay", debit="world", credit="till", amount=5, currency="PTS")
    with pytest.raises(AccountConflict, match="no lots stand behind it"):
        earned(points, "g1", member="till")
    # An empty one may become a member's.
    assert earned(points, "g1") == [("game", 10)]


def test_more_points_than_one_earning_may_be(points: Points) -> None:
    """Units that would pass the bound of one earning are refused by name, before anything is written."""
    define(points, points=2**40)
    with pytest.raises(AmountOutOfRange, match="'game'"):
        earned(points, "g1", units=2)
    assert earned(points, "g2") == [("game", 2**40)]
    assert points.activity("g1") is None


def test_somebody_elses_transfer_is_not_taken_for_an_earning(ledger: Ledger, points: Points, raw: Raw) -> None:
    """A transfer posted by hand under the key of an earning makes the earning fail, with nothing written."""
    define(points)
    earned(points, "warm")
    ledger.open_account("till", "PTS", floor=None)
    sides = {"kind": "earn", "debit": "points:issued", "amount": 10, "currency": "PTS"}
    ledger.post(key="points:g1:game", credit="till", **sides)
    ledger.post(key="points:g2:game", credit="ana", cause="g2", occurred_at=NOON, **sides)
    before = raw.written()
    for key in ("g1", "g2"):
        with pytest.raises(TransferConflict):
            earned(points, key)
    assert raw.written() == before
    ledger.reverse("points:g2:game", "undo g2")


@pytest.mark.parametrize(
    ("argument", "value"),
    [
        ("key", ""), ("key", "k" * 256), ("key", None), ("activity", "a" * 65), ("member", "world"),
        ("member", "points:issued"), ("member", "erased:1"), ("member", ""), ("units", 0), ("units", 1.0),
        ("units", True), ("units", 2**31), ("occurred_at", datetime(2026, 1, 1)), ("actor", "a" * 256),  # noqa: DTZ001
    ],
)  # fmt: skip
def test_bad_reports_are_refused(points: Points, argument: str, value: object) -> None:
    """Each argument has its bounds, and the refusal names it."""
    reported: dict[str, Any] = {"key": "g1", "activity": "game", "member": "ana"} | {argument: value}
    with pytest.raises(InvalidInput) as refused:
        points.earn(reported.pop("key"), **reported)
    assert refused.value.argument == argument


def test_the_longest_names_fit(points: Points, ledger: Ledger) -> None:
    """The longest key, rule, kind, member and currency at once still make a transfer."""
    currency, member = "C" * 32, "é" * 340
    points.define_rule("r" * 64, activity="é" * 64, points=1, currency=currency)
    done = points.earn("é" * 255, activity="é" * 64, member=member, actor="é" * 255)
    points.cancel("é" * 255)
    assert done.earnings[0].amount == 1
    assert len(ledger.entries(member, currency)) == 2


@pytest.mark.req("1.11")
def test_a_cap_reads_one_row_however_long_the_history(points: Points, clock: Clock, ledger: Ledger) -> None:
    """Once a period has begun, earning under a cap never adds up what was earned before."""
    define(points, cap=10_000, period="week")
    steps: list[str] = []
    earned(points, "g0")
    run = ledger._engine.run

    def counted(make: Any, effect: Any) -> Any:
        def watched() -> Any:
            plan = make()
            answer = None
            while True:
                try:
                    step = plan.send(answer)
                except StopIteration as done:
                    return done.value
                steps.append(step.statement)
                answer = yield step

        return run(watched, effect)

    ledger._engine.run = counted  # type: ignore[method-assign]
    counts = []
    for number in range(1, 30):
        steps.clear()
        earned(ledger.points, f"g{number}")
        counts.append(tuple(steps))
    assert set(counts) == {counts[0]}
    assert "points_earning.earned_in_period" not in counts[0]
    assert counts[0].count("points_earning.room") == counts[0].count("points_earning.keep_room") == 1


def test_within_a_callers_transaction(store_url: str, ledger: Ledger, points: Points, raw: Raw) -> None:
    """An earning is part of the caller's transaction; a refusal in it undoes itself and nothing else."""
    define(points, cap=20, beyond_cap="refuse")
    earned(points, "g0")
    with contextlib.closing(CONNECT[raw.store](store_url)) as connection:
        held = ledger.within(connection).points
        held.earn("g1", activity="game", member="ana")
        with pytest.raises(CapExceeded):
            held.earn("g2", activity="game", member="ana")
        assert held.activity("g2") is None
        connection.commit()
        held.cancel("g1")
        connection.rollback()
    assert points.activity("g1") is not None
    assert ledger.balance("ana", "PTS").posted == 20


@pytest.mark.req("1.11")
@pytest.mark.stores("postgres", "mariadb")
@pytest.mark.parametrize("beforehand", ["nothing", "an earlier game"])
def test_an_old_snapshot_never_passes_a_cap(
    store_url: str, ledger: Ledger, points: Points, raw: Raw, beforehand: str
) -> None:
    """
    In a caller's REPEATABLE READ the cap counts what was earned since its snapshot, or the transaction is lost: always
    on PostgreSQL, and on MariaDB where even the accounts are younger than the snapshot.
    """
    define(points, cap=50)
    used = 0
    if beforehand != "nothing":
        ((_, used),) = earned(points, "g0")
    with contextlib.closing(CONNECT[raw.store](store_url)) as connection:
        cursor = connection.cursor()
        cursor.execute(REPEATABLE_READ[raw.store])
        cursor.execute(f"SELECT count(*) FROM {ledger._operations.ledger}.transfer")
        # Somebody else earns 30, which this snapshot doesn't show.
        assert earned(points, "g1", units=3) == [("game", 30)]
        held = ledger.within(connection).points
        if raw.store == "mariadb" and used:
            done = held.earn("g2", activity="game", member="ana", units=4, occurred_at=NOON)
            connection.commit()
        else:
            with pytest.raises(SerializationLost):
                held.earn("g2", activity="game", member="ana", units=4, occurred_at=NOON)
            connection.rollback()
            done = points.earn("g2", activity="game", member="ana", units=4, occurred_at=NOON)
    assert [earning.amount for earning in done.earnings] == [20 - used]
    assert ledger.balance("ana", "PTS").posted == 50
    assert earned(points, "g3") == []


@pytest.mark.req("1.11")
def test_a_retry_after_a_closing_is_a_replay(ledger: Ledger, points: Points, club: Club) -> None:
    """What was earned before the account was closed comes back as it stands; nothing new is earned there."""
    key = club.earn("ana", 10)
    club.spend("ana", 10)
    ledger.close_account("ana", "PTS")
    done = points.earn(key, activity="lasting", member="ana", units=10)
    assert (done.replayed, [earning.amount for earning in done.earnings]) == (True, [10])
    with pytest.raises(ActivityConflict):
        points.earn(key, activity="lasting", member="ana", units=9)
    with pytest.raises(AccountClosed):
        points.earn("another", activity="lasting", member="ana")


@pytest.mark.req("1.11")
def test_more_units_than_an_earning_may_be_are_capped(points: Points) -> None:
    """Where a cap takes what fits, no number of units is too many for it; without a cap it is refused, with the figure."""
    points.define_rule("game", activity="game", points=1_000_000, currency="PTS", cap=50, period="ever")
    assert earned(points, "g1", units=2**31 - 1) == [("game", 50)]
    points.define_rule("free", activity="free", points=1_000_000, currency="PTS")
    with pytest.raises(AmountOutOfRange, match="free"):
        points.earn("g2", activity="free", member="ana", units=2**31 - 1)
