"""
The command line as a whole: every command under its name.
"""

from __future__ import annotations

import sys
from importlib.metadata import version
from typing import Annotated

import typer

from lastro.cli import (
    accounts,
    adopting,
    betting,
    doctoring,
    embedded,
    holds,
    importing,
    kinds,
    matching,
    outbox,
    partitions,
    periods,
    points,
    posting,
    proving,
    reading,
    reads,
    reconciling,
    rehearsing,
    schema,
    statements,
    working,
)

EPILOG = (
    "Exit codes: 0 done; 1 refused, or a proof fails; 2 not done (usage, or a fault such as an unreachable database: "
    "a retry with the same key may help)."
)

app = typer.Typer(
    name="lastro",
    help="A money ledger for hot accounts that lives in the database you already run.",
    epilog=EPILOG,
    no_args_is_help=True,
    # Frames are for people; in a log they are noise.
    rich_markup_mode="rich" if sys.stdout.isatty() and sys.stderr.isatty() else None,
    # A traceback with its local variables would show the database's password.
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(wanted: bool) -> None:
    if wanted:
        print(f"lastro {version('lastro')}")
        raise typer.Exit


@app.callback()
def lastro(
    show_version: Annotated[
        bool, typer.Option("--version", help="Show the version and exit.", callback=_show_version, is_eager=True)
    ] = False,
) -> None:
    """
    A money ledger for hot accounts that lives in the database you already run.
    """


schema.register(app)
accounts.register(app)
posting.register(app)
points.register(app)
betting.register(app)
reading.register(app)
statements.register(app)
holds.register(app)
kinds.register(app)
periods.register(app)
reconciling.register(app)
outbox.register(app)
reads.register(app)
importing.register(app)
matching.register(app)
partitions.register(app)
adopting.register(app)
working.register(app)
doctoring.register(app)
embedded.register(app)
proving.register(app)
rehearsing.register(app)
