"""
`lastro db`: the embedded PostgreSQL 18, started, stopped, named and opened with psql.
"""

from __future__ import annotations

import signal
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lastro import config
from lastro.cli.command import command
from lastro.cli.terminal import Terminal
from lastro.cli.working import Data
from lastro.errors import Refusal

if TYPE_CHECKING:
    from lastro.embedded import EmbeddedServer


def register(app: typer.Typer) -> None:
    """
    Add the commands to *app*.
    """
    database = typer.Typer(help="The embedded PostgreSQL 18: start, stop, url, psql.", no_args_is_help=True)
    # The server is named by --data: a database or a ledger named otherwise would be ignored.
    command(database, "start", shared=("as_json",))(start)
    command(database, "stop", shared=("as_json",))(stop)
    command(database, "url", shared=("as_json",))(url)
    command(database, "psql", shared=("ledger", "as_json"), context_settings={"ignore_unknown_options": True})(psql)
    app.add_typer(database, name="db")


def start(terminal: Terminal, *, data: Data = None) -> None:
    """
    Start the server and leave it running until `lastro db stop`.
    """
    directory = config.data_directory(data)
    server = _server(directory).start(keep=True)
    terminal.show(
        {"url": config.embedded_url(directory), "data": str(directory), "pid": server.pid},
        table=[],
        note=f"export {config.DATABASE_URL_VARIABLE}='{config.embedded_url(directory)}'",
    )


def stop(terminal: Terminal, *, data: Data = None) -> None:
    """
    Stop the server, whoever uses it; the data stay.
    """
    directory = config.data_directory(data)
    server = _server(directory)
    ran = server.running
    server.stop()
    terminal.show(
        {"stopped": ran, "data": str(directory)},
        table=[],
        note=f"stopped; the data stay in {directory}" if ran else f"no server was running on {directory}",
    )


def url(
    terminal: Terminal,
    *,
    data: Data = None,
    with_password: Annotated[
        bool,
        typer.Option(
            "--with-password", help="The libpq URL of the running server, for other programs: it holds the password."
        ),
    ] = False,
) -> None:
    """
    Print the server's URL, which every lastro command takes. It holds no password.
    """
    directory = config.data_directory(data)
    server = _server(directory)
    if not server.made:
        raise Refusal(f"no embedded server was ever started in {directory}: run `lastro db start`, or name its --data")
    address = server.url if with_password else config.embedded_url(directory)
    terminal.show({"url": address}, table=[], note=address)


def psql(
    terminal: Terminal,
    *,
    arguments: Annotated[
        list[str] | None, typer.Argument(metavar="[ARGUMENTS]...", help="Passed on to psql.", show_default=False)
    ] = None,
    data: Data = None,
) -> None:
    """
    Open psql on the server (started for that time if need be), with the ledger's tables in the search path.
    """
    with _server(config.data_directory(data)) as server:
        environment = server.environment() | {"PGOPTIONS": f"-c search_path={terminal.ledger_name},public"}
        # Ctrl-C belongs to psql, which cancels the query and goes on.
        before = signal.signal(signal.SIGINT, signal.SIG_IGN)
        try:
            done = subprocess.run([str(server.bin("psql")), *(arguments or [])], env=environment, check=False)
        finally:
            signal.signal(signal.SIGINT, before)
    raise typer.Exit(done.returncode)


def _server(directory: Path) -> EmbeddedServer:
    from lastro.embedded import EmbeddedServer

    return EmbeddedServer(directory)
