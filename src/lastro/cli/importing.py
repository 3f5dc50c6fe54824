"""
`lastro import`: spreadsheets read by their specs, and every cell that isn't what it should be.
"""

from __future__ import annotations

import re
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lastro.cli.command import command
from lastro.cli.exits import REFUSED
from lastro.cli.terminal import Terminal
from lastro.errors import InvalidInput

if TYPE_CHECKING:
    from lastro.imports import FileReport, Progress, SheetReport, SheetSpec, Taken

PERIOD = re.compile(r"[0-9]{4}-(0[1-9]|1[0-2])")
# Where a file has no sheet to tell of, and a sheet nothing.
NONE = ""


def register(app: typer.Typer) -> None:
    """
    Add the command to *app*.
    """
    # Reading needs no database.
    command(app, "import", shared=("as_json",))(import_)


def import_(
    terminal: Terminal,
    *,
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="A zip of spreadsheets, or one of them.", show_default=False)
    ],
    check: Annotated[bool, typer.Option("--check", help="Read and report; nothing is stored.")] = False,
    specs: Annotated[
        Path | None,
        typer.Option("--specs", metavar="TOML", help="What the sheets must be.", show_default="billing and movements"),
    ] = None,
    period: Annotated[
        str | None,
        typer.Option("--period", metavar="YYYY-MM", help="Rows of other months are rejected.", show_default=False),
    ] = None,
    code_page: Annotated[
        str, typer.Option("--code-page", help="Of names in a zip that are neither flagged nor UTF-8.")
    ] = "cp437",
) -> None:
    """
    Read spreadsheets by their specs and name every cell that isn't what it should be.
    """
    from lastro.imports import parse, read_specs, ready_specs, take

    if not check:
        raise typer.BadParameter("give --check: it reads and reports, and stores nothing", param_hint="--check")
    if period is not None and not PERIOD.fullmatch(period):
        raise InvalidInput(f"--period takes a month like 2026-11; got {period!r}", argument="period")
    if not file.is_file():
        raise InvalidInput(f"there is no file {file}", argument="file")
    wanted = ready_specs() if specs is None else read_specs(specs)
    with tempfile.TemporaryDirectory(prefix="lastro-import-") as folder:
        members, staged = Path(folder) / "members", Path(folder) / "staged"
        members.mkdir()
        staged.mkdir()
        taken = take(file, members, code_page=_codec(code_page))
        with _progress(shown=not terminal.as_json) as on_progress:
            reports = parse(taken.sources, wanted, folder=staged, period=period, on_progress=on_progress)
    _show(terminal, wanted, taken, reports)
    if any(report.status != "parsed" for report in reports):
        raise typer.Exit(REFUSED)


def _show(terminal: Terminal, specs: tuple[SheetSpec, ...], taken: Taken, reports: list[FileReport]) -> None:
    document = {
        "specs": [spec.name for spec in specs],
        "files": [_file_document(report) for report in reports],
        "passed_over": taken.passed_over,
    }
    good = sum(report.status == "parsed" for report in reports)
    terminal.show(
        document,
        table=[row for report in reports for row in _lines(report)],
        note=f"{good} of {len(reports)} files are good; nothing was stored",
    )
    for report in reports:
        if report.error is not None:
            terminal.say(f"{report.file}: {report.error}")
        for sheet in report.sheets:
            for rejection in sheet.rejections:
                terminal.say(
                    f"{rejection.file}, {rejection.sheet}, {rejection.cell}: {rejection.value!r} {rejection.reason}"
                )
            more = sheet.cells_rejected - len(sheet.rejections)
            if more:
                terminal.say(f"{report.file}, {sheet.sheet}: {more} more")


def _lines(report: FileReport) -> Iterator[dict[str, str]]:
    if not report.sheets:
        yield {"file": report.file, "sheet": NONE, "spec": NONE, "status": report.status, "rows": "0", "rejected": "0"}
    for sheet in report.sheets:
        yield {
            "file": report.file,
            "sheet": sheet.sheet,
            "spec": sheet.spec,
            "status": "rejected" if sheet.rejected else "parsed",
            "rows": str(sheet.rows),
            "rejected": str(sheet.rejected),
        }


def _file_document(report: FileReport) -> dict[str, Any]:
    return {
        "file": report.file,
        "status": report.status,
        "error": report.error,
        "sheets": [_sheet_document(sheet) for sheet in report.sheets],
    }


def _sheet_document(sheet: SheetReport) -> dict[str, Any]:
    return {
        "spec": sheet.spec,
        "sheet": sheet.sheet,
        "rows": sheet.rows,
        "rejected": sheet.rejected,
        "cells_rejected": sheet.cells_rejected,
        "blank": sheet.blank,
        "totals": sheet.totals,
        "hidden": sheet.hidden,
        "fields": list(sheet.fields),
        "missing": list(sheet.missing),
        "unread": list(sheet.unread),
        "notes": dict(sheet.notes),
        "rejections": [{"cell": one.cell, "value": one.value, "reason": one.reason} for one in sheet.rejections],
    }


@contextmanager
def _progress(*, shown: bool) -> Iterator[Callable[[Progress], None]]:
    """A bar for each file while it is read, on a terminal; silence anywhere else."""
    if not shown or not sys.stderr.isatty():
        yield lambda progress: None
        return
    from rich.console import Console
    from rich.markup import escape
    from rich.progress import Progress as Bars

    with Bars(console=Console(stderr=True), transient=True) as bars:
        tasks: dict[str, Any] = {}

        def tell(progress: Progress) -> None:
            if progress.file not in tasks:
                tasks[progress.file] = bars.add_task(escape(progress.file), total=1.0)
            bars.update(tasks[progress.file], completed=progress.share)

        yield tell


def _codec(name: str) -> str:
    try:
        "".encode(name)
    except LookupError:
        raise InvalidInput(f"--code-page names no encoding: {name!r}", argument="code_page") from None
    return name
