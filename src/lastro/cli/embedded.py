"""
`lastro db`: the embedded PostgreSQL 18, started, stopped, named and opened with psql.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lastro import config
from lastro.cli.command import command
from lastro.cli.terminal import Terminal
from lastro.cli.working import Data
from lastro.embedded import resolve
from lastro.engine.connecting import EMBEDDED_SCHEME
from lastro.engine.libpq_environment import environment_of
from lastro.engine.settings import POSTGRES_SCHEMES, redacted, scheme_of
from lastro.errors import Refusal

if TYPE_CHECKING:
    from lastro.embedded import EmbeddedServer


def register(app: typer.Typer) -> None:
    """
    Add the commands to *app*.
    """
    database = typer.Typer(help="The embedded PostgreSQL 18: start, stop, url, psql.", no_args_is_help=True)
    # The server is named by --data: a database named otherwise would be ignored, but for psql, which opens any.
    command(database, "start", shared=("as_json",))(start)
    command(database, "stop", shared=("as_json",))(stop)
    command(database, "url", shared=("as_json",))(url)
    command(database, "psql", context_settings={"ignore_unknown_options": True})(psql)
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
    Open psql on the ledger's database, with its tables in the search path.

    That is what --database-url or LASTRO_DATABASE_URL names, where it is PostgreSQL; with --data, or where none is named,
    the embedded server, started for that time if need be.
    """
    if data is not None and terminal.given_url is not None:
        raise typer.BadParameter("give --data or --database-url, not both", param_hint="--data")
    if data is None and terminal.named_url is not None:
        raise typer.Exit(_run_psql(terminal, arguments or [], _environment_of(terminal.named_url)))
    with _server(config.data_directory(data)) as server:
        raise typer.Exit(_run_psql(terminal, arguments or [], server.environment()))


def _run_psql(terminal: Terminal, arguments: list[str], environment: dict[str, str]) -> int:
    program = shutil.which("psql") or str(_server(config.data_directory()).bin("psql"))
    environment = environment | {"PGOPTIONS": f"-c search_path={terminal.ledger_name},public"}
    # Ctrl-C belongs to psql, which cancels the query and goes on.
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        return subprocess.run([program, *arguments], env=environment, check=False).returncode
    finally:
        signal.signal(signal.SIGINT, before)


def _environment_of(url: str) -> dict[str, str]:
    """Return this process's environment with what leads to *url*."""
    if scheme_of(url) == EMBEDDED_SCHEME:
        return resolve(url).server.environment()
    if scheme_of(url) not in POSTGRES_SCHEMES:
        raise Refusal(
            f"psql opens a PostgreSQL database, and {redacted(url)!r} is none: use that database's own program"
        )
    return dict(os.environ) | environment_of(url)


def _server(directory: Path) -> EmbeddedServer:
    from lastro.embedded import EmbeddedServer

    return EmbeddedServer(directory)
