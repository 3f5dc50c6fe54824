"""
What every scenario of a rehearsal brings: its tables, its clients, its workers, its burst, its queue and its audit.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, NamedTuple, Protocol

import psycopg

import lastro
from lastro.rehearsal.criteria import Criteria
from lastro.rehearsal.member import Body
from lastro.rehearsal.open_loop import Visit
from lastro.rehearsal.programme import Programme
from lastro.rehearsal.stage import Stage
from lastro.workers.loop import Worker

# Told how far the preparation has come, so that a long one isn't taken for a process that hangs.
Tell = Callable[[str], None]
# Makes the workers of one process, on the stage: `hire(stage, stopping)`.
Hire = Callable[[Stage, Callable[[], bool]], Sequence[Worker]]


class Queue(NamedTuple):
    """
    Work that may wait: how many pieces there are, and for how long the oldest has waited.
    """

    rows: int
    age_ms: float


class Part(NamedTuple):
    """
    What one process plays: `body(line, stage, *args)`.
    """

    name: str
    body: Body
    args: tuple[Any, ...] = ()


class Defaults(NamedTuple):
    """
    What is played where nothing else is said.
    """

    rate: float
    seconds: float
    burst: int
    clients: int
    processes: int
    accounts: int
    workers: int


class Scenario(Protocol):
    """
    One application under load. It has no state of its own: it goes to other processes by its name.

    `name` is the word of the command line, `waits_for` what somebody waits for (a section of the criteria), `queue` what
    may wait (counted in `queue_unit`), `burst` what comes at one moment. `arrives_at_once`: the burst is arrivals, and not work for the queue.
    `planted`: what was made wrong on purpose.
    """

    name: str
    waits_for: str
    queue: str
    queue_unit: str
    burst: str
    arrives_at_once: bool
    planted: str | None
    defaults: Defaults
    criteria: Criteria

    def set_up(self, stage: Stage, programme: Programme) -> None:
        """Make tables and accounts, once, before any process begins."""
        ...

    def prepare(self, stage: Stage, programme: Programme, process: int, tell: Tell) -> None:
        """Do this process's part of what is long to prepare, before the start."""
        ...

    def open_clients(self, stage: Stage, programme: Programme, count: int) -> AbstractContextManager[Sequence[Visit]]:
        """Give so many clients, each used by one thread."""
        ...

    def members(self, programme: Programme) -> Sequence[Part]:
        """Return the processes beside the clients: workers, and whoever else is about."""
        ...

    def figures(self, results: Mapping[str, Any]) -> dict[str, int]:
        """Return what the results of these processes, by name, come to."""
        ...

    def begin_burst(self, stage: Stage, programme: Programme) -> None:
        """Make the burst come: give the results, let the jobs fall due."""
        ...

    def waiting(self, connection: psycopg.Connection[Any], stage: Stage) -> Queue:
        """Return what waits in the queue now."""
        ...

    def audit(
        self, ledger: lastro.Ledger, connection: psycopg.Connection[Any], stage: Stage, answered: Collection[int]
    ) -> str | None:
        """Say what is wrong between what was answered, what is stored and what was booked; None where nothing is."""
        ...
