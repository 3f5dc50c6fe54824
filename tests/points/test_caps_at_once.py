"""A cap under sixteen who earn at once, threads and processes: never passed, never under-used."""

from __future__ import annotations

import multiprocessing
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

import lastro
from lastro import CapExceeded, Ledger
from lastro.ledger.points_blocking import Points
from lastro.points.rules import BeyondCap
from tests.points.members import Club

EARNERS = 16
GAMES_EACH = 4
NOON = datetime(2026, 1, 7, 12, tzinfo=UTC)
WAIT_S = 120
POINTS = 7


def report(points: Points, earner: int, game: int, *, member: str = "ana") -> int:
    """Earn for one game; what it gave, or 0 where the cap refused it. The games lie in two days."""
    moment = NOON + timedelta(days=game % 2, minutes=earner)
    try:
        done = points.earn(f"g:{member}:{earner}:{game}", activity="game", member=member, occurred_at=moment)
    except CapExceeded:
        return 0
    assert not done.replayed
    return sum(earning.amount for earning in done.earnings)


def earn_in_a_process(url: str, name: str, earner: int, together: Any, told: Any) -> None:
    """Report one earner's games from a process of its own, as soon as all are ready."""
    try:
        with lastro.connect(url, ledger=name) as ledger:
            ledger.points.activity("is it there")
            together.wait(WAIT_S)
            told.put([report(ledger.points, earner, game) for game in range(GAMES_EACH)])
    except BaseException as error:  # noqa: BLE001  (the parent must hear it)
        told.put(repr(error))


def with_threads(ledger: Ledger, url: str, name: str) -> list[list[int]]:
    """What each of sixteen threads of one process earned."""
    del url, name
    together = threading.Barrier(EARNERS)

    def earn(earner: int) -> list[int]:
        together.wait(WAIT_S)
        return [report(ledger.points, earner, game) for game in range(GAMES_EACH)]

    with ThreadPoolExecutor(EARNERS) as pool:
        return list(pool.map(earn, range(EARNERS)))


def with_processes(ledger: Ledger, url: str, name: str) -> list[list[int]]:
    """What each of sixteen processes earned; none knows what another believes."""
    del ledger
    context = multiprocessing.get_context("spawn")
    together, told = context.Barrier(EARNERS), context.Queue()
    processes = [
        context.Process(target=earn_in_a_process, args=(url, name, earner, together, told)) for earner in range(EARNERS)
    ]
    for process in processes:
        process.start()
    try:
        heard = [told.get(timeout=WAIT_S) for _ in processes]
    finally:
        for process in processes:
            process.join(WAIT_S)
    assert all(isinstance(earned, list) for earned in heard), [e for e in heard if not isinstance(e, list)]
    return heard


WAYS: Sequence[Callable[[Ledger, str, str], list[list[int]]]] = (with_threads, with_processes)


@pytest.mark.req("1.11")
@pytest.mark.case("C078")
@pytest.mark.parametrize("beyond_cap", ["fit", "refuse"])
@pytest.mark.parametrize("way", WAYS)
def test_a_cap_is_used_up_exactly(
    ledger: Ledger, store_url: str, ledger_name: str, way: Callable[..., list[list[int]]], beyond_cap: BeyondCap
) -> None:
    """
    Each day's cap of 100 is given out to the last point where what is left fits, and to the last whole game otherwise;
    a refused game leaves no trace and takes no room.
    """
    points, cap = ledger.points, 100
    points.define_rule(
        "game", activity="game", points=POINTS, currency="PTS", cap=cap, period="day", beyond_cap=beyond_cap
    )
    given = [earned for each in way(ledger, store_url, ledger_name) for earned in each]
    assert len(given) == EARNERS * GAMES_EACH
    a_day = cap if beyond_cap == "fit" else cap - cap % POINTS
    assert sum(given) == 2 * a_day == ledger.balance("ana", "PTS").posted
    on_record = [points.activity(f"g:ana:{earner}:{game}") for earner in range(EARNERS) for game in range(GAMES_EACH)]
    for day in range(2):
        of_day = [one for one in on_record if one is not None and one.occurred_at.day == 7 + day]
        assert sum(earning.amount for one in of_day for earning in one.earnings) == a_day
        if beyond_cap == "refuse":
            assert len(of_day) == cap // POINTS
    if beyond_cap == "refuse":
        # There is room for 2 more, and none was eaten by those who were refused.
        points.define_rule("game", activity="game", points=2, currency="PTS", cap=cap, period="day")
        assert report(points, EARNERS, 0) == 2


@pytest.mark.req("1.11")
def test_the_room_of_cancelled_games_is_given_out_again(ledger: Ledger, points: Points) -> None:
    """While sixteen earn and cancel, the cap is never passed, and what is free at the end can still be earned."""
    points.define_rule("game", activity="game", points=POINTS, currency="PTS", cap=50)
    together = threading.Barrier(EARNERS)

    def earn_and_cancel(earner: int) -> None:
        together.wait(WAIT_S)
        for game in range(GAMES_EACH):
            report(points, earner, game)
            assert ledger.balance("ana", "PTS").posted <= 50
            if game % 2:
                points.cancel(f"g:ana:{earner}:{game}")

    with ThreadPoolExecutor(EARNERS) as pool:
        list(pool.map(earn_and_cancel, range(EARNERS)))
    before = ledger.balance("ana", "PTS").posted
    assert before + sum(report(points, EARNERS, game) for game in range(20)) == 50


@pytest.mark.req("1.2")
def test_one_activity_reported_by_sixteen_earns_once(ledger: Ledger, points: Points) -> None:
    """Of sixteen reports of one activity one earns; the others get it as a replay. First use opens one account."""
    points.define_rule("game", activity="game", points=POINTS, currency="PTS", cap=50)
    together = threading.Barrier(EARNERS)

    def earn(_: int) -> bool:
        together.wait(WAIT_S)
        return points.earn("g", activity="game", member="ana", occurred_at=NOON).replayed

    with ThreadPoolExecutor(EARNERS) as pool:
        assert sorted(pool.map(earn, range(EARNERS))) == [False] + [True] * (EARNERS - 1)
    assert ledger.balance("ana", "PTS").posted == POINTS


def test_members_dont_wait_for_each_other(ledger: Ledger, points: Points, club: Club) -> None:
    """Sixteen members who earn, spend and cancel at once, in two currencies, never lock each other out."""
    points.define_rule("game", activity="game", points=POINTS, currency="PTS", cap=50)
    points.define_rule("gems", activity="game", points=1, currency="GEM", cap=3)
    together = threading.Barrier(EARNERS)

    def live(earner: int) -> None:
        together.wait(WAIT_S)
        for game in range(GAMES_EACH):
            report(points, earner, game, member=f"m{earner % 5}")
        points.cancel(f"g:m{earner % 5}:{earner}:0")
        club.give(f"m{earner % 5}", f"m{(earner + 1) % 5}", 1)

    with ThreadPoolExecutor(EARNERS) as pool:
        list(pool.map(live, range(EARNERS)))
    assert sum(ledger.balance(f"m{member}", "PTS").posted for member in range(5)) <= 250
    assert all(0 <= ledger.balance(f"m{member}", "GEM").posted <= 3 for member in range(5))
