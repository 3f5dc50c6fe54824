"""
`lastro statement` and `lastro close-days`: an account's entries in a span of time, and what keeps the past quick to read.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from pathlib import Path
from typing import Annotated, Final, cast

import typer

from lastro.cli.arguments import By, Currency, Name, moment_of, shown_amount
from lastro.cli.command import command
from lastro.cli.terminal import Terminal
from lastro.ledger import Statement
from lastro.model.statement import StatementHead, StatementLine, by_word
from lastro.model.statement import moment_of as placed_at
from lastro.plans.closing_days import DAY_S
from lastro.statements import FORMATS, Format

TABLE: Final = "table"
# Pages of a table on the screen; each is drawn by itself.
LINES_A_PAGE: Final = 1_000


def register(app: typer.Typer) -> None:
    """
    Add the commands to *app*.
    """
    command(app, "statement")(statement)
    command(app, "close-days")(close_days)


def statement(
    terminal: Terminal,
    *,
    name: Name,
    currency: Currency,
    since: Annotated[
        str | None,
        typer.Option("--since", metavar="MOMENT", help="From this moment on, ISO 8601 with its time zone."),
    ] = None,
    until: Annotated[
        str | None, typer.Option("--until", metavar="MOMENT", help="Before this moment, which is not part of it.")
    ] = None,
    by: By = "recorded",
    format_: Annotated[
        str | None,
        typer.Option("--format", metavar="FORMAT", help=f"{TABLE}, {', '.join(FORMATS)}.", show_default=TABLE),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", metavar="FILE", help="Write it there, once it is complete.", show_default=False),
    ] = None,
) -> None:
    """
    Show an account's opening balance, its entries in a span of time, and its closing balance.
    """
    wanted = _format(format_, output, as_json=terminal.as_json)
    first, end = moment_of(since, option="--since"), moment_of(until, option="--until")
    with terminal.opened() as ledger:
        found = ledger.statement(name, currency, since=first, until=end, by=by_word(by))
        if wanted == TABLE:
            _show(terminal, found)
        elif output is None:
            with terminal.raw() as file:
                found.write(file, cast(Format, wanted))
        else:
            lines = found.write(output, cast(Format, wanted))
            terminal.show(
                {"output": str(output), "format": wanted, "lines": lines, **_balances(found.head)},
                table=[{"file": str(output), "lines": str(lines), **_shown_balances(found.head)}],
            )


def close_days(
    terminal: Terminal,
    *,
    every_s: Annotated[
        int, typer.Option("--every-s", min=1, metavar="SECONDS", help="One mark each so many seconds of UTC.")
    ] = DAY_S,
) -> None:
    """
    Write down what each account stood at, if a day has begun since: one round of what the worker `close_days` does.
    """
    with terminal.opened() as ledger:
        done = ledger.close_days(every_s=every_s)
    terminal.show(
        {"marks": done.marks, "closings": done.closings, "full": done.full, "waits_for": list(done.waits_for)},
        table=[
            {
                "marks": str(done.marks),
                "closings": str(done.closings),
                "waits for": ", ".join(done.waits_for) or "nothing",
            }
        ],
    )


def _format(given: str | None, output: Path | None, *, as_json: bool) -> str:
    if given is not None and given not in (TABLE, *FORMATS):
        raise typer.BadParameter(f"there is no format {given!r}; there are: {TABLE}, {', '.join(FORMATS)}")
    suffix = "" if output is None else output.suffix.removeprefix(".").lower()
    wanted = given or (suffix if suffix in FORMATS else "json" if as_json else TABLE)
    if wanted == TABLE and as_json and output is None:
        return "json"
    if wanted == TABLE and output is not None:
        raise typer.BadParameter(f"a file is one of {', '.join(FORMATS)}: give --format", param_hint="--format")
    if wanted == "parquet" and output is None:
        raise typer.BadParameter("Parquet is no text: give --output FILE", param_hint="--output")
    return wanted


def _show(terminal: Terminal, found: Statement) -> None:
    head = found.head
    terminal.say(f"opening balance: {shown_amount(head.opening, head.currency)}")
    rows = iter(_rows(found, head))
    goes_on = False
    while page := list(islice(rows, LINES_A_PAGE)):
        terminal.show_more(page, goes_on=goes_on)
        goes_on = True
    terminal.say(f"closing balance: {shown_amount(head.closing, head.currency)}")


def _rows(lines: Iterable[StatementLine], head: StatementHead) -> Iterable[dict[str, str]]:
    return (
        {
            f"{head.by} at": placed_at(line.entry, head.by).isoformat(timespec="milliseconds"),
            "kind": line.entry.kind,
            "amount": shown_amount(line.entry.signed, head.currency),
            "balance": shown_amount(line.balance, head.currency),
            "other account": line.entry.counter_account,
            "key": line.entry.key,
            "cause": line.entry.cause or "",
        }
        for line in lines
    )


def _balances(head: StatementHead) -> dict[str, str]:
    return {"opening": str(head.opening), "closing": str(head.closing)}


def _shown_balances(head: StatementHead) -> dict[str, str]:
    return {
        "opening balance": shown_amount(head.opening, head.currency),
        "closing balance": shown_amount(head.closing, head.currency),
    }
