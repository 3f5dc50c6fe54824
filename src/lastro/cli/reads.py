"""
`lastro reads`: the read model for screens: making its tables, filling it from the history, and how far it came.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

import typer

from lastro.cli.command import command
from lastro.cli.terminal import Terminal
from lastro.reads import ReadModel

Model = Annotated[
    str | None,
    typer.Option(
        "--model",
        metavar="URL",
        help="The PostgreSQL of the read model. Otherwise the ledger's own.",
        show_default=False,
    ),
]
Schema = Annotated[str, typer.Option("--schema", help="The read model's schema.")]
SCHEMA = "lastro_reads"


def register(app: typer.Typer) -> None:
    """
    Add the commands to *app*.
    """
    reads = typer.Typer(help="Make the read model for screens, fill it, and see how far it came.", no_args_is_help=True)
    command(reads, "migrate")(migrate)
    command(reads, "fill")(fill)
    command(reads, "rebuild")(rebuild)
    command(reads, "status")(status)
    app.add_typer(reads, name="reads")


def migrate(terminal: Terminal, *, model: Model = None, schema: Schema = SCHEMA) -> None:
    """
    Make the read model's tables, or bring them up to this release.
    """
    with _opened(terminal, model, schema) as reads:
        applied = reads.migrate()
    terminal.show({"applied": applied}, table=[{"applied": name} for name in applied])


def fill(terminal: Terminal, *, model: Model = None, schema: Schema = SCHEMA) -> None:
    """
    Apply what it lacks of the ledger's whole history. Harmless while a relay feeds it, and at any time again.
    """
    with _opened(terminal, model, schema) as reads, terminal.opened() as ledger:
        _show(terminal, reads.fill(ledger))


def rebuild(terminal: Terminal, *, model: Model = None, schema: Schema = SCHEMA) -> None:
    """
    Empty its entries and balances and fill them again; screens show less meanwhile.
    """
    with _opened(terminal, model, schema) as reads, terminal.opened() as ledger:
        _show(terminal, reads.rebuild(ledger))


def status(terminal: Terminal, *, model: Model = None, schema: Schema = SCHEMA) -> None:
    """
    Show how many events were applied, and how long the newest of them had waited.
    """
    with _opened(terminal, model, schema) as reads:
        standing = reads.standing()
    document = {
        "events": standing.events,
        "newest_opened_at": None if standing.newest_opened_at is None else standing.newest_opened_at.isoformat(),
        "applied_at": None if standing.applied_at is None else standing.applied_at.isoformat(),
        "delay_ms": standing.delay_ms,
    }
    shown = {name.replace("_", " "): "" if value is None else str(value) for name, value in document.items()}
    terminal.show(document, table=[shown])


@contextmanager
def _opened(terminal: Terminal, model: str | None, schema: str) -> Iterator[ReadModel]:
    reads = ReadModel(model or terminal.database_url(), schema=schema, pool_max=1)
    try:
        yield reads
    finally:
        reads.close()


def _show(terminal: Terminal, entries: int) -> None:
    terminal.show({"entries": entries}, table=[{"new entries": str(entries)}])
