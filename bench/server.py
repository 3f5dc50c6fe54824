"""
The server of a run: the embedded PostgreSQL 18 in a directory of its own, with a WAL flush that can be slowed down.
"""

from __future__ import annotations

import shutil
import statistics
import struct
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any
from unittest import mock

import psycopg

from lastro.embedded import EmbeddedServer, lifecycle
from lastro.embedded.privileges import Account, server_account

SHIM_SOURCE = Path(__file__).with_name("slow_flush.c")
COMPILERS = ("cc", "gcc", "clang")
SLOW_FLUSH_US = 1_000
PROBE_COMMITS = 200
# More than the 256 callers' connections of a run would ever take: pgbench with 32 clients, workers, probes.
SETTINGS = {"max_connections": "200"}


@dataclass(frozen=True, kw_only=True)
class PreloadingAccount(Account):
    """The server's user, whose server starts with more in its environment."""

    preload: tuple[tuple[str, str], ...] = ()

    def _order(self, action: str, **rest: object) -> dict[str, object]:
        order = super()._order(action, **rest)
        if action == "spawn":
            environment: Any = order["env"]
            order["env"] = environment | dict(self.preload)
        return order


class BenchServer:
    """A running server; `slow_flush_made` says how its flush is slowed down, or why it can't be."""

    def __init__(self, server: EmbeddedServer, delay_file: Path | None, how: str) -> None:
        self.embedded = server
        self.url = server.url
        self.slow_flush_made = how
        self._delay_file = delay_file

    @property
    def can_be_slowed(self) -> bool:
        """Whether the flush can be made slower."""
        return self._delay_file is not None

    def delay_flush(self, us: int) -> None:
        """Make every WAL flush from now on slower by so many microseconds."""
        if self._delay_file is None:
            assert us == 0, "this server's flush can't be slowed"
            return
        with self._delay_file.open("r+b") as file:
            file.write(struct.pack("=I", us))

    def settings(self) -> dict[str, str]:
        """What differs from PostgreSQL's defaults, and how it flushes."""
        query = (
            "SELECT name, current_setting(name) FROM pg_settings "
            "WHERE source IN ('configuration file', 'command line') OR name IN "
            "('wal_sync_method', 'synchronous_commit', 'fsync', 'full_page_writes', 'server_version', 'commit_delay')"
        )
        hidden = {"port", "unix_socket_directories", "listen_addresses", "unix_socket_permissions"}
        with psycopg.connect(self.url) as connection:
            return {name: value for name, value in connection.execute(query).fetchall() if name not in hidden}

    def commit_us(self) -> float:
        """The median time of one row's commit on one connection, in microseconds: how fast the flush is just now."""
        times = []
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute("CREATE TABLE IF NOT EXISTS public.probed (one int)")
            for _ in range(PROBE_COMMITS):
                began = time.perf_counter()
                connection.execute("INSERT INTO public.probed VALUES (1)", prepare=True)
                times.append(time.perf_counter() - began)
        return statistics.median(times) * 1_000_000


@contextmanager
def bench_server(home: Path | None) -> Iterator[BenchServer]:
    """Start a server in *home* (a throw-away directory where it is None), and end it with its data afterwards."""
    folder = Path(tempfile.mkdtemp(prefix="lastro-bench-")) if home is None else home
    folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(0o711)  # root's server is another user, who must pass through
    try:
        shim, delay_file, how = _prepare_shim(folder)
        server = EmbeddedServer(folder / "server")
        with _preloading(shim, delay_file):
            server.start(settings=SETTINGS)
        try:
            yield BenchServer(server, delay_file, how)
        finally:
            server.stop("fast")
    finally:
        if home is None:
            shutil.rmtree(folder, ignore_errors=True)


def _prepare_shim(folder: Path) -> tuple[Path | None, Path | None, str]:
    compiler = next((name for name in COMPILERS if shutil.which(name)), None)
    if compiler is None:
        return None, None, f"not measured: no C compiler ({', '.join(COMPILERS)}) to build {SHIM_SOURCE.name} with"
    shim, delay_file = folder / "slow_flush.so", folder / "flush_delay"
    built = subprocess.run(
        [compiler, "-O2", "-shared", "-fPIC", "-o", str(shim), str(SHIM_SOURCE), "-ldl"],
        capture_output=True,
        text=True,
        check=False,
    )
    if built.returncode != 0:
        return None, None, f"not measured: {compiler} could not build {SHIM_SOURCE.name}: {built.stderr.strip()[:200]}"
    delay_file.write_bytes(struct.pack("=I", 0))
    shim.chmod(0o755)
    delay_file.chmod(0o644)
    how = (
        f"every fdatasync(2) of the server sleeps {SLOW_FLUSH_US} µs more after the real one (bench/{SHIM_SOURCE.name}, "
        "loaded by LD_PRELOAD; switched through a mapped file while the server runs)"
    )
    return shim, delay_file, how


@contextmanager
def _preloading(shim: Path | None, delay_file: Path | None) -> Iterator[None]:
    """While it lasts, a server that is started loads the shim."""
    if shim is None or delay_file is None:
        yield
        return
    preload = (("LD_PRELOAD", str(shim)), ("LASTRO_BENCH_FLUSH_DELAY", str(delay_file)))
    chosen = server_account

    def preloading(data: Path) -> Account:
        account = chosen(data)
        values = {field.name: getattr(account, field.name) for field in fields(Account)}
        return PreloadingAccount(**values, preload=preload)

    # The product keeps the server's environment clean and has no switch for this: only a measurement wants it.
    with mock.patch.object(lifecycle, "server_account", preloading):
        yield
