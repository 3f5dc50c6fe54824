"""
What disturbs a rehearsal on schedule: the burst, a transaction that somebody left open, a server that dies.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import dataclass
from typing import NamedTuple

import psycopg
from psycopg import sql

from lastro.rehearsal.books_kept import Looking, wait_until_empty
from lastro.rehearsal.member import Line
from lastro.rehearsal.programme import Programme
from lastro.rehearsal.scenario import Scenario
from lastro.rehearsal.stage import Stage

# Long enough for placements of any rate to fall into it.
BURST_S_MIN = 1.0


class Event(NamedTuple):
    """
    Something that happened from `at_s` until `until_s` of the run, in words.
    """

    at_s: float
    until_s: float
    what: str


@dataclass
class Disturbances:
    """
    What was made to happen. `drained_ms`: from the burst until nothing waited; None where it never was.
    """

    burst: Event | None = None
    crash: Event | None = None
    drained_ms: float | None = None
    failure: Exception | None = None


def sit_idle(line: Line, stage: Stage, programme: Programme) -> Event:
    """
    Begin a transaction, read one row as a report does, and leave it open.

    A server that doesn't let that be ends it sooner (`idle_in_transaction_session_timeout`), which is its good right.
    """
    with stage.connect("rehearsal idle report") as connection:
        began = line.wait_for_start()
        if line.stopped(max(0.0, began + programme.idle_at_s - time.monotonic())):
            return Event(programme.idle_at_s, programme.idle_at_s, "an idle transaction that never began")
        connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
        connection.execute(sql.SQL("SELECT count(*) FROM {}.account").format(sql.Identifier(stage.ledger)))
        line.stopped(programme.idle_s)
        with suppress(psycopg.OperationalError):
            connection.execute("ROLLBACK")
        return Event(programme.idle_at_s, time.monotonic() - began, "a transaction left open")


def make_burst(scenario: Scenario, stage: Stage, programme: Programme, began: float, happened: Disturbances) -> None:
    """
    Let the burst come at its moment, and wait until its work is done. What fails is kept for the main thread.
    """
    what = scenario.burst.format(burst=f"{programme.burst:,}")
    try:
        time.sleep(max(0.0, began + programme.burst_at_s - time.monotonic()))
        began_s = time.monotonic() - began
        scenario.begin_burst(stage, programme)
        with closing(Looking(stage, lambda connection: scenario.waiting(connection, stage))) as look:
            emptied = wait_until_empty(look)
        ended_s = time.monotonic() - began
        happened.burst = Event(began_s, max(ended_s, began_s + BURST_S_MIN), what)
        happened.drained_ms = (ended_s - began_s) * 1_000 if emptied else None
    except Exception as failure:  # noqa: BLE001 - raised again by whoever waits for this thread
        happened.failure = failure


def crash(stage: Stage, programme: Programme, began: float, happened: Disturbances) -> None:
    """
    Kill the rehearsal's own server as a power cut does, and start it again.
    """
    try:
        time.sleep(max(0.0, began + programme.crash_at_s - time.monotonic()))
        at_s = time.monotonic() - began
        assert stage.server is not None, "only a server of the rehearsal's own is killed"
        stage.server.stop("immediate")
        stage.server.start()
        happened.crash = Event(at_s, time.monotonic() - began, "the server was killed and started again")
    except Exception as failure:  # noqa: BLE001 - as above
        happened.failure = failure


def in_thread(body: Callable[[], None]) -> threading.Thread:
    """
    Start a thread that doesn't keep the process alive.
    """
    thread = threading.Thread(target=body, daemon=True)
    thread.start()
    return thread
