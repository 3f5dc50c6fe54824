"""The random histories of every store, on MariaDB: what it answers is what the naive ledger answers."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import asyncmy
import pymysql
import pytest

from lastro.testing import assert_balanced
from tests.histories.answering import Awaiting, Blocking, _do, _Run
from tests.histories.machine import Length, tell
from tests.support.mariadb import arguments_of

SHORT = Length(histories=25, steps=30)
SHORT_ASYNC = Length(histories=15, steps=25)
LONG = Length(histories=300, steps=50)


class OnMariadb(Blocking):
    """The blocking ledger, whose books are audited at the end of each history; transactions in REPEATABLE READ."""

    @contextmanager
    def transaction(self) -> Iterator[Callable[..., Any]]:
        """Yield `ask` for one transaction of the caller's, which is committed unless the block raises."""
        connection = pymysql.connect(**arguments_of(self._url), autocommit=False)
        held = self._ledger.within(connection)
        try:
            yield lambda operation, **arguments: _do(held, operation, arguments)
            connection.commit()
        finally:
            connection.close()

    def close(self) -> None:
        """Audit the books, then close the connections."""
        assert_balanced(self.ledger)
        super().close()


class AwaitingOnMariadb(Awaiting):
    """The awaiting ledger; transactions in REPEATABLE READ."""

    @contextmanager
    def transaction(self) -> Iterator[Callable[..., Any]]:
        """Yield `ask` for one transaction of the caller's, which is committed unless the block raises."""
        connection = self._run(asyncmy.connect(**arguments_of(self._url), autocommit=False))
        held = _Run(self._ledger.within(connection), self._run)
        try:
            yield lambda operation, **arguments: _do(held, operation, arguments)
            self._run(connection.commit())
        finally:
            self._run(connection.ensure_closed())


@pytest.fixture
def names(mariadb_url: str) -> Iterator[Callable[[], str]]:
    """Make names for ledgers, which are dropped afterwards."""
    made: list[str] = []

    def name() -> str:
        made.append(f"history_{secrets.token_hex(6)}")
        return made[-1]

    yield name
    connection = pymysql.connect(**arguments_of(mariadb_url))
    with connection.cursor() as cursor:
        for one in made:
            cursor.execute(f"DROP SCHEMA IF EXISTS {one}")
    connection.close()


@pytest.mark.req("1.4")
@pytest.mark.parametrize(("kind", "length"), [(OnMariadb, SHORT), (AwaitingOnMariadb, SHORT_ASYNC)])
def test_histories_agree(
    mariadb_url: str, names: Callable[[], str], kind: type[OnMariadb | AwaitingOnMariadb], length: Length
) -> None:
    """Outcomes, balances, entries and counters of any history are the naive ledger's, and the books are in order."""
    tell(lambda: kind(mariadb_url, names()), length)


@pytest.mark.soak
@pytest.mark.parametrize("kind", [OnMariadb, AwaitingOnMariadb])
def test_histories_agree_for_long(
    mariadb_url: str, names: Callable[[], str], kind: type[OnMariadb | AwaitingOnMariadb]
) -> None:
    """Hundreds of longer histories, other ones each time."""
    tell(lambda: kind(mariadb_url, names()), LONG, derandomize=False)
