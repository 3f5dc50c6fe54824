"""
The pytest fixture `temporary_ledger`; load it with `pytest_plugins = ["lastro.testing.fixtures"]`.

It isn't a `pytest11` entry point: an application that installs Lastro would load it in every run, wanted or not.
`LASTRO_DATABASE_URL` says on which server; without it one embedded server runs for the whole session.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from lastro.embedded import EmbeddedServer
from lastro.ledger import Ledger
from lastro.testing.temporary import THROW_AWAY_SETTINGS
from lastro.testing.temporary import temporary_ledger as make_temporary_ledger

URL_VARIABLE = "LASTRO_DATABASE_URL"


@pytest.fixture(scope="session")
def lastro_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The database that `temporary_ledger` uses: LASTRO_DATABASE_URL, or an embedded server for this session."""
    url = os.environ.get(URL_VARIABLE)
    if url:
        yield url
        return
    server = EmbeddedServer(tmp_path_factory.mktemp("lastro") / "server").start(settings=THROW_AWAY_SETTINGS)
    try:
        yield server.url
    finally:
        server.stop("immediate")


@pytest.fixture
def temporary_ledger(lastro_url: str) -> Iterator[Ledger]:
    """A migrated ledger of this test's own, dropped after it."""
    with make_temporary_ledger(lastro_url) as ledger:
        yield ledger
