"""
How the doctor's samples look on a terminal: a screen that is drawn over, lines for a log, tables for one look.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Self

from lastro.cli.terminal import Terminal, shown
from lastro.doctor.documents import finding_document, sample_document
from lastro.doctor.finding import Finding
from lastro.doctor.readings import Reading, Sample

if TYPE_CHECKING:
    from rich.console import RenderableType

# What one look shows where nothing was found, and what the screen shows: whole numbers to the left of ages.
SHOWN: Final = (
    "sessions_busy", "sessions_waiting", "sessions_idle_in_transaction", "transaction_age", "lock_waits", "pool_waiting",
    "pool_longest_wait", "connections", "call_p99", "tail_age", "settlement_age", "outbox_age", "holds_overdue_age",
    "imports_age", "dead_rows", "partitions_ahead", "replica_lag", "replica_behind", "slot_kept", "open_incidents",
)  # fmt: skip
# Of readings with many subjects the highest are shown.
SUBJECTS_SHOWN_MAX: Final = 3
FINDINGS_SHOWN_MAX: Final = 4
DRAWN_A_SECOND: Final = 4
BIG_BYTES: Final = 1_048_576


def finding_rows(findings: Iterable[Finding]) -> list[dict[str, str]]:
    """
    Return findings as rows of a table.
    """
    return [
        {
            "severity": finding.severity,
            "finding": finding.code,
            "of": finding.subject,
            "evidence": finding.evidence,
            "to do": finding.advice,
            "wrong if": finding.disproved_by,
            "page": finding.page,
        }
        for finding in findings
    ]


def reading_rows(sample: Sample) -> list[dict[str, str]]:
    """
    Return the readings that a person looks at first.
    """
    return [
        {"reading": reading.name, "of": reading.subject, "value": said(reading)}
        for name in SHOWN
        for reading in _highest(sample, name)
    ]


def said(reading: Reading) -> str:
    """
    Return a reading's value for people.
    """
    value, unit = reading.value, reading.unit
    if not isinstance(value, int | float):
        return str(value)
    if unit == "bytes" and value >= BIG_BYTES:
        return f"{value / BIG_BYTES:,.1f} MiB"
    return f"{value:,} {unit}" if isinstance(value, int) else f"{value:,.1f} {unit}"


def _highest(sample: Sample, name: str) -> list[Reading]:
    found = [reading for reading in sample.named(name) if reading.value is not None]
    whole = [reading for reading in found if not reading.subject]
    parts = sorted((reading for reading in found if reading.subject), key=_size, reverse=True)
    return [*whole, *parts[:SUBJECTS_SHOWN_MAX]]


def _size(reading: Reading) -> float:
    return reading.value if isinstance(reading.value, int | float) else 0.0


class LogView:
    """
    A line a sample, and each finding in full when it is new; documents for machines.
    """

    def __init__(self, terminal: Terminal) -> None:
        self._terminal = terminal
        self._known: set[tuple[str, str]] = set()

    def show(self, window: Sequence[Sample], findings: Sequence[Finding]) -> None:
        """Show the newest sample of *window* and what was found in it."""
        document = sample_document(window[-1]) | {"findings": [finding_document(finding) for finding in findings]}
        if self._terminal.as_json:
            self._terminal.say_json(document)
            return
        self._terminal.say(_line(window, findings))
        for finding in findings:
            if (finding.code, finding.subject) not in self._known:
                self._terminal.say(f"  {finding.severity} {finding.code}, {finding.subject}: {finding.evidence}")
                self._terminal.say(f"    {finding.advice} ({finding.page})")
        self._known = {(finding.code, finding.subject) for finding in findings}


class Screen:
    """
    A screen that each sample is drawn over, on a terminal.
    """

    def __init__(self) -> None:
        from rich.console import Console
        from rich.live import Live

        self._live = Live(console=Console(), refresh_per_second=DRAWN_A_SECOND, transient=False)

    @classmethod
    def of_terminal(cls) -> Self | None:
        """Return a screen where standard output is a terminal."""
        return cls() if sys.stdout.isatty() else None

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._live.stop()

    def show(self, window: Sequence[Sample], findings: Sequence[Finding]) -> None:
        """Draw the newest sample of *window* and what was found in it."""
        self._live.update(drawn(window, findings))


def drawn(window: Sequence[Sample], findings: Sequence[Finding]) -> RenderableType:
    """
    Return the screen: one line on the whole, findings, and a table of readings, all short enough to be taken in.
    """
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    told: list[Any] = [Text(shown(_line(window, findings)), style="bold")]
    for finding in findings[:FINDINGS_SHOWN_MAX]:
        told.append(Text(shown(f"{finding.severity}: {finding.code}, {finding.subject}"), style="bold red"))
        told.append(Text(shown(f"  {finding.evidence}")))
        told.append(Text(shown(f"  → {finding.advice}"), style="green"))
    table = Table(box=None, pad_edge=False)
    for column in ("reading", "of", "value"):
        table.add_column(column, justify="right" if column == "value" else "left", overflow="fold")
    for row in reading_rows(window[-1]):
        table.add_row(*(Text(shown(value)) for value in row.values()))
    told.append(table)
    told += [Text(shown(f"unread: {one.name}: {one.trouble}"), style="yellow") for one in window[-1].troubles]
    return Group(*told)


def _line(window: Sequence[Sample], findings: Sequence[Finding]) -> str:
    last = window[-1]
    figures = {
        "busy": last.number("sessions_busy"),
        "waiting": last.number("sessions_waiting"),
        "commits/s": _rate(window, "commits"),
        "tail s": last.number("tail_age"),
    }
    codes = ", ".join(dict.fromkeys(finding.code for finding in findings)) or "well"
    return f"{last.at.isoformat(timespec='seconds')}  {_figures(figures)}  {codes}"


def _figures(figures: Mapping[str, float | None]) -> str:
    return "  ".join(f"{name} {'?' if value is None else f'{value:,.0f}'}" for name, value in figures.items())


def _rate(window: Sequence[Sample], name: str) -> float | None:
    if len(window) < 2:
        return None
    before, last = window[-2], window[-1]
    first, then = before.number(name), last.number(name)
    seconds = (last.at - before.at).total_seconds()
    return None if first is None or then is None or seconds <= 0 else (then - first) / seconds
