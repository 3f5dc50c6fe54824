"""
`lastro doctor`: what holds the latency, by readings of the database while it works.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated, Final

import typer

from lastro.cli.command import command
from lastro.cli.doctor_view import LogView, Screen, finding_rows, reading_rows
from lastro.cli.exits import NOT_DONE, REFUSED
from lastro.cli.terminal import Terminal
from lastro.cli.working import log_to_stderr
from lastro.doctor.documents import diagnosis_document
from lastro.doctor.finding import Finding
from lastro.doctor.readings import Sample
from lastro.doctor.record import Record
from lastro.doctor.remedies import apply as apply_remedy
from lastro.doctor.report import report as report_page
from lastro.doctor.serving import MetricsPage
from lastro.doctor.settings import STORAGE, Advised, advised
from lastro.doctor.taking import Readings
from lastro.errors import InvalidInput, LastroError
from lastro.workers.crew import Crew
from lastro.workers.loop import Facts

LOOKED_FOR_S: Final = 5.0
LOOK_EVERY_S: Final = 0.5
WATCH_EVERY_S: Final = 1.0
WATCH_EVERY_MIN_S: Final = 0.1
MS_IN_A_SECOND: Final = 1_000

Watch = Annotated[
    float | None,
    typer.Option(
        "--watch", metavar="SECONDS", min=WATCH_EVERY_MIN_S, help="Again and again until SIGTERM.", show_default="once"
    ),
]
LookedFor = Annotated[float, typer.Option("--for", metavar="SECONDS", min=0.0, help="How long one look goes on.")]
ReportFile = Annotated[
    Path | None,
    typer.Option(
        "--report", metavar="FILE", help="Write a page: findings, every reading over time.", show_default=False
    ),
]
Listen = Annotated[
    str | None,
    typer.Option(
        "--listen", metavar="HOST:PORT", help="Serve /metrics for Prometheus (and watch).", show_default=False
    ),
]
Pooler = Annotated[
    str | None,
    typer.Option(
        "--pooler",
        metavar="URL",
        help="A PgBouncer's console: postgresql://user@host:6432/pgbouncer.",
        show_default=False,
    ),
]
Unprepared = Annotated[
    bool, typer.Option("--unprepared", help="The applications send no prepared statements (prepared=False).")
]
ShowSettings = Annotated[
    bool, typer.Option("--settings", help="Show settings as they should be, each with its reason and its SQL.")
]
Apply = Annotated[
    bool, typer.Option("--apply", help="Do what is advised where the ledger can: another keeping, partitions.")
]


def register(app: typer.Typer) -> None:
    """
    Add the command to *app*.
    """
    command(app, "doctor")(doctor)


def doctor(
    terminal: Terminal,
    *,
    watch: Watch = None,
    looked_for: LookedFor = LOOKED_FOR_S,
    report: ReportFile = None,
    listen: Listen = None,
    pooler: Pooler = None,
    unprepared: Unprepared = False,
    settings: ShowSettings = False,
    apply: Apply = False,
) -> None:
    """
    Read the database while it works, and name what holds the latency.

    Exits 0 where all is well, 1 with findings, 2 where something couldn't be read and nothing else was found.
    """
    with ExitStack() as stack:
        try:
            readings = stack.enter_context(
                Readings(terminal.database_url(), ledger=terminal.ledger_name, pooler=pooler, prepared=not unprepared)
            )
            if settings:
                _show_settings(terminal, readings.take())
                return
            if watch is not None or listen is not None:
                record = _watch(terminal, readings, every_s=watch or WATCH_EVERY_S, listen=listen)
            else:
                record = _look(readings, looked_for)
        except LastroError as error:
            terminal.fail(error)
            raise typer.Exit(NOT_DONE) from None
    samples, findings = record.samples, record.findings()
    applied = _applied(terminal, findings) if apply else []
    if report is not None and samples:
        _write(report, report_page(samples, findings))
    if watch is None and listen is None:
        _show(terminal, samples, findings, applied)
    if findings:
        raise typer.Exit(REFUSED)
    if not samples or samples[-1].troubles:
        raise typer.Exit(NOT_DONE)


def _look(readings: Readings, seconds: float) -> Record:
    """One look: all of its samples are the window."""
    record = Record(window_s=math.inf)
    until_s = time.monotonic() + seconds
    record.add(readings.take())
    while time.monotonic() < until_s:
        time.sleep(LOOK_EVERY_S)
        record.add(readings.take())
    return record


def _watch(terminal: Terminal, readings: Readings, *, every_s: float, listen: str | None) -> Record:
    log_to_stderr()
    record = Record()
    with ExitStack() as stack:
        if listen is not None:
            host, port = _place(listen)
            try:
                page = stack.enter_context(MetricsPage(record, host=host, port=port))
            except OSError as error:
                raise InvalidInput(f"can't listen at {listen}: {error.strerror}", argument="listen") from error
            terminal.say(f"readings at http://{host}:{page.port}/metrics")
        screen = None if terminal.as_json else Screen.of_terminal()
        view: Screen | LogView = LogView(terminal) if screen is None else stack.enter_context(screen)
        watcher = _Watcher(readings, record, view, interval_ms=int(every_s * MS_IN_A_SECOND))
        Crew([watcher], stop=threading.Event()).run(signals=True)
    return record


class _Watcher:
    """
    One sample a tick, shown and kept.
    """

    name = "doctor"
    jitter = 0.0

    def __init__(self, readings: Readings, record: Record, view: Screen | LogView, *, interval_ms: int) -> None:
        self.interval_ms = interval_ms
        self._readings = readings
        self._record = record
        self._view = view

    def run_once(self) -> Facts:
        """Take a sample."""
        sample = self._readings.take()
        self._record.add(sample)
        self._view.show(self._record.window(), self._record.findings())
        return Facts({"readings": len(sample.readings)})

    def close(self) -> None:
        """Let go of the connection; the next tick opens a new one."""
        self._readings.close()


def _place(listen: str) -> tuple[str, int]:
    host, _, port = listen.rpartition(":")
    if not port.isdigit():
        raise InvalidInput(f"--listen takes HOST:PORT, as in 127.0.0.1:9187; got {listen!r}", argument="listen")
    return host or "127.0.0.1", int(port)


def _write(file: Path, page: str) -> None:
    try:
        file.write_text(page, encoding="utf-8")
    except OSError as error:
        raise InvalidInput(f"can't write {file}: {error.strerror}", argument="report") from error


def _applied(terminal: Terminal, findings: Sequence[Finding]) -> list[str]:
    with terminal.opened() as ledger:
        done = [apply_remedy(ledger, finding) for finding in findings]
    return [each for each in done if each is not None]


def _show(terminal: Terminal, samples: Sequence[Sample], findings: Sequence[Finding], applied: Sequence[str]) -> None:
    document = diagnosis_document(samples, findings) | {"applied": list(applied)}
    unread = [f"{one.name} couldn't be read: {one.trouble}" for one in samples[-1].troubles]
    well = [] if findings else ["nothing was found" + (" in what could be read" if unread else "")]
    table = finding_rows(findings) if findings else reading_rows(samples[-1])
    terminal.show(document, table=table, note="\n".join([*unread, *applied, *well]))


def _show_settings(terminal: Terminal, sample: Sample) -> None:
    found = {one.subject: (str(one.value), "" if one.unit == "value" else one.unit) for one in sample.named("setting")}
    told = advised(found)
    for one in sample.named("storage_settings"):
        wanted = ", ".join(f"{name} = {value}" for name, value in STORAGE[one.subject].items())
        why = "many updates and deletions: room on the page, and vacuum by volume; `lastro migrate` sets it"
        told.append(Advised(f"table {one.subject}", str(one.value), wanted, why, one.detail["sql"]))
    terminal.show(
        {"settings": [each._asdict() for each in told]},
        table=[
            {"setting": each.name, "is": each.value, "should be": each.wanted, "why": each.why, "SQL": each.sql or ""}
            for each in told
        ],
        note="\n".join(f"{one.name} couldn't be read: {one.trouble}" for one in sample.troubles),
    )
