"""A crew runs workers in threads and ends as one: by request, by a signal, or by a worker's bug."""

from __future__ import annotations

import logging
import signal
import threading
import time

import pytest

from lastro.workers.crew import Crew
from lastro.workers.loop import Facts

WAIT_S = 30
ROUNDS = 200


class Hand:
    """A worker that says when it is at it, and can be held up."""

    interval_ms = 60_000
    jitter = 0.0

    def __init__(self, name: str, *, error: BaseException | None = None, held: bool = False) -> None:
        self.name = name
        self.begun = threading.Event()
        self.go_on = threading.Event()
        self.closed = threading.Event()
        self._error = error
        if not held:
            self.go_on.set()

    def run_once(self) -> Facts:
        """Work until it may go on."""
        self.begun.set()
        assert self.go_on.wait(WAIT_S)
        if self._error is not None:
            raise self._error
        return Facts({"rows": 1})

    def close(self) -> None:
        """Say that it ended."""
        self.closed.set()


def test_workers_run_side_by_side_and_stop_together() -> None:
    """Each worker has a thread: one that is busy doesn't keep the other from its work; stop() ends both."""
    busy, quick = Hand("busy", held=True), Hand("quick")
    crew = Crew([busy, quick], stop=threading.Event())
    totals: dict[str, int] = {}

    def run() -> None:
        totals.update({name: done.ticks for name, done in crew.run().items()})

    thread = threading.Thread(target=run)
    thread.start()
    assert busy.begun.wait(WAIT_S)
    assert quick.begun.wait(WAIT_S)
    crew.stop()
    assert quick.closed.wait(WAIT_S)
    assert thread.is_alive()
    busy.go_on.set()
    thread.join(WAIT_S)
    assert totals == {"busy": 1, "quick": 1}


def test_a_bug_of_one_worker_ends_the_crew_and_is_raised() -> None:
    """An AssertionError in one worker stops the others in good order and comes out of run()."""
    broken, other = Hand("broken", error=AssertionError("books out of order")), Hand("other")
    with pytest.raises(AssertionError, match="books out of order"):
        Crew([broken, other], stop=threading.Event()).run()
    assert other.closed.is_set()


def test_a_worker_that_never_ends_is_left_behind(caplog: pytest.LogCaptureFixture) -> None:
    """After the drain's limit run() returns and names the worker that is still at it."""
    stuck = Hand("stuck", held=True)
    crew = Crew([stuck, Hand("other")], stop=threading.Event(), drain_max_ms=50)
    crew.stop()
    with caplog.at_level(logging.WARNING, logger="lastro.workers"):
        crew.run()
    assert "stuck did not come to an end within 50 ms" in caplog.text
    stuck.go_on.set()
    assert stuck.closed.wait(WAIT_S)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_stops_the_crew_and_handlers_are_given_back(number: signal.Signals) -> None:
    """SIGTERM and SIGINT end run() without an exception; whoever handled them before does so again."""
    worker = Hand("worker")
    before = signal.getsignal(number)

    def send() -> None:
        assert worker.begun.wait(WAIT_S)
        signal.pthread_kill(threading.main_thread().ident or 0, number)

    sender = threading.Thread(target=send)
    sender.start()
    began = time.monotonic()
    totals = Crew([worker], stop=threading.Event()).run(signals=True)
    sender.join(WAIT_S)
    assert totals["worker"].ticks == 1
    assert time.monotonic() - began < WAIT_S
    assert signal.getsignal(number) is before


def test_a_signal_that_comes_just_before_the_wait_is_not_missed() -> None:
    """A signal at any moment from the first tick on ends the crew: many rounds, each with the race run anew."""
    for _ in range(ROUNDS):
        worker = Hand("worker")
        sender = threading.Thread(target=_send_when_begun, args=(worker,))
        sender.start()
        Crew([worker], stop=threading.Event()).run(signals=True)
        sender.join(WAIT_S)
        assert worker.closed.is_set()


def _send_when_begun(worker: Hand) -> None:
    assert worker.begun.wait(WAIT_S)
    signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGTERM)
