"""The generator: arrivals by seed, time from the intended start, and what it takes of a processor."""

from __future__ import annotations

import threading
import time
from itertools import pairwise

import psycopg
import pytest

import lastro
from lastro.rehearsal.arrivals import arrival_times_s
from lastro.rehearsal.measuring import generator_of
from lastro.rehearsal.open_loop import arrivals_of, drive
from lastro.rehearsal.persisting import persistently
from lastro.rehearsal.programme import Programme, checked

SERVICE_S = 0.002


def programme(**changed: float) -> Programme:
    """A programme that can be played, but for what is changed."""
    asked = {
        "rate": 10.0,
        "seconds": 4.0,
        "burst": 5,
        "seed": 1,
        "clients": 5,
        "processes": 2,
        "accounts": 9,
        "workers": 1,
    }
    return Programme(**(asked | changed))  # type: ignore[arg-type]


def test_arrivals_are_repeatable_and_come_at_their_rate() -> None:
    """The same seed gives the same arrivals; their number is the rate's; the burst comes at one moment."""
    times_s = arrival_times_s(rate=200, seconds=50, at_once=30, at_s=25.0, seed=8)
    assert times_s == arrival_times_s(rate=200, seconds=50, at_once=30, at_s=25.0, seed=8)
    assert times_s != arrival_times_s(rate=200, seconds=50, at_once=30, at_s=25.0, seed=9)
    assert times_s == sorted(times_s)
    assert times_s.count(25.0) == 30
    assert len(times_s) - 30 == pytest.approx(10_000, rel=0.05)
    # Open: gaps vary as chance has it, and are not a metronome's.
    gaps = [later - sooner for sooner, later in pairwise(times_s)]
    assert max(gaps) > 5 / 200
    assert times_s[-1] < 50
    dealt = [arrivals_of(times_s, process=process, processes=3) for process in range(3)]
    assert sorted(arrival for hand in dealt for arrival in hand) == arrivals_of(times_s)


def test_time_counts_from_the_intended_start() -> None:
    """
    Forty due at one moment and one client: the last waited for all others, and its time says so.

    A generator that counts from the actual start would give each of them about the same small time.
    """
    visits = drive(arrivals_of([0.0] * 40), [lambda _: time.sleep(SERVICE_S) or 0], began=time.monotonic())
    took = [ended - due for ended, due in zip(visits.ended_s, visits.due_s, strict=True)]
    assert all(sooner < later for sooner, later in pairwise(took))
    assert took[-1] > 40 * SERVICE_S
    assert generator_of(visits, seconds=1.0).waited >= 39


def test_nobody_waits_for_the_answer_to_another() -> None:
    """Open: an arrival begins while the one before it is still under way."""
    both_there = threading.Barrier(2, timeout=30)

    def meet(_: int) -> int:
        both_there.wait()
        return 0

    visits = drive(arrivals_of([0.0, 0.01]), [meet, meet], began=time.monotonic())
    assert list(visits.succeeded) == [1, 1]


def test_what_fails_is_counted_and_the_client_goes_on() -> None:
    """Errors of the ledger and of the driver are counted by their codes; anything else is the rehearsal's own fault."""

    def visit(number: int) -> int:
        if number == 1:
            raise lastro.LockTimeout("busy")
        if number == 2:
            raise psycopg.OperationalError("gone")
        return 3 if number == 3 else 0

    visits = drive(arrivals_of([0.0] * 5), [visit], began=time.monotonic())
    assert visits.errors == {"lock_timeout": 1, "connection_lost": 1}
    assert (list(visits.succeeded), visits.lost_tries) == ([1, 0, 0, 1, 1], 3)
    with pytest.raises(ZeroDivisionError):
        drive(arrivals_of([0.0] * 5), [lambda number: 1 // number], began=time.monotonic())


def test_a_generator_that_is_late_says_so() -> None:
    """An arrival that a free client began late is the generator's fault; one that met no free client isn't."""
    visits = drive(arrivals_of([0.0] * 50), [lambda _: 0], began=time.monotonic())
    assert generator_of(visits, seconds=1.0).held
    for at in range(2):
        visits.waited[at] = 0
        visits.started_s[at] = visits.due_s[at] + 0.5
    late = generator_of(visits, seconds=1.0)
    assert (late.held, late.started_late) == (False, 2)


@pytest.mark.req("3.18")
def test_the_generator_takes_little_of_a_processor() -> None:
    """At 2,000 arrivals a second taking them and waiting for their moments costs at most a quarter of a processor."""
    times_s = arrival_times_s(rate=2_000, seconds=2, at_once=0, at_s=0, seed=1)
    before = time.process_time()
    visits = drive(arrivals_of(times_s), [lambda _: 0] * 16, began=time.monotonic())
    spent_s = time.process_time() - before
    assert len(visits) == len(times_s)
    assert spent_s / 2 <= 0.25
    # What it says of itself is what it took, and not a figure of its own making.
    assert 0.3 * spent_s < visits.generator_cpu_s <= spent_s


def test_what_no_answer_came_to_is_tried_again_under_its_key() -> None:
    """A lost connection is tried again until it is answered, but not for ever; a refusal is an answer."""
    lost = iter([lastro.ConnectionLost("gone"), lastro.OutcomeUnknown("sent"), None])

    def call(number: int) -> int:
        error = next(lost)
        if error is not None:
            raise error
        return number

    assert persistently(call, seconds=60.0)(5) == 7

    def gone(_: int) -> int:
        raise lastro.ConnectionLost("gone")

    with pytest.raises(lastro.ConnectionLost):
        persistently(gone, seconds=0.0, patience_s=0.0)(1)


@pytest.mark.parametrize(
    "changed",
    [
        {"rate": 0}, {"rate": float("nan")}, {"rate": float("inf")}, {"seconds": -1}, {"burst": -1}, {"burst": True},
        {"clients": 0}, {"clients": 1, "processes": 2}, {"clients": 513}, {"accounts": 0}, {"workers": 17}, {"idle_s": -1},
    ],
)  # fmt: skip
def test_impossible_loads_are_refused(changed: dict[str, float]) -> None:
    """Numbers that make no load, or more than a generator should hold, are refused before anything starts."""
    with pytest.raises(lastro.InvalidInput):
        checked(programme(**changed))


def test_more_arrivals_than_can_be_held_are_refused() -> None:
    """A run of a million arrivals is refused with what to do."""
    with pytest.raises(lastro.InvalidInput, match="shorten the run"):
        programme(rate=1e6).times_s()


def test_clients_are_shared_out() -> None:
    """Every client belongs to one process."""
    asked = checked(programme(clients=5, processes=2))
    assert [asked.clients_of(process) for process in range(2)] == [3, 2]
