"""A real MariaDB for the tests: a server of their own in a temporary folder, reached through its socket."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

SERVER_USER = "mysql"
STARTED_WITHIN_S = 60.0
LOOK_EVERY_S = 0.05
# Data that lives for seconds need not survive a power cut; what is promised to a caller is as in production.
THROW_AWAY_SETTINGS = {
    "innodb-flush-log-at-trx-commit": "0",
    "innodb-buffer-pool-size": "64M",
    "max-connections": "300",
    "skip-networking": "1",
}


class MariadbServer:
    """
    A server in a folder of its own. Started as root it runs as the packages' own user, for it refuses to run as root.

    *settings* come on top of the usual ones. `url` stays the same over kills and restarts.
    """

    def __init__(self, mariadbd: Path, installer: Path, settings: Mapping[str, str] | None = None) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="lastro-mariadb-"))
        self._data, self._socket = self._folder / "data", self._folder / "s"
        self._data.mkdir()
        self._process: subprocess.Popen[bytes] | None = None
        as_user: list[str] = []
        if os.geteuid() == 0:
            as_user = [f"--user={SERVER_USER}"]
            for place in (self._folder, self._data):
                shutil.chown(place, SERVER_USER)
        _run([installer, "--no-defaults", *as_user, f"--datadir={self._data}", f"--tmpdir={self._folder}",
              "--auth-root-authentication-method=normal", "--skip-test-db"])  # fmt: skip
        chosen = THROW_AWAY_SETTINGS | dict(settings or {})
        self._command = [str(mariadbd), "--no-defaults", *as_user, f"--datadir={self._data}", f"--socket={self._socket}",
                         f"--tmpdir={self._folder}", f"--log-error={self._data / 'log.err'}",
                         *(f"--{name}={value}" for name, value in chosen.items())]  # fmt: skip
        self.url = f"mariadb://root@localhost/?unix_socket={self._socket}"

    @property
    def pid(self) -> int | None:
        """The server's process, or None while none runs."""
        return None if self._process is None else self._process.pid

    def start(self) -> MariadbServer:
        """Start the server, after a kill too, and return once it answers."""
        self._process = subprocess.Popen(self._command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        _until_it_answers(self._process, self._socket, self._data / "log.err")
        return self

    def kill(self) -> None:
        """End the server as a power cut would end its process: at once, with nothing written any more."""
        assert self._process is not None
        self._process.kill()
        self._process.wait(timeout=STARTED_WITHIN_S)
        self._process = None

    def remove(self) -> None:
        """Stop the server and delete its data."""
        if self._process is not None:
            self._process.terminate()
            self._process.wait(timeout=STARTED_WITHIN_S)
        shutil.rmtree(self._folder, ignore_errors=True)


@contextmanager
def mariadb_server(mariadbd: Path, installer: Path, settings: Mapping[str, str] | None = None) -> Iterator[str]:
    """Run a server and yield its URL."""
    server = MariadbServer(mariadbd, installer, settings)
    try:
        yield server.start().url
    finally:
        server.remove()


def arguments_of(url: str) -> dict[str, Any]:
    """What a driver's connect() takes for *url*."""
    parts = urlsplit(url)
    path = parse_qs(parts.query).get("unix_socket")
    return {
        "host": parts.hostname or "localhost",
        "port": parts.port or 3306,
        "user": unquote(parts.username or "root"),
        "password": unquote(parts.password or ""),
        **({"unix_socket": path[0]} if path else {}),
    }


def _run(command: list[Any]) -> None:
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{command[0]} failed:\n{done.stdout}{done.stderr}"


def _until_it_answers(process: subprocess.Popen[bytes], path: Path, log: Path) -> None:
    deadline = time.monotonic() + STARTED_WITHIN_S
    while True:
        with socket.socket(socket.AF_UNIX) as knocking:
            if knocking.connect_ex(str(path)) == 0 and knocking.recv(1):
                return
        gone = process.poll() is not None or time.monotonic() > deadline
        assert not gone, f"MariaDB did not start:\n{log.read_text() if log.exists() else 'no log'}"
        time.sleep(LOOK_EVERY_S)
