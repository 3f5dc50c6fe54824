"""
`lastro import`: spreadsheets read by their specs and merged into their sheets; and every cell that isn't what it should be.
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

from lastro.cli.arguments import Actor
from lastro.cli.command import command
from lastro.cli.exits import REFUSED
from lastro.cli.importing_documents import (
    change_document,
    checked_rows,
    file_document,
    merged_rows,
    merges_document,
    report_document,
    said_change,
)
from lastro.cli.terminal import CONNECTIONS_SIDE_BY_SIDE, Terminal
from lastro.errors import InvalidInput

if TYPE_CHECKING:
    from lastro.imports import FileReport, Progress, SheetSpec, Taken
    from lastro.imports.merges import ImportRequest, Preview
    from lastro.ledger import Ledger

PERIOD = re.compile(r"[0-9]{4}-(0[1-9]|1[0-2])")
FILES_LISTED_MAX = 1_000

Period = Annotated[
    str | None,
    typer.Option(
        "--period",
        metavar="YYYY-MM",
        help="Rows of other months are rejected, and those of this one that a file lacks are deleted.",
        show_default=False,
    ),
]
Specs = Annotated[
    Path | None,
    typer.Option("--specs", metavar="TOML", help="What the sheets must be.", show_default="billing and movements"),
]
CodePage = Annotated[str, typer.Option("--code-page", help="Of names in a zip that are neither flagged nor UTF-8.")]


def register(app: typer.Typer) -> None:
    """
    Add the commands to *app*.
    """
    command(app, "import")(import_)
    command(app, "imports")(imports)


def import_(
    terminal: Terminal,
    *,
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="A zip of spreadsheets, or one of them.", show_default=False)
    ],
    period: Period = None,
    specs: Specs = None,
    check: Annotated[bool, typer.Option("--check", help="Read and report, without a database.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would change; nothing is stored.")] = False,
    queue: Annotated[bool, typer.Option("--queue", help="Leave the merging to `lastro work import`.")] = False,
    declare: Annotated[bool, typer.Option("--declare", help="Make the tables of the specs where needed.")] = False,
    allow_shrink: Annotated[
        bool, typer.Option("--allow-shrink", help="Delete also where a file lacks much of its month.")
    ] = False,
    quarantine: Annotated[
        bool, typer.Option("--quarantine", help="Keep rejected rows aside, and merge the others.")
    ] = False,
    code_page: CodePage = "cp437",
    actor: Actor = None,
) -> None:
    """
    Merge spreadsheets into their sheets, each file in one transaction, and name every cell that isn't what it should be.
    """
    from lastro.imports import read_specs, ready_specs

    if check + dry_run + queue > 1:
        raise typer.BadParameter("give one of --check, --dry-run and --queue", param_hint="--check")
    _refuse_odd(file, period)
    wanted = ready_specs() if specs is None else read_specs(specs)
    terms: dict[str, Any] = {
        "period": period,
        "specs": wanted,
        "allow_shrink": allow_shrink,
        "quarantine": quarantine,
        "code_page": _codec(code_page),
    }
    if check:
        _check(terminal, file, terms)
        return
    with terminal.connect(connections=CONNECTIONS_SIDE_BY_SIDE) as ledger:
        for spec in wanted if declare else ():
            ledger.imports.declare(spec)
        if dry_run:
            _preview(terminal, ledger, file, terms)
        else:
            _merge(terminal, ledger, ledger.imports.send(file, actor=actor, **terms), queue=queue)


def _refuse_odd(file: Path, period: str | None) -> None:
    if period is not None and not PERIOD.fullmatch(period):
        raise InvalidInput(f"--period takes a month like 2026-11; got {period!r}", argument="period")
    if not file.is_file():
        raise InvalidInput(f"there is no file {file}", argument="file")


def imports(
    terminal: Terminal,
    *,
    file_id: Annotated[
        int | None, typer.Argument(metavar="[FILE_ID]", help="Show the log of this file's job.", show_default=False)
    ] = None,
    limit: Annotated[int, typer.Option("--limit", min=1, max=FILES_LISTED_MAX)] = 20,
) -> None:
    """
    List the files that were sent to be merged, the newest first; or show the log of one.
    """
    with terminal.opened() as ledger:
        if file_id is None:
            files = ledger.imports.files(limit=limit)
            terminal.show(
                {"files": [file_document(each, None) for each in files]},
                table=[row for each in files for row in merged_rows(each, numbered=True)],
            )
            return
        found, log = ledger.imports.file(file_id), ledger.imports.log(file_id)
    terminal.show(
        file_document(found, log),
        table=[{"at": each.recorded_at.isoformat(), "said": each.line} for each in log],
        note=f"{found.file}: {found.status}",
    )


def _merge(terminal: Terminal, ledger: Ledger, request: ImportRequest, *, queue: bool) -> None:
    if not queue:
        with _progress(shown=not terminal.as_json) as on_progress:
            ledger.imports.work(request_id=request.request_id, on_progress=on_progress)
    files = ledger.imports.files(request_id=request.request_id, limit=FILES_LISTED_MAX)
    logs = {each.file_id: ledger.imports.log(each.file_id) for each in files}
    merged = sum(each.status == "merged" for each in files)
    terminal.show(
        {
            "request_id": request.request_id,
            "files": [file_document(each, logs[each.file_id]) for each in files],
            "passed_over": list(request.passed_over),
        },
        table=[row for each in files for row in merged_rows(each)],
        note=f"{merged} of {len(files)} files are merged (request {request.request_id})",
    )
    for each in files:
        if each.status == "error":
            for line in logs[each.file_id]:
                terminal.say(f"{each.file}: {line.line}")
    if any(each.status == "error" for each in files):
        raise typer.Exit(REFUSED)


def _preview(terminal: Terminal, ledger: Ledger, file: Path, terms: dict[str, Any]) -> None:
    with _progress(shown=not terminal.as_json) as on_progress:
        previews: list[Preview] = ledger.imports.preview(file, on_progress=on_progress, **terms)
    terminal.show(
        {
            "files": [
                {
                    "file": each.file,
                    "reason": each.reason,
                    "sheets": merges_document(each.sheets),
                    "changes": [change_document(change) for change in each.changes],
                }
                for each in previews
            ]
        },
        table=[row for each in previews for row in merged_rows(each)],
        note="nothing was stored",
    )
    for each in previews:
        for change in each.changes:
            terminal.say(f"{each.file}: {said_change(change)}")
        if each.reason is not None:
            terminal.say(f"{each.file} would be refused: {each.reason}")
    if any(each.reason is not None for each in previews):
        raise typer.Exit(REFUSED)


def _check(terminal: Terminal, file: Path, terms: dict[str, Any]) -> None:
    from lastro.imports import parse, take

    with tempfile.TemporaryDirectory(prefix="lastro-import-") as folder:
        members, staged = Path(folder) / "members", Path(folder) / "staged"
        members.mkdir()
        staged.mkdir()
        taken = take(file, members, code_page=terms["code_page"])
        with _progress(shown=not terminal.as_json) as on_progress:
            reports = parse(
                taken.sources, terms["specs"], folder=staged, period=terms["period"], on_progress=on_progress
            )
    _show_checked(terminal, terms["specs"], taken, reports)
    if any(report.status != "parsed" for report in reports):
        raise typer.Exit(REFUSED)


def _show_checked(terminal: Terminal, specs: tuple[SheetSpec, ...], taken: Taken, reports: list[FileReport]) -> None:
    document = {
        "specs": [spec.name for spec in specs],
        "files": [report_document(report) for report in reports],
        "passed_over": taken.passed_over,
    }
    good = sum(report.status == "parsed" for report in reports)
    terminal.show(
        document,
        table=[row for report in reports for row in checked_rows(report)],
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
