"""
A rehearsal from its beginning to its verdict: the stage, the processes, the burst, what is left, the books.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import lastro
from lastro.rehearsal.books_kept import (
    Looking,
    count_deadlocks,
    imbalance,
    look_at_tail,
    reconcile,
    wait_until_empty,
)
from lastro.rehearsal.cast import Cast, Member
from lastro.rehearsal.clients import be_clients
from lastro.rehearsal.criteria import Criteria, read_criteria
from lastro.rehearsal.disturbing import Disturbances, Event, crash, in_thread, make_burst, sit_idle
from lastro.rehearsal.ending import cleaning_up_first
from lastro.rehearsal.open_loop import Visits
from lastro.rehearsal.programme import Programme, checked
from lastro.rehearsal.record import Record, Remains, document_of, figures_of, trouble_of
from lastro.rehearsal.scenario import Scenario
from lastro.rehearsal.stage import Stage, set_stage
from lastro.rehearsal.verdict import Verdict, judge
from lastro.rehearsal.watching import watch

Progress = Callable[[str], None]
MS = 1_000


@dataclass(frozen=True)
class Rehearsed:
    """
    The verdict of a rehearsal, and everything that was measured, as `--json` prints it and the report draws it.
    """

    verdict: Verdict
    document: Mapping[str, Any]


def rehearse(
    scenario: Scenario,
    programme: Programme,
    *,
    url: str | None = None,
    criteria: Path | None = None,
    beside_others: bool = False,
    accept_load: bool = False,
    progress: Progress | None = None,
) -> Rehearsed:
    """
    Play a scenario in the database at `url` (an embedded server of its own without), and judge it by the criteria.

    Everything is made in two schemas of its own, which are dropped again, also when a signal ends it. A database that
    holds other ledgers is refused unless both `beside_others` and `accept_load` say that it may be loaded. Raises
    InvalidInput, OtherLedgersThere, RehearsalBroken, and the ledger's errors where the database can't be reached.
    """
    tell = progress or _silent
    checked(programme)
    limits = limits_of(scenario, programme, criteria)
    if programme.crash and url is not None:
        raise lastro.InvalidInput(
            "only a server of the rehearsal's own is killed: leave the database out, or the crash", argument="crash"
        )
    with cleaning_up_first(), set_stage(url, beside_others=beside_others and accept_load) as stage:
        tell(f"preparing {scenario.name}: {programme.accounts:,} accounts, a burst of {programme.burst:,}")
        scenario.set_up(stage, programme)
        with Cast() as cast:
            record = _play(cast, stage, scenario, programme, tell)
        tell("auditing the books")
        record.remains = _audit(stage, scenario, record)
    record.criteria = limits
    verdict = judge(
        limits,
        figures_of(record),
        unbalanced=record.remains.unbalanced,
        generator_trouble=trouble_of(record),
        waits_for=scenario.waits_for,
    )
    return Rehearsed(verdict, document_of(record, verdict))


def limits_of(scenario: Scenario, programme: Programme, path: Path | None) -> Criteria:
    """
    Return the criteria of a run: those of a file, or the scenario's own. A file that judges a burst needs one.
    """
    if path is None:
        return scenario.criteria if programme.burst else scenario.criteria.without_burst()
    criteria = read_criteria(path, scenario.waits_for)
    if not programme.burst and criteria.of_burst:
        raise lastro.InvalidInput(
            f"{path} judges the burst ({', '.join(criteria.of_burst)}), and there is none: give it a size (--burst)",
            argument="criteria",
        )
    return criteria


def _play(cast: Cast, stage: Stage, scenario: Scenario, programme: Programme, tell: Progress) -> Record:
    drivers = [
        cast.hire(f"clients {process}", be_clients, stage, scenario, programme, process)
        for process in range(programme.processes)
    ]
    parts = [cast.hire(part.name, part.body, stage, *part.args) for part in scenario.members(programme)]
    # They work while the clients prepare, as in production, so that what that leaves is done when the load begins.
    cast.start(*parts)
    watcher = cast.hire("doctor", watch, stage, scenario)
    idle = [cast.hire("idle report", sit_idle, stage, programme)] if programme.idle_s else []
    with stage.connect() as connection:
        deadlocks = count_deadlocks(connection)
    began = cast.start(*drivers, watcher, *idle, heard=tell)
    tell(f"running: {programme.rate:g} arrivals a second for {programme.seconds:g} s")
    happened = Disturbances()
    threads = []
    if programme.burst and not scenario.arrives_at_once:
        threads.append(in_thread(lambda: make_burst(scenario, stage, programme, began, happened)))
    if programme.crash:
        threads.append(in_thread(lambda: crash(stage, programme, began, happened)))
    visits = _heard(cast, drivers)
    with stage.connect() as looking:
        backlog, tail = scenario.waiting(looking, stage), look_at_tail(looking, stage)
    for thread in threads:
        thread.join()
    if happened.failure is not None:
        raise happened.failure
    results = {member.name: cast.stop(member) for member in parts if not member.name.startswith("consolidator")}
    tail_drained_ms = _drain_tail(stage)
    results |= {member.name: cast.stop(member) for member in parts if member.name not in results}
    events: list[Event] = [cast.stop(member) for member in idle]
    return Record(
        scenario,
        programme,
        visits,
        happened,
        backlog,
        tail,
        tail_drained_ms,
        results,
        cast.stop(watcher),
        events,
        deadlocks,
    )


def _heard(cast: Cast, drivers: Sequence[Member]) -> Visits:
    for _ in cast.listen(*drivers):
        pass
    visits = Visits()
    for driver in drivers:
        visits.add(driver.result)
    return visits


def _drain_tail(stage: Stage) -> float:
    """Wait until the consolidator has folded everything; return how long that took, in ms; NaN where it gave up."""
    began = time.monotonic()
    with closing(Looking(stage, lambda connection: look_at_tail(connection, stage))) as look:
        emptied = wait_until_empty(look)
    return (time.monotonic() - began) * MS if emptied else math.nan


def _audit(stage: Stage, scenario: Scenario, record: Record) -> Remains:
    answered = [number for number, good in zip(record.visits.numbers, record.visits.succeeded, strict=True) if good]
    with stage.open_ledger() as ledger, stage.connect() as connection:
        reconciliation = reconcile(ledger)
        unbalanced = scenario.audit(ledger, connection, stage, answered) or imbalance(ledger)
        # A server that was killed counts from nothing again.
        deadlocks = max(0, count_deadlocks(connection) - record.deadlocks_before)
        return Remains(unbalanced, reconciliation, deadlocks)


def _silent(_: str) -> None:
    pass
