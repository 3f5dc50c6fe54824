"""A Firebird server of the tests' own: a process on loopback, with its databases in a directory that goes with it."""

from __future__ import annotations

import os
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from firebird.driver import DatabaseError, create_database, driver_config

USER, PASSWORD = "SYSDBA", "lastro"
# Index entries may be a quarter of a page.
PAGE_BYTES = 16_384
START_S = 20.0
STOP_S = 10.0
# Debian's places, by version; the server looks for what it needs below the directory that FIREBIRD names.
HOMES = ("/usr/lib/*/firebird/*", "/opt/firebird")
SHARED = ("firebird.msg", "plugins.conf", "plugins", "intl")
SECURITY_SCRIPT = "/usr/share/firebird/*/security.sql"


@contextmanager
def firebird_server(server: Path, isql: Path, home: Path) -> Iterator[str]:
    """Run *server* in *home* and yield the SQLAlchemy URL of an empty database; stopped and closed at the end."""
    port = _free_port()
    environment = _prepared(isql, home, port)
    with (home / "out").open("wb") as out:
        process = subprocess.Popen([server], cwd=home, env=environment, stdout=out, stderr=subprocess.STDOUT)
    try:
        yield _database(home, port, process)
    finally:
        process.terminate()
        try:
            process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _prepared(isql: Path, home: Path, port: int) -> dict[str, str]:
    (home / "data").mkdir(parents=True)
    (home / "lock").mkdir()
    installed = _found(*HOMES)
    for name in SHARED:
        (home / name).symlink_to(installed / name)
    (home / "firebird.conf").write_text(
        f"RemoteServicePort = {port}\n"
        "RemoteBindAddress = 127.0.0.1\n"
        f"SecurityDatabase = {home}/security.fdb\n"
        f"DatabaseAccess = Restrict {home}/data\n"
        "AuthServer = Srp\n"
        "UserManager = Srp\n"
        "WireCrypt = Enabled\n"
    )
    environment = os.environ | {
        "FIREBIRD": str(home),
        "FIREBIRD_LOCK": str(home / "lock"),
        "FIREBIRD_TMP": str(home / "lock"),
    }

    def run(script: str, *arguments: str) -> None:
        subprocess.run(
            [isql, "-q", *arguments],
            input=script,
            text=True,
            env=environment,
            cwd=home,
            check=True,
            capture_output=True,
        )

    security = home / "security.fdb"
    run(f"CREATE DATABASE '{security}';\n")
    run(_found(SECURITY_SCRIPT).read_text("utf-8"), "-user", USER, str(security))
    run(f"CREATE USER {USER} PASSWORD '{PASSWORD}' USING PLUGIN Srp; COMMIT;\n", "-user", USER, str(security))
    return environment


def _database(home: Path, port: int, process: subprocess.Popen[bytes]) -> str:
    path = home / "data" / "ledger.fdb"
    deadline = time.monotonic() + START_S
    while True:
        try:
            _create(path, port)
        except DatabaseError as error:
            if time.monotonic() > deadline or process.poll() is not None:
                raise AssertionError(f"Firebird doesn't answer: {(home / 'out').read_text('utf-8')}") from error
            time.sleep(0.1)
        else:
            return f"firebird+firebird://{USER}:{PASSWORD}@127.0.0.1:{port}/{path}?charset=UTF8"


def _create(path: Path, port: int) -> None:
    driver_config.db_defaults.page_size.value = PAGE_BYTES
    create_database(f"127.0.0.1/{port}:{path}", user=USER, password=PASSWORD, charset="UTF8").close()


def _found(*patterns: str) -> Path:
    for pattern in patterns:
        for path in sorted(Path("/").glob(pattern.removeprefix("/"))):
            return path
    raise AssertionError(f"none of {', '.join(patterns)} is there")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
