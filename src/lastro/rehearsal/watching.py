"""
The doctor beside a rehearsal: samples on the run's own clock, their readings as lines, and what they find in each phase.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import psycopg

from lastro.doctor.documents import finding_document
from lastro.doctor.finding import SEVERITIES, Finding
from lastro.doctor.findings import find
from lastro.doctor.readings import Sample
from lastro.doctor.taking import Readings
from lastro.errors import LastroError
from lastro.rehearsal.books_kept import look_at_tail
from lastro.rehearsal.member import Line
from lastro.rehearsal.scenario import Queue, Scenario
from lastro.rehearsal.stage import Stage
from lastro.rehearsal.verdict import json_value

SAMPLE_EVERY_S = 0.5
# Of readings that have a subject (accounts, tables, sessions) those with the highest values are drawn.
SUBJECTS_DRAWN_MAX = 6
POINTS_MAX = 20_000
WINDOW_SAMPLES = 6
FINDINGS_MAX = 20


class Seen(NamedTuple):
    """
    One look: when (seconds of the run), what the doctor read, and what waited in the queue and in the tail.
    """

    at_s: float
    sample: Sample
    queue: Queue
    tail: Queue


@dataclass
class Watched:
    """
    All looks of a run, and for how many the database wasn't there.
    """

    seen: list[Seen] = field(default_factory=list)
    lost: int = 0
    trouble: str | None = None


class Series(NamedTuple):
    """
    One reading over the run's time.
    """

    name: str
    subject: str
    unit: str
    points: list[tuple[float, float]]


def watch(line: Line, stage: Stage, scenario: Scenario) -> Watched:
    """
    Take a sample every half a second until told to stop. A server that isn't there for a while leaves a gap.
    """
    watched = Watched()
    with Readings(stage.named("rehearsal doctor"), ledger=stage.ledger, prepared=stage.prepared) as readings:
        connection = stage.connect()
        began = line.wait_for_start()
        due = began
        while not line.stopped(max(0.0, due - time.monotonic())) and len(watched.seen) < POINTS_MAX:
            due = max(due + SAMPLE_EVERY_S, time.monotonic())
            try:
                if connection.closed:
                    connection = stage.connect()
                at_s = time.monotonic() - began
                queue, tail = scenario.waiting(connection, stage), look_at_tail(connection, stage)
                watched.seen.append(Seen(at_s, readings.take(), queue, tail))
            except (LastroError, psycopg.Error) as error:
                watched.lost += 1
                watched.trouble = str(error)
        with suppress(psycopg.Error):
            connection.close()
    return watched


def series_of(watched: Watched, scenario: Scenario) -> list[Series]:
    """
    Return every numeric reading as a line: ours of the queue and the tail first, then the doctor's by name.
    """
    lines = [
        Series(
            f"{scenario.queue}: waiting",
            "",
            scenario.queue_unit,
            [(seen.at_s, seen.queue.rows) for seen in watched.seen],
        ),
        Series(
            f"{scenario.queue}: age of the oldest", "", "ms", [(seen.at_s, seen.queue.age_ms) for seen in watched.seen]
        ),
        Series("tail: entries", "", "rows", [(seen.at_s, seen.tail.rows) for seen in watched.seen]),
    ]
    found: dict[tuple[str, str], Series] = {}
    for seen in watched.seen:
        for reading in seen.sample.readings:
            if isinstance(reading.value, int | float) and math.isfinite(reading.value) and reading.name != "setting":
                key = (reading.name, reading.subject)
                line = found.setdefault(key, Series(*key, reading.unit, []))
                line.points.append((seen.at_s, float(reading.value)))
    return lines + _drawn(found.values())


def findings_of(watched: Watched, burst: tuple[float, float] | None) -> list[dict[str, Any]]:
    """
    Return what the doctor finds during the burst, before and after it; each finding once, where it was seen first.

    The doctor judges a window, and a mechanism that holds for two seconds is lost in a window of a minute: so it looks
    at every few samples that follow one another, within each phase.
    """
    if burst is None:
        phases = [("the run", -math.inf, math.inf)]
    else:
        began_s, ended_s = burst
        phases = [
            ("the burst", began_s, ended_s + SAMPLE_EVERY_S),
            ("before the burst", -math.inf, began_s),
            ("after the burst", ended_s + SAMPLE_EVERY_S, math.inf),
        ]
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for phase, from_s, until_s in phases:
        seen = [each for each in watched.seen if from_s <= each.at_s < until_s]
        for window in _windows(seen):
            for finding in find([each.sample for each in window]):
                told = found.setdefault((finding.code, finding.subject), _told(finding, phase, window[0].at_s))
                if told["phase"] == phase:
                    told["until_s"], told["windows"] = round(window[-1].at_s, 2), told["windows"] + 1
    # Of equally grave ones the one that held longest: what else was seen, for a moment, mostly follows from it.
    ordered = sorted(found.values(), key=lambda told: (SEVERITIES.index(told["severity"]), -told["windows"]))
    return ordered[:FINDINGS_MAX]


def _windows(seen: Sequence[Seen]) -> Iterator[Sequence[Seen]]:
    if len(seen) <= WINDOW_SAMPLES:
        yield seen
        return
    for start in range(len(seen) - WINDOW_SAMPLES + 1):
        yield seen[start : start + WINDOW_SAMPLES]


def troubles_of(watched: Watched) -> list[str]:
    """
    Return what the doctor could not read, each once.
    """
    troubles = {f"{one.name}: {one.trouble}" for seen in watched.seen for one in seen.sample.troubles}
    if watched.lost:
        troubles.add(f"{watched.lost} looks found no server: {watched.trouble}")
    return sorted(troubles)


def as_json(lines: Sequence[Series]) -> list[dict[str, Any]]:
    """
    Return lines as `--json` has them.
    """
    return [
        {
            "name": line.name,
            "subject": line.subject,
            "unit": line.unit,
            "points": [[round(at_s, 3), json_value(value)] for at_s, value in line.points],
        }
        for line in lines
    ]


def _drawn(lines: Iterable[Series]) -> list[Series]:
    by_name: dict[str, list[Series]] = {}
    for line in lines:
        by_name.setdefault(line.name, []).append(line)
    drawn: list[Series] = []
    for name in sorted(by_name):
        highest = sorted(by_name[name], key=lambda line: -max(value for _, value in line.points))
        drawn += highest[:SUBJECTS_DRAWN_MAX]
    return drawn


def _told(finding: Finding, phase: str, from_s: float) -> dict[str, Any]:
    at_s = round(from_s, 2)
    return finding_document(finding) | {"phase": phase, "from_s": at_s, "until_s": at_s, "windows": 0}
