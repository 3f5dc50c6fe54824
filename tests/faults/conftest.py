"""Durable servers that a test may kill, and the sessions that watch."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from lastro.embedded import EmbeddedServer
from tests.support.fixtures import observer, session
from tests.support.mariadb import MariadbServer
from tests.support.stores import ledger, store, store_url

__all__ = ["ledger", "observer", "session", "store", "store_url"]

# Each COMMIT is on the disk before it is answered.
DURABLE = {"innodb-flush-log-at-trx-commit": "1"}


@pytest.fixture
def server(tmp_path: Path) -> Iterator[EmbeddedServer]:
    """A server of this test's own, durable as in production."""
    server = EmbeddedServer(tmp_path / "server").start()
    try:
        yield server
    finally:
        server.stop("immediate")


@pytest.fixture
def mariadb(need: Callable[..., Path]) -> Iterator[Callable[..., MariadbServer]]:
    """Start a MariaDB of this test's own, durable as in production but for what the test says: `mariadb({...})`."""
    started: list[MariadbServer] = []

    def start(settings: Mapping[str, str] | None = None) -> MariadbServer:
        programs = (need(program, name="mariadb") for program in ("mariadbd", "mariadb-install-db"))
        started.append(MariadbServer(*programs, settings=DURABLE | dict(settings or {})))
        return started[-1].start()

    yield start
    for server in started:
        server.remove()
