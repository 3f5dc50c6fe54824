"""
A streaming replica of a running server of the wheel's, made by pg_basebackup, in a throw-away directory.
"""

from __future__ import annotations

import shutil
import socket
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from lastro.embedded.binaries import find_binaries
from lastro.embedded.privileges import server_account, with_reach

UP_WITHIN_S: Final = 30.0
LOOK_EVERY_S: Final = 0.05


@contextmanager
def replica_of(url: str, *, name: str = "replica") -> Iterator[str]:
    """Make a replica of the server at *url* and run it; yield its URL. It goes with its data afterwards."""
    folder = Path(tempfile.mkdtemp(prefix="lastro-replica-"))
    data = folder / "data"
    binaries = find_binaries()
    source = conninfo_to_dict(url)
    paths = [(binaries.path(program), "execute") for program in ("postgres", "pg_basebackup", "pg_ctl")]
    if str(source["host"]).startswith("/"):
        paths.append((Path(str(source["host"])), "enter"))
    account = with_reach(server_account(data), paths)
    account.own(folder)
    try:
        made = account.run(
            [
                str(binaries.path("pg_basebackup")), "--pgdata", str(data), "--checkpoint", "fast", "--no-sync",
                "--wal-method", "stream", "--write-recovery-conf",
                "--dbname", make_conninfo(**_server(source), application_name=name),
            ]
        )  # fmt: skip
        assert made.returncode == 0, made.stderr
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        replica = make_conninfo(
            **{**_server(source), "host": str(folder), "port": str(port)}, dbname=str(source["dbname"])
        )
        with (folder / "lock").open("wb") as lock:
            account.spawn(
                [
                    str(binaries.path("postgres")), "-D", str(data), "-c", f"port={port}", "-c", "listen_addresses=", "-c", "fsync=off",
                    "-c", f"unix_socket_directories={folder}", "-c", f"cluster_name={name}",
                ],
                log=folder / "log",
                lock=lock.fileno(),
            )  # fmt: skip
        try:
            _until_it_answers(replica, folder / "log")
            yield replica
        finally:
            account.run([str(binaries.path("pg_ctl")), "stop", "-D", str(data), "-m", "immediate"])
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def paused_replica(url: str) -> Iterator[str]:
    """A replica that receives and applies nothing."""
    with replica_of(url) as replica:
        with psycopg.connect(replica, autocommit=True) as connection:
            connection.execute("SELECT pg_wal_replay_pause()")
        yield replica


def _server(source: dict[str, Any]) -> dict[str, Any]:
    return {name: str(source[name]) for name in ("host", "port", "user", "password") if name in source}


def _until_it_answers(url: str, log: Path) -> None:
    deadline = time.monotonic() + UP_WITHIN_S
    while True:
        try:
            psycopg.connect(url).close()
            return
        except psycopg.OperationalError:
            assert time.monotonic() < deadline, f"the replica did not start:\n{log.read_text()}"
            time.sleep(LOOK_EVERY_S)
