"""The sessions and the observer that these tests use, and a ledger whose books are proved when a test is over."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from lastro import Ledger
from lastro.testing import assert_balanced
from tests.support.fixtures import observer, session
from tests.support.stores import store, store_url

__all__ = ["observer", "session", "store", "store_url"]


@pytest.fixture
def books(ledger: Ledger) -> Iterator[Ledger]:
    """The ledger, in order when the test is over."""
    yield ledger
    assert_balanced(ledger)
