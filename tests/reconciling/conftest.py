"""Books on a store, and hands that reach past the library into its tables."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from lastro import Ledger
from tests.reconciling.planting import Hands
from tests.support.emptied import EmptiedLedgers
from tests.support.fixtures import observer, session
from tests.support.stores import LOCK_TIMEOUT_MS, STORES

__all__ = ["hands", "observer", "session"]


@pytest.fixture(params=STORES)
def hands(request: pytest.FixtureRequest, tmp_path: Path, emptied_ledgers: EmptiedLedgers) -> Iterator[Hands]:
    """A ledger on each store, with hands in its tables."""
    path = f"{tmp_path}/ledger.db"
    match request.param:
        case "sqlite":
            url = f"sqlite:///{path}"
        case store:
            url = request.getfixturevalue("server_url" if store == "postgres" else "mariadb_url")
    with emptied_ledgers.one(url, lock_timeout_ms=LOCK_TIMEOUT_MS) as ledger:
        reaching = Hands(ledger, request.param, path if request.param == "sqlite" else url)
        yield reaching
        reaching.close()


@pytest.fixture
def ledger(hands: Hands) -> Ledger:
    """The ledger of these hands."""
    return hands.ledger
