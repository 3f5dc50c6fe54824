"""Fixtures of the tests that hold sessions at a point: their conftest imports them by name."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from lastro import Ledger
from tests.support.sessions import Observer, Sessions, observer_of, sessions_of


@pytest.fixture
def session(server_url: str, ledger: Ledger) -> Iterator[Sessions]:
    """Open sessions with `session()`; they end before the test's ledger is dropped."""
    del ledger  # asked for so that it outlives the sessions
    with sessions_of(server_url) as sessions:
        yield sessions


@pytest.fixture
def observer(server_url: str) -> Iterator[Observer]:
    """A session that tells who waits for whom."""
    with observer_of(server_url) as observing:
        yield observing
