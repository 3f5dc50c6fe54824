"""
`lastro work` and `lastro up`: the workers in this process, and with `up` the database as well.
"""

from __future__ import annotations

import logging
import sys
import threading
from pathlib import Path
from typing import Annotated

import typer

from lastro import config
from lastro.cli.command import command
from lastro.cli.documents import totals_document
from lastro.cli.terminal import Terminal
from lastro.workers.crew import Crew
from lastro.workers.roster import WORK, workers_for

PORT = 8321
LOG_FORMAT = "%(asctime)s %(levelname)s %(name)s: %(message)s"

Data = Annotated[
    Path | None,
    typer.Option(
        "--data",
        metavar="DIR",
        help=f"The embedded server's directory. Otherwise {config.DATA_VARIABLE}, or {config.DATA_DEFAULT} here.",
        show_default=False,
    ),
]

_log = logging.getLogger("lastro.up")


def register(app: typer.Typer) -> None:
    """
    Add the commands to *app*.
    """
    command(app, "work")(work)
    command(app, "up")(up)


def work(
    terminal: Terminal,
    *,
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="[WORK]...", help=f"{', '.join(WORK)}; all of them by default.", show_default=False),
    ] = None,
) -> None:
    """
    Run the workers until SIGTERM or SIGINT; what is in hand is finished. A second signal ends them at once.

    Exits 1 at its start where the ledger isn't there, or is of another release: run `lastro migrate` first.
    """
    unknown = [name for name in names or [] if name not in WORK]
    if unknown:
        raise typer.BadParameter(f"there is no work called {unknown[0]!r}; there is: {', '.join(WORK)}")
    log_to_stderr()
    _run_crew(terminal, names or [], url=terminal.database_url())


def up(
    terminal: Terminal,
    *,
    data: Data = None,
    port: Annotated[int, typer.Option("--port", help="Kept for the HTTP service, which isn't there yet.")] = PORT,
) -> None:
    """
    Start an embedded PostgreSQL, migrate it and run the workers until SIGTERM or SIGINT.

    With --database-url or LASTRO_DATABASE_URL that database is used, and no server is started.
    """
    if data is not None and terminal.given_url is not None:
        raise typer.BadParameter("give --data or --database-url, not both", param_hint="--data")
    log_to_stderr()
    if port != PORT:
        _log.warning("--port %d has no effect: this release has no HTTP service", port)
    if data is None and terminal.named_url is not None:
        _migrate_and_work(terminal, terminal.named_url)
        return
    from lastro.embedded import EmbeddedServer

    directory = config.data_directory(data)
    with EmbeddedServer(directory):
        _migrate_and_work(terminal, config.embedded_url(directory))


def _migrate_and_work(terminal: Terminal, url: str) -> None:
    with terminal.connect(url, making=True) as ledger:
        applied = ledger.migrate()
    place = terminal.redacted(url)
    if terminal.as_json:
        terminal.say_json({"event": "ready", "database_url": place, "ledger": terminal.ledger_name, "applied": applied})
    terminal.say(f"ledger {terminal.ledger_name} is up in {place}")
    if url != terminal.named_url:
        terminal.say(f"in another terminal: export {config.DATABASE_URL_VARIABLE}='{place}'")
    _run_crew(terminal, [], url=url)


def _run_crew(terminal: Terminal, names: list[str], *, url: str) -> None:
    stop = threading.Event()
    workers = workers_for(names, open_ledger=lambda: terminal.connect(url), stopping=stop.is_set)
    totals = Crew(workers, stop=stop).run(signals=True)
    if terminal.as_json:
        terminal.say_json({"event": "stopped", "workers": totals_document(totals)})


def log_to_stderr() -> None:
    """
    Let the workers say on stderr what they do.
    """
    logging.basicConfig(stream=sys.stderr, level=logging.INFO, format=LOG_FORMAT)
    # Its pool reports each attempt to connect; the workers say what comes of it.
    logging.getLogger("psycopg.pool").setLevel(logging.ERROR)
