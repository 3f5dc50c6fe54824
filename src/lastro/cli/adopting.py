"""
`lastro adopt`: take over balances from a column of the application's own, step by step, and give them back.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from lastro.adopting.declaration import OldColumn, from_toml
from lastro.adopting.values import Adoption, AdoptionReport, AdoptionSurvey, Difference
from lastro.cli.adoption_documents import (
    adoption_document,
    adoption_event_document,
    difference_document,
    report_document,
    survey_document,
)
from lastro.cli.arguments import Actor, shown_amount
from lastro.cli.command import command
from lastro.cli.exits import REFUSED
from lastro.cli.terminal import Terminal
from lastro.errors import InvalidInput
from lastro.model.limits import (
    ADOPTION_BLOCK_MS_MAX,
    ADOPTION_COMPARED_WITHIN_S,
    ADOPTION_DIFFERENCES_MAX,
    ADOPTION_EVENTS_MAX,
)

SHOWN = 100

Declaration = Annotated[
    Path, typer.Argument(metavar="FILE.toml", help="The declaration: table, id, balance, …", show_default=False)
]
AdoptionName = Annotated[str, typer.Argument(metavar="NAME", help="The adoption's name.", show_default=False)]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Change nothing; say what would be done, and what can't be.")]


def register(app: typer.Typer) -> None:
    """
    Add the commands to *app*.
    """
    adoptions = typer.Typer(
        help="Take over balances from a column of your own: import, shadow, compare, cut over, roll back, finish.",
        no_args_is_help=True,
    )
    command(adoptions, "plan")(plan)
    command(adoptions, "import")(import_rows)
    command(adoptions, "shadow")(shadow)
    command(adoptions, "compare")(compare)
    command(adoptions, "adjust")(adjust)
    command(adoptions, "cutover")(cutover)
    command(adoptions, "mirror")(mirror)
    command(adoptions, "admit")(admit)
    command(adoptions, "rollback")(rollback)
    command(adoptions, "finish")(finish)
    command(adoptions, "abandon")(abandon)
    command(adoptions, "status")(status)
    command(adoptions, "differences")(differences)
    command(adoptions, "events")(events)
    app.add_typer(adoptions, name="adopt")


def plan(terminal: Terminal, *, declaration: Declaration) -> None:
    """
    Look at the old table and say what is in it and what can't be adopted; write nothing. Exits 1 where something can't.
    """
    column = _read(declaration)
    with terminal.opened() as ledger:
        found = ledger.adopting.survey(column)
    notes = [*(f"problem: {problem}" for problem in found.problems), *(f"note: {advice}" for advice in found.advice)]
    terminal.show(survey_document(found), table=[_survey_row(found, column)], note=notes)
    if found.problems:
        raise typer.Exit(REFUSED)


def import_rows(terminal: Terminal, *, declaration: Declaration, actor: Actor = None) -> None:
    """
    Begin the adoption, and give each row an account with its balance; again, for the rows that came since.
    """
    column = _read(declaration)
    with terminal.opened() as ledger, _bar(terminal, "rows") as advance:
        done = ledger.adopting.import_rows(column, actor=actor, after_rows=advance)
    _tell(terminal, done)


def shadow(terminal: Terminal, *, name: AdoptionName, actor: Actor = None, dry_run: DryRun = False) -> None:
    """
    Say that the application posts beside its old writes from now on.
    """
    with terminal.opened() as ledger:
        _tell(terminal, ledger.adopting.shadow(name, actor=actor, dry_run=dry_run))


def compare(
    terminal: Terminal,
    *,
    name: AdoptionName,
    watch: Annotated[
        int | None, typer.Option("--watch", metavar="SECONDS", help="Again and again, so long apart.", min=1)
    ] = None,
) -> None:
    """
    Compare each row with its account, and show what differs and why. Exits 1 where something does.
    """
    with terminal.opened() as ledger:
        while True:
            with _bar(terminal, "rows") as advance:
                done = ledger.adopting.compare(name, after_page=advance)
            _tell(terminal, done)
            if watch is None:
                break
            time.sleep(watch)
    if done.differences:
        raise typer.Exit(REFUSED)


def adjust(
    terminal: Terminal,
    *,
    name: AdoptionName,
    reason: Annotated[str, typer.Option("--reason", help="Why; it stands with each transfer.", show_default=False)],
    actor: Annotated[str, typer.Option("--actor", help="Who did it.", show_default=False)],
    row: Annotated[str | None, typer.Option("--row", help="One row's id; otherwise every open difference.")] = None,
) -> None:
    """
    Post what brings the accounts that differ to what their rows hold now.
    """
    with terminal.opened() as ledger:
        _tell(terminal, ledger.adopting.adjust(name, reason=reason, actor=actor, row=row))


def cutover(
    terminal: Terminal,
    *,
    name: AdoptionName,
    actor: Actor = None,
    dry_run: DryRun = False,
    compared_within: Annotated[
        int,
        typer.Option("--compared-within", metavar="SECONDS", help="How fresh the last comparison has to be.", min=1),
    ] = ADOPTION_COMPARED_WITHIN_S,
    block_max: Annotated[
        int, typer.Option("--block-max", metavar="MS", help="How long writers may have to wait.", min=1)
    ] = ADOPTION_BLOCK_MS_MAX,
) -> None:
    """
    Make the ledger the truth: compare all rows with nobody writing, and refuse the old column's writing from then on.
    """
    with terminal.opened() as ledger:
        done = ledger.adopting.cut_over(
            name, actor=actor, dry_run=dry_run, compared_within_s=compared_within, block_ms_max=block_max
        )
    _tell(terminal, done)
    if done.problems:
        raise typer.Exit(REFUSED)


def mirror(terminal: Terminal, *, name: AdoptionName) -> None:
    """
    Write the ledger's balances into the old column once, as the worker `adopt` does again and again.
    """
    with terminal.opened() as ledger:
        done = ledger.adopting.mirror(name)
    _tell(terminal, done)
    if done.problems:
        raise typer.Exit(REFUSED)


def admit(
    terminal: Terminal,
    *,
    name: AdoptionName,
    row: Annotated[str, typer.Option("--row", help="The row's id.", show_default=False)],
    reason: Annotated[str, typer.Option("--reason", help="Why; it stands with the transfer.", show_default=False)],
    actor: Annotated[str, typer.Option("--actor", help="Who did it.", show_default=False)],
    discard: Annotated[
        bool, typer.Option("--discard", help="The ledger's balance stands; the mirror writes it over the column's.")
    ] = False,
) -> None:
    """
    Take over a row that came after the cut-over with a balance that the ledger never had: post it to its account.
    """
    with terminal.opened() as ledger:
        _tell(terminal, ledger.adopting.admit(name, row=row, reason=reason, actor=actor, discard=discard))


def rollback(terminal: Terminal, *, name: AdoptionName, actor: Actor = None, dry_run: DryRun = False) -> None:
    """
    Make the old column the truth again: write every balance into it, and let it be written as before.
    """
    with terminal.opened() as ledger:
        _tell(terminal, ledger.adopting.roll_back(name, actor=actor, dry_run=dry_run))


def finish(terminal: Terminal, *, name: AdoptionName, actor: Actor = None, dry_run: DryRun = False) -> None:
    """
    End an adoption for good when nobody rolls back any more: mirror once more, and take the triggers off the table.
    """
    with terminal.opened() as ledger:
        done = ledger.adopting.finish(name, actor=actor, dry_run=dry_run)
    _tell(terminal, done)
    if done.problems:
        raise typer.Exit(REFUSED)


def abandon(
    terminal: Terminal,
    *,
    name: AdoptionName,
    actor: Actor = None,
    dry_run: DryRun = False,
    keep_balances: Annotated[
        bool, typer.Option("--keep-balances", help="Leave in the accounts what they hold.")
    ] = False,
) -> None:
    """
    End an adoption with the old column as the truth: roll back where need be, and empty the accounts.
    """
    with terminal.opened() as ledger:
        done = ledger.adopting.abandon(name, actor=actor, dry_run=dry_run, keep_balances=keep_balances)
    _tell(terminal, done)
    if done.problems:
        raise typer.Exit(REFUSED)


def status(
    terminal: Terminal,
    *,
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="One adoption.", show_default="all")] = None,
) -> None:
    """
    Show where adoptions stand.
    """
    with terminal.opened() as ledger:
        names = ledger.adopting.names() if name is None else [name]
        found = [ledger.adopting.status(one) for one in names]
    terminal.show(
        {"adoptions": [adoption_document(one) for one in found]},
        table=[_status_row(one) for one in found],
        note="" if found else "nothing is being adopted",
    )


def differences(
    terminal: Terminal,
    *,
    name: AdoptionName,
    limit: Annotated[int, typer.Option("--limit", min=1, max=ADOPTION_DIFFERENCES_MAX)] = SHOWN,
) -> None:
    """
    Show what differed when both sides were last compared.
    """
    with terminal.opened() as ledger:
        found = ledger.adopting.differences(name, limit=limit)
    terminal.show(
        {"differences": [difference_document(one) for one in found]},
        table=[_difference_row(one) for one in found],
        note="" if found else "nothing differs",
    )


def events(
    terminal: Terminal,
    *,
    name: AdoptionName,
    limit: Annotated[int, typer.Option("--limit", min=1, max=ADOPTION_EVENTS_MAX)] = SHOWN,
) -> None:
    """
    Show what was done and found, the newest first.
    """
    with terminal.opened() as ledger:
        found = ledger.adopting.events(name, limit=limit)
    documents = [adoption_event_document(one) for one in found]
    table = [{key: "" if value is None else str(value) for key, value in one.items()} for one in documents]
    terminal.show({"events": documents}, table=table)


def _read(declaration: Path) -> OldColumn:
    try:
        return from_toml(declaration.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(f"the declaration can't be read: {error}", argument="column") from None


def _tell(terminal: Terminal, done: AdoptionReport) -> None:
    figures = {name: str(value) for name, value in done.figures.items()}
    terminal.show(
        report_document(done), table=[{"adoption": done.adoption.name, "phase": done.adoption.phase} | figures]
    )
    if terminal.as_json:
        return
    for problem in done.problems:
        terminal.say(problem)
    if not (done.done or done.problems):
        terminal.say("nothing was changed")
    by_cause = Counter(one.cause for one in done.differences)
    for cause, count in by_cause.most_common():
        terminal.say(f"{count} × {cause}: {done.advice[cause]}")
    if done.differences:
        terminal.show({}, table=[_difference_row(one) for one in done.differences[:SHOWN]])


def _survey_row(found: AdoptionSurvey, column: OldColumn) -> dict[str, str]:
    currency = column.currency or ""
    return {
        "adoption": column.name,
        "rows": str(found.rows),
        "without a balance": str(found.nulls),
        "below zero": str(found.negative),
        "least": shown_amount(found.least, currency),
        "most": shown_amount(found.most, currency),
        "currencies": ", ".join(f"{name} {rows}" for name, rows in found.currencies.items()),
    }


def _status_row(found: Adoption) -> dict[str, str]:
    return {
        "adoption": found.name,
        "phase": found.phase,
        "column": f"{found.column.table}.{found.column.balance}",
        "rows": str(found.rows),
        "differences": str(found.differences),
        "guarded": "yes" if found.guarded else "no",
        "compared": "never" if found.looked_at is None else found.looked_at.isoformat(timespec="seconds"),
        "changed": found.changed_at.isoformat(timespec="seconds"),
    }


def _difference_row(one: Difference) -> dict[str, str]:
    currency = one.currency or ""
    expected = shown_amount(one.expected, currency) if isinstance(one.expected, int) else one.expected
    return {
        "row": one.row,
        "account": one.account or "",
        "cause": one.cause,
        "the column says": expected or "",
        "the ledger says": shown_amount(one.found, currency),
        "since": one.first_seen_at.isoformat(timespec="seconds"),
    }


@contextmanager
def _bar(terminal: Terminal, what: str) -> Iterator[Callable[[int], bool] | None]:
    """A bar on stderr, for people who watch."""
    if terminal.as_json or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=None)

        def advance(rows: int) -> bool:
            bar.advance(task, rows)
            return True

        yield advance
