"""Rebuilding: differences only, as new movements; resumed where it was killed; a dry run tells the same."""

from __future__ import annotations

import multiprocessing
import os
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

import lastro
from lastro import Ledger, RuleConflict, UnknownRule
from lastro.ledger.points_blocking import HeldPoints, Points
from lastro.points.rebuilding import Rebuilt
from lastro.testing import Clock
from tests.conformance.eyes import Raw
from tests.points.members import Club, caller_of
from tests.support.sessions import Observer

NOON = datetime(2026, 1, 7, 12, tzinfo=UTC)  # a Wednesday
DAY = timedelta(days=1)
JANUARY = (datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 2, 1, tzinfo=UTC))
DIED = 9


def define(book: Points, **said: Any) -> None:
    """Ten points a game, at most fifty a week in Paris, unless something else is said."""
    weekly = {"cap": 50, "period": "week", "time_zone": "Europe/Paris"}
    book.define_rule("game", **{"activity": "game", "points": 10, "currency": "PTS"} | weekly | said)


def play(points: HeldPoints, key: str, moment: datetime = NOON, *, member: str = "ana", units: int = 1) -> None:
    """Report a game."""
    points.earn(key, activity="game", member=member, units=units, occurred_at=moment)


def figures(rebuilt: Rebuilt) -> tuple[int, int, int]:
    """How many movements gave and took how much."""
    return rebuilt.changes, rebuilt.given, rebuilt.taken


@pytest.mark.req("1.13")
def test_a_changed_rule_is_applied_to_what_was_done(ledger: Ledger, points: Points) -> None:
    """Each activity gets the difference as a movement of its own; history stays, and a second run finds nothing."""
    define(points)
    for number in range(6):
        play(points, f"g{number}", NOON + number * timedelta(hours=1))
    define(points, points=20, cap=100)
    assert ledger.balance("ana", "PTS").posted == 50
    assert figures(points.rebuild("game", *JANUARY)) == (5, 50, 0)
    assert ledger.balance("ana", "PTS").posted == 100
    entries = ledger.entries("ana", "PTS")
    assert [entry.key for entry in entries[:5]] == [f"points:g{number}:game" for number in range(5)]
    assert [(entry.key, entry.kind, entry.signed) for entry in entries[5:]] == [
        (f"points:g{number}:game:2", "rebuild", 10) for number in range(5)
    ]
    assert points.activity("g0").earnings[0][1:3] == (2, 20)  # type: ignore[union-attr]
    assert figures(points.rebuild("game", *JANUARY)) == (0, 0, 0)


@pytest.mark.req("1.13")
def test_what_is_taken_is_a_reversal_below_zero_as_well(ledger: Ledger, club: Club) -> None:
    """Less points take from the last movement first, each by a reversal that names it, whatever the balance becomes."""
    define(club.points)
    play(club.points, "g0", units=3)
    define(club.points, points=15, cap=60)
    club.points.rebuild("game", *JANUARY)
    club.spend("ana", 45)
    define(club.points, points=5)
    assert figures(club.points.rebuild("game", *JANUARY)) == (2, 0, 30)
    assert [(entry.signed, entry.reverses) for entry in ledger.entries("ana", "PTS")[-2:]] == [
        (-15, "points:g0:game:2"), (-15, "points:g0:game"),
    ]  # fmt: skip
    assert club.posted("ana") == -30
    club.points.cancel("g0")
    assert club.posted("ana") == -45
    club.points.end_rule("game")
    assert figures(club.points.rebuild("game", *JANUARY)) == (0, 0, 0)


@pytest.mark.req("1.13")
def test_a_dry_run_tells_the_same_and_writes_nothing(points: Points, raw: Raw) -> None:
    """The figures of a dry run are those of the run; a dry run leaves every row as it was, and no progress."""
    define(points)
    for number in range(12):
        play(points, f"g{number}", NOON + number * DAY, member=f"m{number % 3}", units=1 + number % 4)
    points.cancel("g4")
    define(points, points=7, cap=15, period="month")
    before = raw.written()
    dry = points.rebuild("game", *JANUARY, dry_run=True)
    assert raw.written() == before
    assert figures(dry) != (0, 0, 0)
    assert (dry.dry_run, dry.members, dry.members_all) == (True, 3, 3)
    assert points.rebuild("game", *JANUARY) == dry._replace(dry_run=False)


@pytest.mark.req("1.13")
def test_whole_periods_are_rebuilt(points: Points, ledger: Ledger) -> None:
    """A stretch is widened to the periods of the cap that it touches; one that ends at a boundary goes no further."""
    define(points)
    monday = datetime(2026, 1, 4, 23, tzinfo=UTC)
    for number in range(3):
        play(points, f"g{number}", monday + number * timedelta(days=7) - timedelta(hours=1))
    define(points, points=11)
    done = points.rebuild("game", monday + DAY, monday + 2 * DAY)
    assert (done.since, done.until) == (monday, monday + timedelta(days=7))
    assert figures(done) == (1, 1, 0)
    done = points.rebuild("game", monday - DAY, monday)
    assert (done.since, done.until) == (monday - timedelta(days=7), monday)
    assert ledger.balance("ana", "PTS").posted == 32
    define(points, points=11, cap=None)
    done = points.rebuild("game", monday + timedelta(days=8), monday + timedelta(days=14))
    assert (done.since, done.until) == (monday + timedelta(days=8), monday + timedelta(days=14))
    assert figures(done) == (1, 1, 0)


@pytest.mark.req("1.13")
def test_activity_counts_in_the_order_in_which_it_happened(points: Points) -> None:
    """What was reported late and happened first takes the cap first; what was cancelled counts as nothing."""
    define(points, cap=15)
    play(points, "late", NOON)
    play(points, "early", NOON - timedelta(hours=1))
    play(points, "gone", NOON - timedelta(hours=2))
    assert [points.activity(key).earnings[0].amount for key in ("late", "early")] == [10, 5]  # type: ignore[union-attr]
    points.cancel("gone")
    assert figures(points.rebuild("game", *JANUARY)) == (2, 5, 5)
    assert [points.activity(key).earnings[0].amount for key in ("late", "early")] == [5, 10]  # type: ignore[union-attr]
    points.cancel("early")
    assert figures(points.rebuild("game", *JANUARY)) == (1, 5, 0)


def test_the_cap_holds_after_a_rebuild(points: Points) -> None:
    """What a rebuild gives or takes is part of what the cap has used."""
    define(points, cap=100)
    play(points, "g0", units=4)
    define(points, points=20, cap=100)
    points.rebuild("game", *JANUARY)
    play(points, "g1", units=4)
    assert points.activity("g1").earnings[0].amount == 20  # type: ignore[union-attr]
    define(points, points=5, cap=100)
    points.rebuild("game", *JANUARY)
    play(points, "g2", units=30)
    assert points.activity("g2").earnings[0].amount == 60  # type: ignore[union-attr]


def test_a_rule_that_refuses_gives_nothing_for_what_no_longer_fits(points: Points) -> None:
    """An activity that is on record can't be refused any more: it earns all of it or nothing."""
    define(points, cap=None)
    for number in range(3):
        play(points, f"g{number}", NOON + number * timedelta(hours=1))
    define(points, cap=25, beyond_cap="refuse")
    assert figures(points.rebuild("game", *JANUARY)) == (1, 0, 10)
    assert points.activity("g2").earnings == ()  # type: ignore[union-attr]


def test_what_no_rule_spoke_of_can_earn_later(points: Points, ledger: Ledger, raw: Raw) -> None:
    """Activity from before its first rule earns by a rebuild, which opens the accounts it needs and no others."""
    play(points, "g0")
    points.earn("c0", activity="game", member="bea", occurred_at=NOON)
    points.cancel("c0")
    define(points)
    assert figures(points.rebuild("game", *JANUARY, dry_run=True)) == (1, 10, 0)
    assert figures(points.rebuild("game", *JANUARY)) == (1, 10, 0)
    assert ledger.balance("ana", "PTS").posted == 10
    assert raw.one("SELECT count(*) FROM {s}.account WHERE name = 'bea'") == 0
    assert points.activity("g0").earnings[0].amount == 10  # type: ignore[union-attr]


def test_lots_given_by_a_rebuild_have_the_activitys_age(points: Points) -> None:
    """The new movement's lot expires as if the activity had earned it at once."""
    define(points, lot_days=30, time_zone="UTC")
    play(points, "g0")
    define(points, points=15, lot_days=60, time_zone="UTC")
    points.rebuild("game", *JANUARY)
    assert [(lot.left_over, lot.expires_at) for lot in points.lots("ana", "PTS")] == [
        (10, datetime(2026, 2, 7, tzinfo=UTC)), (5, datetime(2026, 3, 9, tzinfo=UTC)),
    ]  # fmt: skip


def test_erased_members_stay_as_they_are(points: Points, ledger: Ledger) -> None:
    """Nothing is posted to whoever was erased."""
    define(points)
    play(points, "g0")
    play(points, "g1", member="bea")
    erased = points.erase("ana")
    define(points, points=20)
    assert figures(points.rebuild("game", *JANUARY)) == (1, 10, 0)
    assert ledger.balance(erased.pseudonym, "PTS").posted == 10


def test_an_unknown_rule_and_a_changing_one(points: Points, ledger: Ledger) -> None:
    """A rebuild of a rule that isn't there is refused; one whose rule changes meanwhile stops and says so."""
    with pytest.raises(UnknownRule):
        points.rebuild("game", *JANUARY)
    define(points)
    for number in range(3):
        play(points, f"g{number}", member=f"m{number}")
    define(points, points=20)
    with pytest.raises(RuleConflict) as refused:
        points.rebuild("game", *JANUARY, progress=lambda _: define(points, points=30))
    assert refused.value.fields == {"version": (3, 2)}
    assert figures(points.rebuild("game", *JANUARY)) == (3, 10 + 20 + 20, 0)


@pytest.mark.req("1.13")
@pytest.mark.case("C055")
def test_it_goes_on_where_it_stopped(points: Points, ledger: Ledger) -> None:
    """Stopped after some members, the same call goes on with the next; the figures are those of one whole run."""
    define(points)
    for number in range(8):
        play(points, f"g{number}", member=f"m{number}")
    define(points, points=20)
    seen: list[Rebuilt] = []

    def stop(so_far: Rebuilt) -> None:
        seen.append(so_far)
        if so_far.members % 3 == 0:
            raise KeyboardInterrupt

    for _ in range(2):
        with pytest.raises(KeyboardInterrupt):
            points.rebuild("game", *JANUARY, progress=stop)
    done = points.rebuild("game", *JANUARY, progress=stop)
    assert [so_far.members for so_far in seen] == list(range(1, 9))
    assert (done.members, *figures(done)) == (8, 8, 80, 0)
    assert {ledger.balance(f"m{number}", "PTS").posted for number in range(8)} == {20}
    # Done is done: the next one begins anew.
    assert (points.rebuild("game", *JANUARY).members, seen[-1].changes) == (8, 8)


def die_after_two(url: str, name: str, moment: datetime) -> None:
    """Rebuild in a process of its own, which is gone after two members."""

    def die(so_far: Rebuilt) -> None:
        if so_far.members % 2 == 0:
            os._exit(DIED)

    with lastro.connect(url, ledger=name, clock=lambda: moment) as ledger:
        ledger.points.rebuild("game", *JANUARY, progress=die)


@pytest.mark.req("1.13")
@pytest.mark.case("C055")
def test_a_killed_rebuild_is_finished_by_another(
    points: Points, ledger: Ledger, store_url: str, ledger_name: str, clock: Clock
) -> None:
    """Processes that die every two members still come to the end, and everybody has what the rule gives, once."""
    define(points)
    for number in range(5):
        play(points, f"g{number}", member=f"m{number}")
    define(points, points=20)
    context = multiprocessing.get_context("spawn")
    codes = []
    for _ in range(3):
        process = context.Process(target=die_after_two, args=(store_url, ledger_name, clock()))
        process.start()
        process.join(60)
        codes.append(process.exitcode)
    assert codes == [DIED, DIED, 0]
    assert {ledger.balance(f"m{number}", "PTS").posted for number in range(5)} == {20}
    assert figures(points.rebuild("game", *JANUARY)) == (0, 0, 0)


def test_beside_those_who_earn_and_cancel(points: Points, ledger: Ledger) -> None:
    """Earnings and cancellations during a rebuild lose nothing: at the end each activity has what the rule gives."""
    define(points, cap=200)
    for number in range(40):
        play(points, f"g{number}", member=f"m{number % 4}", moment=NOON + number * timedelta(minutes=1))
    define(points, points=12, cap=200)

    def work(number: int) -> None:
        if number % 2:
            points.cancel(f"g{number}")
        else:
            play(points, f"h{number}", member=f"m{number % 4}", moment=NOON + timedelta(hours=3))

    with ThreadPoolExecutor(4) as pool:
        rebuilt = [pool.submit(points.rebuild, "game", *JANUARY) for _ in range(2)]
        list(pool.map(work, range(40)))
        for each in rebuilt:
            each.result()
    points.rebuild("game", *JANUARY)
    assert figures(points.rebuild("game", *JANUARY)) == (0, 0, 0)
    for member in range(4):
        alive = sum(1 for number in range(member, 40, 4) if number % 2 == 0) * 2
        assert ledger.balance(f"m{member}", "PTS").posted == min(200, alive * 12)


async def test_awaited_it_is_the_same(points: Points, ledger: Ledger, store_url: str, ledger_name: str) -> None:
    """The awaiting points do the same: define, earn, cancel, rebuild."""
    async with await lastro.connect_async(store_url, ledger=ledger_name) as awaited:
        await awaited.points.define_rule("game", activity="game", points=10, currency="PTS")
        await awaited.points.earn("g0", activity="game", member="ana", occurred_at=NOON)
        await awaited.points.earn("g1", activity="game", member="ana", occurred_at=NOON)
        assert (await awaited.points.cancel("g1")).taken[0].amount == 10
        await awaited.points.define_rule("game", activity="game", points=15, currency="PTS")
        seen: list[Rebuilt] = []
        assert figures(await awaited.points.rebuild("game", *JANUARY, progress=seen.append)) == (1, 5, 0)
        assert (await awaited.points.rule("game")).version == len(await awaited.points.rules()) + 1 == len(seen) + 1
        assert await awaited.points.activity("g0") == points.activity("g0")
        assert (await awaited.points.end_rule("game")).points == 0
    assert ledger.balance("ana", "PTS").posted == 15


@pytest.mark.req("1.11")
@pytest.mark.stores("postgres")
def test_what_was_being_earned_earlier_is_rebuilt_as_well(
    ledger: Ledger, points: Points, store: str, store_url: str, observer: Observer
) -> None:
    """
    An earning by the old version in an earlier period than any that was on record, under way while the rebuild looked,
    is met under the member's lock.
    """
    define(points, cap=100)
    play(points, "late", NOON + 7 * DAY)
    with caller_of(store, store_url) as caller, ThreadPoolExecutor(1) as pool:
        play(ledger.within(caller).points, "early", NOON)
        define(points, cap=100, points=7)
        done = pool.submit(points.rebuild, "game", *JANUARY)
        observer.until_anyone_waits_for(caller.info.backend_pid)
        caller.commit()
        assert figures(done.result()) == (2, 0, 6)
    assert figures(points.rebuild("game", *JANUARY)) == (0, 0, 0)
