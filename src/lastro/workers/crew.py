"""
A crew: several workers in one process, each in its thread, until a signal or one of them ends it.
"""

from __future__ import annotations

import logging
import signal
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from queue import Empty, SimpleQueue
from types import FrameType
from typing import Final, NamedTuple, TypeAlias

from lastro.workers.loop import Loop, Totals, Worker

STOP_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT)
# How long a stop waits for the ticks in hand. Whatever they were doing then is one transaction, all of it or nothing.
DRAIN_MAX_MS: Final = 30_000

_log = logging.getLogger("lastro.workers")


class _Ended(NamedTuple):
    name: str
    error: BaseException | None


class _Asked(NamedTuple):
    by: str


_News: TypeAlias = _Ended | _Asked


class Crew:
    """
    Runs workers in threads. SIGTERM or SIGINT (with `run(signals=True)`, in the main thread) or stop() lets each
    finish its batch in hand and ends the crew; a second signal ends the process at once, and the database rolls back.
    """

    def __init__(self, workers: Sequence[Worker], *, stop: threading.Event, drain_max_ms: int = DRAIN_MAX_MS) -> None:
        self._stop = stop
        self._drain_max_ms = drain_max_ms
        self._loops = {worker.name: Loop(worker, stop) for worker in workers}
        # A signal handler may interrupt the main thread anywhere; SimpleQueue.put is safe there, Event.set isn't.
        self._news: SimpleQueue[_News] = SimpleQueue()

    def stop(self) -> None:
        """Ask for the end; returns at once. Any thread may call it."""
        self._news.put(_Asked("a call of stop()"))

    def run(self, *, signals: bool = False) -> dict[str, Totals]:
        """
        Work until the end is asked for; return what each worker did. A worker's bug (AssertionError) is raised here.
        """
        with _told_of_signals(self._news) if signals else nullcontext():
            for name, loop in self._loops.items():
                threading.Thread(target=self._work, args=(name, loop), name=f"lastro-{name}", daemon=True).start()
            _log.info("at work: %s", ", ".join(self._loops))
            news = self._news.get()
            self._stop.set()
            if isinstance(news, _Asked):
                _log.info("%s: finishing what is in hand", news.by)
            self._drain(news)
        return {name: loop.totals for name, loop in self._loops.items()}

    def _work(self, name: str, loop: Loop) -> None:
        error: BaseException | None = None
        try:
            loop.run()
        except BaseException as raised:  # noqa: BLE001 - told to the main thread, which raises it
            error = raised
        finally:
            self._news.put(_Ended(name, error))

    def _drain(self, news: _News) -> None:
        working = set(self._loops)
        failed: BaseException | None = None
        give_up_s = time.monotonic() + self._drain_max_ms / 1000
        while True:
            if isinstance(news, _Ended):
                working.discard(news.name)
                failed = failed or news.error
            if not working:
                break
            try:
                news = self._news.get(timeout=max(0.0, give_up_s - time.monotonic()))
            except Empty:
                _log.warning(
                    "%s did not come to an end within %d ms; what it was doing is one transaction and is rolled back",
                    ", ".join(sorted(working)),
                    self._drain_max_ms,
                )
                break
        if failed is not None:
            raise failed
        if not working:
            _log.info("stopped; nothing was left half done")


@contextmanager
def _told_of_signals(news: SimpleQueue[_News]) -> Iterator[None]:
    def ring(number: int, _: FrameType | None) -> None:
        # The next one meets the system's own answer, which is to end the process.
        for each in STOP_SIGNALS:
            signal.signal(each, signal.SIG_DFL)
        news.put(_Asked(signal.Signals(number).name))

    before = {number: signal.signal(number, ring) for number in STOP_SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
