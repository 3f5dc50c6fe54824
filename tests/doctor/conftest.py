"""One server for the doctor's tests, which change its settings, fill its connections and copy it; a ledger with traffic."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from bench.injections import Ground
from lastro.embedded import EmbeddedServer

# Few, so that they are all taken soon.
SETTINGS = {"max_connections": "40", "fsync": "off", "full_page_writes": "off"}


@pytest.fixture(scope="session")
def doctors_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of a server that nobody else uses."""
    server = EmbeddedServer(tmp_path_factory.mktemp("doctor") / "server")
    server.start(settings=SETTINGS)
    try:
        yield server.url
    finally:
        server.stop()


@pytest.fixture(scope="session")
def ground(doctors_url: str) -> Iterator[Ground]:
    """A ledger on it, with a hot account and players."""
    program = shutil.which("pgbouncer", path="/usr/sbin:/usr/local/sbin:/usr/bin:/usr/local/bin")
    made = Ground(doctors_url, "ground", pgbouncer=None if program is None else Path(program))
    yield made
    made.close()
