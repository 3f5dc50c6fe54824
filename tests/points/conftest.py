"""A ledger with a clock on each store that has points, and the books in order after every test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from lastro import Ledger
from lastro.ledger.points_blocking import Points
from lastro.testing import Clock, assert_balanced
from tests.conformance.conftest import EYES, STORES
from tests.conformance.eyes import Raw
from tests.points.members import Club
from tests.support.emptied import EmptiedLedgers
from tests.support.fixtures import observer

__all__ = ["observer"]

# The generic dialect refuses points.
STORES_WITH_POINTS = tuple(store for store in STORES if store != "firebird")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a test on every store that its mark allows."""
    if "store" in metafunc.fixturenames:
        mark = metafunc.definition.get_closest_marker("stores")
        metafunc.parametrize("store", mark.args if mark else STORES_WITH_POINTS, indirect=True)


@pytest.fixture
def store(request: pytest.FixtureRequest) -> str:
    """The store under test."""
    return str(request.param)


@pytest.fixture
def store_url(store: str, request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The store's database."""
    if store == "sqlite":
        return f"sqlite:///{tmp_path}/ledger.db"
    return str(request.getfixturevalue({"postgres": "server_url", "mariadb": "mariadb_url"}[store]))


@pytest.fixture
def clock() -> Clock:
    """The moment of the ledger under test: 2026-01-01 12:00 UTC until a test moves it."""
    return Clock()


@pytest.fixture
def ledger(store_url: str, clock: Clock, emptied_ledgers: EmptiedLedgers) -> Iterator[Ledger]:
    """A migrated ledger of this test's own on the store under test, going by the clock; balanced at the end."""
    with emptied_ledgers.one(store_url, clock=clock) as ledger:
        yield ledger
        assert_balanced(ledger)


@pytest.fixture
def points(ledger: Ledger) -> Points:
    """The ledger's points."""
    return ledger.points


@pytest.fixture
def club(ledger: Ledger, clock: Clock) -> Club:
    """Members who earn, and a reward to spend on."""
    return Club(ledger, clock)


@pytest.fixture
def raw(store: str, store_url: str, ledger_name: str) -> Iterator[Raw]:
    """The tables themselves."""
    raw = EYES[store](store_url, ledger_name)
    yield raw
    raw.close()
