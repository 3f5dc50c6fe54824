"""A ledger by the generic engine: on Firebird, where no other would do, and forced on PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from sqlalchemy import Engine

from lastro import Ledger
from lastro.testing import assert_balanced
from tests.support.generic import callers_engine, temporary


@pytest.fixture(params=["firebird", "postgres"])
def url(request: pytest.FixtureRequest) -> str:
    """The database under test."""
    return str(request.getfixturevalue({"firebird": "firebird_url", "postgres": "server_url"}[request.param]))


@pytest.fixture
def ledger(url: str) -> Iterator[Ledger]:
    """A migrated ledger of this test's own, whose books are in order when it is over."""
    with temporary(url) as ledger:
        yield ledger
        assert_balanced(ledger)


@pytest.fixture
def application(url: str) -> Iterator[Engine]:
    """The application's own engine on the same database."""
    engine = callers_engine(url)
    yield engine
    engine.dispose()
