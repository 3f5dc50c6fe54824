"""A ledger on a real MariaDB, and connections of an application beside it, all closed when the test is over."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pymysql
import pytest

from lastro import Ledger
from lastro.testing import assert_balanced
from tests.support.emptied import EmptiedLedgers
from tests.support.mariadb import arguments_of

Connect = Callable[..., Any]


@pytest.fixture
def ledger(mariadb_url: str, emptied_ledgers: EmptiedLedgers) -> Iterator[Ledger]:
    """A migrated ledger of this test's own, whose books are in order when it is over."""
    with emptied_ledgers.one(mariadb_url) as ledger:
        yield ledger
        assert_balanced(ledger)


@pytest.fixture
def name(ledger: Ledger) -> str:
    """The database in which this test's ledger lives."""
    return ledger._operations.ledger


@pytest.fixture
def connect(mariadb_url: str, ledger: Ledger) -> Iterator[Connect]:
    """Open a PyMySQL connection as an application would: no autocommit, the server's own isolation level."""
    del ledger  # asked for so that it outlives the connections
    opened: list[Any] = []

    def connection(*settings: str, **options: Any) -> Any:
        opened.append(pymysql.connect(**arguments_of(mariadb_url), **({"autocommit": False} | options)))
        for setting in settings:
            rows_of(opened[-1], setting)
        opened[-1].commit()
        return opened[-1]

    yield connection
    for one in opened:
        one._force_close()


def rows_of(connection: Any, statement: str, *params: object) -> list[tuple[Any, ...]]:
    """Run a statement and return its rows, text that is stored as bytes as text."""
    with connection.cursor(pymysql.cursors.Cursor) as cursor:
        cursor.execute(statement, params or None)
        return [
            tuple(value.decode() if isinstance(value, bytes) else value for value in row) for row in cursor.fetchall()
        ]
