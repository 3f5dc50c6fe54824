"""
The generator: threads that start each arrival when it is due, whatever became of those before it.

Every free client holds the next arrival and sleeps until it is due: no thread hands work out, and nothing is awaited
between two arrivals but the clock. What this costs is measured in the threads themselves, apart from the work.
"""

from __future__ import annotations

import threading
import time
from array import array
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import psycopg

from lastro.errors import LastroError

TELL_EVERY_S = 5.0

# One visit of one client: takes the arrival's number, does the work, returns how many tries were lost to rivals.
Visit = Callable[[int], int]


class Arrival(NamedTuple):
    """
    What is to start `due_s` seconds after the beginning; `number` makes its keys its own.
    """

    number: int
    due_s: float


@dataclass
class Visits:
    """
    What came of arrivals: for each its number, when it was due, started and ended (seconds), and whether it succeeded.

    `errors` counts those that failed by code. `waited`: met no free client, so that a part of their time is queueing.
    `generator_cpu_s`: what taking arrivals and waiting for their moments took of a processor.
    """

    numbers: array[int] = field(default_factory=lambda: array("q"))
    due_s: array[float] = field(default_factory=lambda: array("d"))
    started_s: array[float] = field(default_factory=lambda: array("d"))
    ended_s: array[float] = field(default_factory=lambda: array("d"))
    succeeded: array[int] = field(default_factory=lambda: array("b"))
    waited: array[int] = field(default_factory=lambda: array("b"))
    errors: dict[str, int] = field(default_factory=dict)
    lost_tries: int = 0
    generator_cpu_s: float = 0.0

    def note(self, arrival: Arrival, *, started_s: float, ended_s: float, waited: bool, error: str | None) -> None:
        """Note one."""
        self.numbers.append(arrival.number)
        self.due_s.append(arrival.due_s)
        self.started_s.append(started_s)
        self.ended_s.append(ended_s)
        self.succeeded.append(error is None)
        self.waited.append(waited)
        if error is not None:
            self.errors[error] = self.errors.get(error, 0) + 1

    def add(self, other: Visits) -> None:
        """Add what another client, or another process, saw."""
        self.numbers += other.numbers
        self.due_s += other.due_s
        self.started_s += other.started_s
        self.ended_s += other.ended_s
        self.succeeded += other.succeeded
        self.waited += other.waited
        for code, count in other.errors.items():
            self.errors[code] = self.errors.get(code, 0) + count
        self.lost_tries += other.lost_tries
        self.generator_cpu_s += other.generator_cpu_s

    def __len__(self) -> int:
        return len(self.numbers)


def arrivals_of(times_s: Sequence[float], *, process: int = 0, processes: int = 1) -> list[Arrival]:
    """
    Return the arrivals that are the share of one process: dealt round, so that each has a part of every moment.
    """
    return [Arrival(number, times_s[number]) for number in range(process, len(times_s), processes)]


def drive(
    arrivals: Sequence[Arrival],
    clients: Sequence[Visit],
    *,
    began: float,
    tell: Callable[[int], None] = lambda _: None,
) -> Visits:
    """
    Start each arrival when it is due after *began*, or when a client is free again: its time counts from when it was due.

    Every five seconds *tell* hears how many are through. Returns when all are. What isn't an error of the ledger or of the
    driver is raised: it is a fault of the rehearsal.
    """
    queue, failures = _Queue(arrivals), list[Exception]()
    seen = [Visits() for _ in clients]

    def be_client(visit: Visit, mine: Visits) -> None:
        try:
            _be_client(queue, visit, began, mine)
        except Exception as failure:  # noqa: BLE001 - whatever it was, a client less is another load
            failures.append(failure)

    threads = [
        threading.Thread(target=be_client, args=(visit, mine), daemon=True)
        for visit, mine in zip(clients, seen, strict=True)
    ]
    for thread in threads:
        thread.start()
    last_told = time.monotonic()
    for thread in threads:
        while thread.is_alive():
            thread.join(TELL_EVERY_S)
            if time.monotonic() - last_told >= TELL_EVERY_S:
                tell(sum(len(mine) for mine in seen))
                last_told = time.monotonic()
    if failures:
        raise failures[0]
    visits = Visits()
    for mine in seen:
        visits.add(mine)
    return visits


class _Queue:
    """The arrivals that nobody has taken yet."""

    def __init__(self, arrivals: Sequence[Arrival]) -> None:
        self._left: Iterator[Arrival] = iter(arrivals)
        self._mutex = threading.Lock()

    def take(self) -> Arrival | None:
        with self._mutex:
            return next(self._left, None)


def _be_client(queue: _Queue, visit: Visit, began: float, visits: Visits) -> None:
    cpu_s = time.thread_time()
    while (arrival := queue.take()) is not None:
        early_s = began + arrival.due_s - time.monotonic()
        if early_s > 0:
            time.sleep(early_s)
        started_s = time.monotonic() - began
        visits.generator_cpu_s += time.thread_time() - cpu_s
        error: str | None = None
        try:
            visits.lost_tries += visit(arrival.number)
        except LastroError as failed:
            error = failed.code
        except psycopg.Error as failed:
            error = failed.sqlstate or "connection_lost"
        ended_s = time.monotonic() - began
        cpu_s = time.thread_time()
        visits.note(arrival, started_s=started_s, ended_s=ended_s, waited=early_s <= 0, error=error)
