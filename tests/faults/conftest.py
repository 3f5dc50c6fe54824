"""Durable servers that a test may kill, and the sessions that watch."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from lastro.embedded import EmbeddedServer
from tests.support.fixtures import observer, session
from tests.support.stores import ledger, store, store_url

__all__ = ["ledger", "observer", "session", "store", "store_url"]


@pytest.fixture
def server(tmp_path: Path) -> Iterator[EmbeddedServer]:
    """A server of this test's own, durable as in production."""
    server = EmbeddedServer(tmp_path / "server").start()
    try:
        yield server
    finally:
        server.stop("immediate")
