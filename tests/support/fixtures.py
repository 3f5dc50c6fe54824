"""Fixtures of the tests that hold sessions at a point: their conftest imports them by name."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from lastro import Ledger
from tests.support.sessions import Observer, Sessions, observer_of, sessions_of
from tests.support.stores import READ_COMMITTED


@pytest.fixture
def session(store: str, store_url: str, ledger: Ledger) -> Iterator[Sessions]:
    """Open sessions with `session()`; they end before the test's ledger is dropped."""
    del ledger  # asked for so that it outlives the sessions
    with sessions_of(store_url, READ_COMMITTED if READ_COMMITTED in store else None) as sessions:
        yield sessions


@pytest.fixture
def observer(store_url: str) -> Iterator[Observer]:
    """A session that tells who waits for whom."""
    with observer_of(store_url) as observing:
        yield observing
