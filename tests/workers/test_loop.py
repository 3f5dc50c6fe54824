"""The loop alone owns time: intervals, stop, back-off and the log of errors."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator

import pytest

from lastro import telemetry
from lastro.errors import ConnectionLost, LockTimeout, SchemaOutdated
from lastro.workers.loop import QUIET_AFTER_MS, Facts, Loop

WAIT_S = 30


class Script:
    """A worker that does what it is told, tick by tick, and then nothing."""

    name = "script"
    interval_ms = 500
    jitter = 0.0

    def __init__(self, *acts: Facts | BaseException | Callable[[], None]) -> None:
        self._acts = iter(acts)
        self.ticks = 0
        self.closed = 0

    def run_once(self) -> Facts:
        """Do the next act."""
        self.ticks += 1
        act = next(self._acts, Facts({"rows": 0}))
        if isinstance(act, BaseException):
            raise act
        if isinstance(act, Facts):
            return act
        act()
        return Facts({"rows": 1})

    def close(self) -> None:
        """Count the closings."""
        self.closed += 1


class Monotonic:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.now_s = 100.0

    def __call__(self) -> float:
        """Say the moment it was set to."""
        return self.now_s


@pytest.fixture
def clock() -> Monotonic:
    """A clock that stands still until the test moves it."""
    return Monotonic()


@pytest.fixture
def heard() -> Iterator[list[tuple[str, float, dict[str, str]]]]:
    """Every measurement made during the test."""
    heard: list[tuple[str, float, dict[str, str]]] = []
    silence = telemetry.listen(lambda name, value, labels: heard.append((name, value, dict(labels))))
    yield heard
    silence()


def _loop(worker: Script, clock: Monotonic) -> Loop:
    return Loop(worker, threading.Event(), monotonic=clock)


@pytest.mark.req("0.4")
def test_a_tick_that_did_all_waits_for_its_interval(clock: Monotonic) -> None:
    """The next tick starts an interval after the last one started, however long that one took."""

    def take_200_ms() -> None:
        clock.now_s += 0.2

    loop = _loop(Script(take_200_ms), clock)
    assert loop.tick() == pytest.approx(0.3)
    assert loop.tick() == pytest.approx(0.5)


@pytest.mark.req("0.4")
def test_a_full_tick_is_followed_at_once(clock: Monotonic) -> None:
    """Where work is left there is no pause."""
    loop = _loop(Script(Facts({"rows": 5_000}, more=True), Facts({"rows": 7})), clock)
    assert loop.tick() == 0
    assert loop.tick() == pytest.approx(0.5)
    assert loop.totals.figures == {"rows": 5_007}


def test_a_tick_longer_than_the_interval_is_followed_at_once(clock: Monotonic) -> None:
    """A slow tick doesn't make for a negative wait."""

    def take_2_s() -> None:
        clock.now_s += 2

    assert _loop(Script(take_2_s), clock).tick() == 0


def test_jitter_varies_the_wait_within_its_share(clock: Monotonic) -> None:
    """Waits spread over interval ± jitter, so that workers started together part."""
    worker = Script()
    worker.jitter = 0.2
    loop = _loop(worker, clock)
    waits = [loop.tick() for _ in range(200)]
    assert all(0.4 <= wait <= 0.6 for wait in waits)
    assert max(waits) - min(waits) > 0.05


@pytest.mark.req("0.4")
def test_errors_double_the_pause_up_to_its_limit_and_success_resets_it(clock: Monotonic) -> None:
    """A worker goes on after any error, more slowly each time, and at its usual pace after a tick that worked."""
    errors = [ConnectionLost("gone"), ValueError("odd"), LockTimeout("held")] * 3
    loop = _loop(Script(*errors, Facts({}), ConnectionLost("gone")), clock)
    waits = [loop.tick() for _ in errors]
    assert waits == [0.5, 1, 2, 4, 8, 10, 10, 10, 10]
    assert loop.tick() == pytest.approx(0.5)
    assert loop.tick() == 0.5
    assert (loop.totals.ticks, loop.totals.errors) == (1, 10)


def test_a_long_interval_is_not_shortened_by_an_error(clock: Monotonic) -> None:
    """The pause after an error is never shorter than the interval."""
    worker = Script(ConnectionLost("gone"), ConnectionLost("gone"))
    worker.interval_ms = 60_000
    loop = _loop(worker, clock)
    assert [loop.tick(), loop.tick()] == [60, 60]


def test_connections_are_let_go_after_an_error(clock: Monotonic) -> None:
    """After an error the worker's connections are closed, and the next tick opens new ones."""
    worker = Script(ConnectionLost("gone"), Facts({}))
    loop = _loop(worker, clock)
    loop.tick()
    assert worker.closed == 1
    loop.tick()
    assert worker.closed == 1


def test_an_error_while_letting_go_is_survived(clock: Monotonic, caplog: pytest.LogCaptureFixture) -> None:
    """A worker that can't even close goes on all the same, and the log has it."""
    worker = Script(ConnectionLost("gone"))
    worker.close = lambda: (_ for _ in ()).throw(OSError("close failed"))  # type: ignore[method-assign]
    loop = _loop(worker, clock)
    assert loop.tick() == 0.5
    assert "could not close" in caplog.text


@pytest.mark.req("0.4")
def test_an_outage_is_logged_by_kind_and_ever_more_rarely(clock: Monotonic, caplog: pytest.LogCaptureFixture) -> None:
    """Each kind of error is an ERROR at once, then when it has come 2, 4, 8 … times; going on is said once."""
    loop = _loop(Script(*[ConnectionLost("gone")] * 9, LockTimeout("held"), Facts({}), Facts({})), clock)
    with caplog.at_level(logging.INFO, logger="lastro.workers"):
        for _ in range(12):
            loop.tick()
    errors = [record.getMessage() for record in caplog.records if record.levelno == logging.ERROR]
    assert [("connection_lost" in error, "lock_timeout" in error) for error in errors] == [(True, False)] * 4 + [
        (False, True)
    ]
    assert "for the first time" in errors[0]
    assert "8 times" in errors[3]
    assert [r.getMessage() for r in caplog.records if r.levelno == logging.INFO] == [
        "script goes on after 10 failed ticks"
    ]
    assert all(record.name == "lastro.workers" for record in caplog.records)


def test_a_flapping_error_is_not_new_each_time(clock: Monotonic, caplog: pytest.LogCaptureFixture) -> None:
    """An error that alternates with success is said as rarely as one that stays; after a quiet spell it is new."""
    loop = _loop(Script(*[act for _ in range(5) for act in (LockTimeout("held"), Facts({}))], LockTimeout("x")), clock)
    for _ in range(10):
        loop.tick()
    assert sum(record.levelno == logging.ERROR for record in caplog.records) == 3
    clock.now_s += QUIET_AFTER_MS / 1000 + 1
    loop.tick()
    assert "for the first time" in caplog.records[-1].getMessage()


def test_an_error_that_is_not_ours_is_logged_with_its_origin(
    clock: Monotonic, caplog: pytest.LogCaptureFixture
) -> None:
    """An unexpected exception comes with its traceback, one of ours is said in its one sentence."""
    loop = _loop(Script(ValueError("odd"), ConnectionLost("gone")), clock)
    loop.tick()
    loop.tick()
    assert [record.exc_info is not None for record in caplog.records] == [True, False]


@pytest.mark.req("0.4")
def test_a_stop_ends_a_wait_of_any_length() -> None:
    """A loop that would sleep for a minute ends as soon as it is told to, and closes its worker."""
    ticked = threading.Event()
    worker = Script(ticked.set)
    worker.interval_ms = 60_000
    stop = threading.Event()
    thread = threading.Thread(target=Loop(worker, stop).run)
    thread.start()
    assert ticked.wait(WAIT_S)
    stop.set()
    thread.join(WAIT_S)
    assert not thread.is_alive()
    assert (worker.ticks, worker.closed) == (1, 1)


@pytest.mark.req("0.4")
def test_a_stop_lets_the_tick_in_hand_finish() -> None:
    """A stop that comes during a tick waits for it, and no further tick begins."""
    begun, go_on, finished = threading.Event(), threading.Event(), []

    def work() -> None:
        begun.set()
        assert go_on.wait(WAIT_S)
        finished.append("all of it")

    worker, stop = Script(work), threading.Event()
    thread = threading.Thread(target=Loop(worker, stop).run)
    thread.start()
    assert begun.wait(WAIT_S)
    stop.set()
    assert thread.is_alive()
    go_on.set()
    thread.join(WAIT_S)
    assert (finished, worker.ticks) == (["all of it"], 1)


def test_a_bug_ends_the_loop(clock: Monotonic) -> None:
    """An AssertionError says that the ledger believes something false of itself: the loop doesn't go on."""
    worker = Script(AssertionError("never"))
    with pytest.raises(AssertionError, match="never"):
        _loop(worker, clock).run()
    assert worker.closed == 1


def test_a_ledger_that_is_not_there_ends_the_loop_until_a_tick_succeeds(clock: Monotonic) -> None:
    """Waiting for a database doesn't count as success; after a first good tick, an outdated schema is an error to sit out."""
    worker = Script(ConnectionLost("down"), SchemaOutdated("not there"))
    loop = _loop(worker, clock)
    loop.tick()
    with pytest.raises(SchemaOutdated, match="not there"):
        loop.tick()
    worker = Script(Facts({"rows": 1}), SchemaOutdated("being migrated"), Facts({"rows": 1}))
    loop = _loop(worker, clock)
    assert [loop.tick() > 0 for _ in range(3)] == [True, True, True]
    assert (loop.totals.ticks, loop.totals.errors) == (2, 1)


def test_ticks_and_errors_are_measured(clock: Monotonic, heard: list[tuple[str, float, dict[str, str]]]) -> None:
    """Listeners hear of each tick, its time, and each error with its code."""

    def take_200_ms() -> None:
        clock.now_s += 0.2

    loop = _loop(Script(take_200_ms, LockTimeout("held"), ValueError("odd")), clock)
    for _ in range(3):
        loop.tick()
    assert [(name, round(value), labels) for name, value, labels in heard] == [
        ("lastro_worker_ticks", 1, {"worker": "script"}),
        ("lastro_worker_tick_ms", 200, {"worker": "script"}),
        ("lastro_worker_errors", 1, {"worker": "script", "code": "lock_timeout"}),
        ("lastro_worker_errors", 1, {"worker": "script", "code": "unexpected"}),
    ]
