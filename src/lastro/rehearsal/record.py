"""
What a rehearsal recorded: the figures that criteria are held against, and the document that `--json` prints.
"""

from __future__ import annotations

import math
import platform
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import version
from itertools import chain
from typing import Any, NamedTuple

from lastro.rehearsal.books_kept import Reconciliation
from lastro.rehearsal.crew import CrewFacts
from lastro.rehearsal.criteria import Criteria
from lastro.rehearsal.disturbing import Disturbances, Event
from lastro.rehearsal.measuring import (
    LATE_MS,
    Generator,
    Phases,
    Times,
    generator_of,
    last_end_of,
    phases_of,
    stretches_of,
)
from lastro.rehearsal.open_loop import Visits
from lastro.rehearsal.programme import Programme
from lastro.rehearsal.scenario import Queue, Scenario
from lastro.rehearsal.verdict import Figure, Verdict, json_value, shown
from lastro.rehearsal.watching import Watched, as_json, findings_of, series_of, troubles_of

# The form of the document; a comparison refuses another.
FORM = 1
_LATENCIES = ("p50_ms", "p95_ms", "p99_ms", "max_ms")


class Remains(NamedTuple):
    """
    What the audit found: how the books don't balance (None: they do), what reconciliation says, deadlocks of the run.
    """

    unbalanced: str | None
    reconciliation: Reconciliation
    deadlocks: int


@dataclass
class Record:
    """
    Everything that a run left: visits, disturbances, queue and tail as the load ended, results of the processes by name.
    """

    scenario: Scenario
    programme: Programme
    visits: Visits
    happened: Disturbances
    backlog: Queue
    tail: Queue
    tail_drained_ms: float
    results: dict[str, Any]
    watched: Watched
    idle: list[Event]
    deadlocks_before: int
    remains: Remains = field(default_factory=lambda: Remains(None, Reconciliation(0, 0), 0))
    criteria: Criteria = field(default_factory=Criteria)

    @property
    def burst(self) -> tuple[float, float] | None:
        """From when to when the burst lasted: until its work was done, a second at least."""
        if self.happened.burst is not None:
            return self.happened.burst.at_s, self.happened.burst.until_s
        if self.programme.burst:
            at_s = self.programme.burst_at_s
            return at_s, max(at_s + 1.0, last_end_of(self.visits, at_s))
        return None

    @property
    def phases(self) -> Phases:
        """The times of the visits, by phase."""
        return phases_of(self.visits, warm_up_s=self.programme.warm_up_s, burst=self.burst)

    @property
    def generator(self) -> Generator:
        """How the generator did."""
        return generator_of(self.visits, seconds=self.programme.seconds)

    @property
    def batches_ms(self) -> list[float]:
        """How long the batches of the queue's workers took."""
        crews = (result for result in self.results.values() if isinstance(result, CrewFacts))
        return list(chain.from_iterable(crew.batches_ms for crew in crews))


def figures_of(record: Record) -> dict[str, Figure]:
    """
    Return what each criterion is held against, by its name.
    """
    figures = dict(_waited(record))
    if not record.scenario.arrives_at_once:
        figures["afterwards.backlog_age_ms_max"] = Figure(record.backlog.age_ms)
        if record.programme.burst:
            drained = record.happened.drained_ms
            figures["afterwards.backlog_drained_ms_max"] = Figure(math.nan if drained is None else drained)
    figures["afterwards.tail_age_ms_max"] = Figure(record.tail.age_ms)
    figures["afterwards.tail_drained_ms_max"] = Figure(record.tail_drained_ms)
    figures["database.deadlocks_max"] = Figure(record.remains.deadlocks)
    figures["books.drift_max"] = Figure(record.remains.reconciliation.drifted)
    figures["books.incidents_max"] = Figure(record.remains.reconciliation.incidents)
    return figures


def trouble_of(record: Record) -> str | None:
    """
    Say what kept the load from being made as it was asked for; None where nothing did.
    """
    generator = record.generator
    if generator.held:
        return None
    return (
        f"the generator couldn't hold its rate: {generator.started_late:,} of {generator.arrivals:,} arrivals that a free "
        f"client waited for began more than {LATE_MS:.0f} ms late. Give it a machine of its own, or a lower rate"
    )


def document_of(record: Record, verdict: Verdict) -> dict[str, Any]:
    """
    Return the whole run as JSON has it; the report is drawn from this and nothing else.
    """
    scenario, programme, phases = record.scenario, record.programme, record.phases
    return {
        "form": FORM,
        "scenario": scenario.name,
        "planted": scenario.planted,
        "waits_for": scenario.waits_for,
        "ended_at": datetime.now(UTC).isoformat(timespec="seconds"),
        **verdict.as_dict(),
        "criteria_from": record.criteria.source,
        "programme": programme.as_dict(),
        "measured": {name: json_value(value) for name, value in _measured(record).items()},
        "phases": {name: _plain(times) for name, times in phases._asdict().items() if times is not None},
        "generator": {
            **record.generator._asdict(),
            "cpu_share": round(record.generator.cpu_share, 5),
            "held": record.generator.held,
        },
        "events": [_plain(event) for event in _events(record)],
        "stretches": [_plain(stretch) for stretch in stretches_of(record.visits, seconds=programme.seconds)],
        "readings": as_json(series_of(record.watched, scenario)),
        "findings": findings_of(record.watched, record.burst),
        "unread": troubles_of(record.watched),
        "workers": {
            name: {"figures": result.figures, "errors": result.errors}
            for name, result in record.results.items()
            if isinstance(result, CrewFacts)
        },
        "made_by": {"lastro": version("lastro"), "python": platform.python_version()},
    }


def _waited(record: Record) -> Iterator[tuple[str, Figure]]:
    waits_for, phases = record.scenario.waits_for, record.phases
    yield from _latencies(waits_for, phases.whole)
    # Whatever failed failed, in the warm-up too.
    yield f"{waits_for}.errors_max", Figure(sum(record.visits.errors.values()))
    if phases.burst is None:
        return
    yield from _latencies("burst", phases.burst)
    ratio, own = phases.burst.p99_ms / phases.before.p99_ms, phases.burst.own_p99_ms / phases.before.own_p99_ms
    aside = _aside(record, "burst.ratio_counts_from_ms", phases.burst.p99_ms)
    yield "burst.p99_ratio_max", Figure(ratio, own, aside)
    aside = _aside(record, "burst.longest_counts_from_ms", phases.burst.max_ms)
    drained_ms = record.happened.drained_ms
    if drained_ms:
        longest = Figure(phases.burst.max_ms / drained_ms, phases.burst.own_max_ms / drained_ms, aside)
        yield "burst.longest_over_drain_max", longest
    if record.batches_ms:
        batch_ms = max(record.batches_ms)
        longest = Figure(phases.burst.max_ms / batch_ms, phases.burst.own_max_ms / batch_ms, aside)
        yield "burst.longest_over_batch_max", longest


def _aside(record: Record, name: str, took_ms: float) -> str | None:
    from_ms = record.criteria.get(name) or 0.0
    return f"it counts from {shown(from_ms)} ms on, and they took {shown(took_ms)} ms" if took_ms < from_ms else None


def _latencies(section: str, times: Times) -> Iterator[tuple[str, Figure]]:
    for name in _LATENCIES:
        yield f"{section}.{name}_max", Figure(getattr(times, name), times.own(name))


def _measured(record: Record) -> dict[str, Any]:
    visits, phases, generator = record.visits, record.phases, record.generator
    completed = sum(visits.succeeded)
    drained = record.happened.drained_ms
    found: dict[str, Any] = {
        "arrivals": len(visits),
        "completed": completed,
        "errors": dict(visits.errors),
        "lost_tries": visits.lost_tries,
        "intended_per_second": len(visits) / record.programme.seconds,
        "completed_per_second": completed / max(visits.ended_s, default=math.nan),
        **{name: getattr(phases.whole, name) for name in _LATENCIES},
        "started_late": generator.started_late,
        "waited_for_a_client": generator.waited,
        "backlog_rows": record.backlog.rows,
        "backlog_age_ms": record.backlog.age_ms,
        "backlog_drained_ms": math.nan if drained is None else drained,
        "tail_rows": record.tail.rows,
        "tail_age_ms": record.tail.age_ms,
        "tail_drained_ms": record.tail_drained_ms,
        "deadlocks": record.remains.deadlocks,
        "drifted": record.remains.reconciliation.drifted,
        "incidents": record.remains.reconciliation.incidents,
        "unbalanced": record.remains.unbalanced,
        **record.scenario.figures(record.results),
    }
    if record.batches_ms:
        found["longest_batch_ms"] = max(record.batches_ms)
    return found


def _events(record: Record) -> list[Event]:
    events = [*record.idle]
    if record.burst is not None:
        said = record.happened.burst.what if record.happened.burst else None
        at_s, until_s = record.burst
        events.append(Event(at_s, until_s, said or record.scenario.burst.format(burst=f"{record.programme.burst:,}")))
    if record.happened.crash is not None:
        events.append(record.happened.crash)
    return sorted(events)


def _plain(values: Any) -> dict[str, Any]:
    return {name: json_value(value) for name, value in values._asdict().items()}
