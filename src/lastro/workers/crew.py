"""
A crew: several workers in one process, each in its thread, until a signal or one of them ends it.
"""

from __future__ import annotations

import logging
import select
import signal
import socket
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from queue import Empty, SimpleQueue
from types import FrameType
from typing import Final, NamedTuple, Self, TypeAlias

from lastro.workers.loop import Loop, Totals, Worker

STOP_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT)
# How long a stop waits for the ticks in hand. Whatever they were doing then is one transaction, all of it or nothing.
DRAIN_MAX_MS: Final = 30_000
# `timeout` and some supervisors signal a process and then its group: two signals of one wish to stop.
SAME_WISH_MS: Final = 500
RING: Final = b"."
RINGS_AT_ONCE_BYTES: Final = 4_096

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
        self._bell: _Bell | None = None

    def stop(self) -> None:
        """Ask for the end; returns at once. Any thread may call it."""
        self._tell(_Asked("a call of stop()"))

    def run(self, *, signals: bool = False) -> dict[str, Totals]:
        """
        Work until the end is asked for; return what each worker did. What ended a worker (see Loop) is raised here.
        """
        with _Bell() as bell, bell.rung_by_signals(self._news) if signals else nullcontext():
            self._bell = bell
            for name, loop in self._loops.items():
                threading.Thread(target=self._work, args=(name, loop), name=f"lastro-{name}", daemon=True).start()
            _log.info("at work: %s", ", ".join(self._loops))
            news = self._next_news(bell, timeout_s=None)
            self._stop.set()
            if isinstance(news, _Asked):
                _log.info("%s: finishing what is in hand", news.by)
            self._drain(bell, news)
        return {name: loop.totals for name, loop in self._loops.items()}

    def _work(self, name: str, loop: Loop) -> None:
        error: BaseException | None = None
        try:
            loop.run()
        except BaseException as raised:  # noqa: BLE001 - told to the main thread, which raises it
            error = raised
        finally:
            self._tell(_Ended(name, error))

    def _tell(self, news: _News) -> None:
        self._news.put(news)
        # Where run() hasn't made its bell yet, it looks at the news before it first waits.
        if self._bell is not None:
            self._bell.ring()

    def _next_news(self, bell: _Bell, *, timeout_s: float | None) -> _News | None:
        give_up_s = None if timeout_s is None else time.monotonic() + timeout_s
        while True:
            with suppress(Empty):
                return self._news.get_nowait()
            left_s = None if give_up_s is None else max(0.0, give_up_s - time.monotonic())
            if left_s == 0:
                return None
            bell.wait(left_s)

    def _drain(self, bell: _Bell, news: _News | None) -> None:
        working = set(self._loops)
        failed: BaseException | None = None
        give_up_s = time.monotonic() + self._drain_max_ms / 1000
        while news is not None:
            if isinstance(news, _Ended):
                working.discard(news.name)
                failed = failed or news.error
            if not working:
                break
            news = self._next_news(bell, timeout_s=max(0.0, give_up_s - time.monotonic()))
        if failed is not None:
            raise failed
        if working:
            _log.warning(
                "%s did not come to an end within %d ms; what it was doing is one transaction and is rolled back",
                ", ".join(sorted(working)),
                self._drain_max_ms,
            )
        else:
            _log.info("stopped; nothing was left half done")


class _Bell:
    """
    What the main thread waits on, rung by threads and by signals.

    A signal that arrives just before a lock is waited for would be noticed only when that wait is over, which may be
    never; the byte that the interpreter writes to a socket as the signal arrives is never missed.
    """

    def __init__(self) -> None:
        self._ear, self._rope = socket.socketpair()
        self._ear.settimeout(0)
        self._rope.settimeout(0)

    def ring(self) -> None:
        """Wake whoever waits; may be called too often and too late."""
        with suppress(OSError):
            self._rope.send(RING)

    def wait(self, timeout_s: float | None) -> None:
        """Wait for a ring, or for the timeout."""
        select.select([self._ear], [], [], timeout_s)
        with suppress(BlockingIOError):
            self._ear.recv(RINGS_AT_ONCE_BYTES)

    @contextmanager
    def rung_by_signals(self, news: SimpleQueue[_News]) -> Iterator[None]:
        """Let SIGTERM and SIGINT ring and be told, once; a later one meets the system's own answer, the end."""
        told: dict[int, float] = {}

        def tell(number: int, _: FrameType | None) -> None:
            if not told:
                told[number] = time.monotonic()
                news.put(_Asked(signal.Signals(number).name))
            elif time.monotonic() - told.get(number, 0) > SAME_WISH_MS / 1000:
                signal.signal(number, signal.SIG_DFL)
                signal.raise_signal(number)

        rope_before = signal.set_wakeup_fd(self._rope.fileno(), warn_on_full_buffer=False)
        before = {number: signal.signal(number, tell) for number in STOP_SIGNALS}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
            signal.set_wakeup_fd(rope_before)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._ear.close()
        self._rope.close()
