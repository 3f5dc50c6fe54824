"""
`lastro periods`: closing the books up to a moment, reopening them, and who did.
"""

from __future__ import annotations

from typing import Annotated

import typer

from lastro.cli.arguments import Actor, moment_of
from lastro.cli.command import command
from lastro.cli.documents import closing_document
from lastro.cli.terminal import Terminal
from lastro.model.closing import PeriodClosing
from lastro.model.limits import PERIOD_CLOSINGS_MAX

SHOWN = 100

Reason = Annotated[str | None, typer.Option("--reason", help="Why.", show_default=False)]


def register(app: typer.Typer) -> None:
    """
    Add the commands to *app*.
    """
    periods = typer.Typer(help="Close the books up to a moment, reopen them, and see who did.", no_args_is_help=True)
    command(periods, "list")(list_closings)
    command(periods, "close")(close)
    command(periods, "reopen")(reopen)
    app.add_typer(periods, name="periods")


def list_closings(
    terminal: Terminal, *, limit: Annotated[int, typer.Option("--limit", min=1, max=PERIOD_CLOSINGS_MAX)] = SHOWN
) -> None:
    """
    List closings and reopenings, the one in force first.
    """
    with terminal.opened() as ledger:
        found = ledger.period_closings(limit=limit)
    terminal.show({"closings": [closing_document(one) for one in found]}, table=[_row(one) for one in found])


def close(
    terminal: Terminal,
    *,
    until: Annotated[
        str, typer.Option("--until", metavar="MOMENT", help="The end, ISO 8601 with its time zone.", show_default=False)
    ],
    reason: Reason = None,
    actor: Actor = None,
) -> None:
    """
    Close the books: nothing that occurred before the end is posted any more. Does nothing where they are closed so far.
    """
    moment = moment_of(until, option="--until")
    assert moment is not None, "the option is required"
    with terminal.opened() as ledger:
        _show(terminal, ledger.close_period(until=moment, reason=reason, actor=actor))


def reopen(
    terminal: Terminal,
    *,
    since: Annotated[
        str,
        typer.Option(
            "--since", metavar="MOMENT", help="From when on, ISO 8601 with its time zone.", show_default=False
        ),
    ],
    key: Annotated[
        str, typer.Option("--key", help="Names this intent, the same for every attempt.", show_default=False)
    ],
    reason: Annotated[str, typer.Option("--reason", help="Why.", show_default=False)],
    actor: Annotated[str, typer.Option("--actor", help="Who does it.", show_default=False)],
) -> None:
    """
    Reopen the books, once: the same key again does nothing. Who did it and why stays on record.
    """
    moment = moment_of(since, option="--since")
    assert moment is not None, "the option is required"
    with terminal.opened() as ledger:
        _show(terminal, ledger.reopen_period(key=key, since=moment, reason=reason, actor=actor))


def _show(terminal: Terminal, closing: PeriodClosing) -> None:
    terminal.show(closing_document(closing), table=[_row(closing)])


def _row(closing: PeriodClosing) -> dict[str, str]:
    return {
        "closed until": closing.closed_until.isoformat(),
        "reopened": "yes" if closing.reopens else "no",
        "reason": closing.reason or "",
        "actor": closing.actor or "",
        "key": closing.key or "",
        "recorded at": closing.recorded_at.isoformat(timespec="milliseconds"),
    }
