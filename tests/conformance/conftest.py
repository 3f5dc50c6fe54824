"""
What every engine must do, written once: each test runs on each store in both styles.

A later engine joins by one more entry in STORES and a fixture that gives its URL.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, cast

import psycopg
import pytest

from lastro import Ledger
from lastro.testing import assert_balanced
from tests.conformance.adapters import (
    AWAITING_CALLERS,
    BLOCKING_CALLERS,
    Caller,
    Loop,
    Style,
    opened,
    settled,
)

STORES = ("postgres",)
STYLES = ("blocking", "awaiting")


class Raw(NamedTuple):
    """A second pair of eyes on the ledger's tables, past the library: `{s}` stands for its schema."""

    schema: str
    connection: psycopg.Connection[Any]

    def __call__(self, statement: str, *params: object) -> list[tuple[Any, ...]]:
        """Run a statement, commit it and return its rows."""
        cursor = self.connection.execute(statement.replace("{s}", self.schema).encode(), params or None)
        return list(cursor.fetchall()) if cursor.description else []

    def one(self, statement: str, *params: object) -> Any:
        """The one value that a statement returns."""
        ((value,),) = self(statement, *params)
        return value

    def written(self) -> dict[str, int]:
        """The number of rows of every table, to show that nothing was written."""
        tables = [
            name
            for (name,) in self(
                "SELECT relname FROM pg_class WHERE relnamespace = '{s}'::regnamespace AND relkind IN ('r', 'p') "
                "AND NOT relispartition ORDER BY relname"
            )
        ]
        counts = {name: self.one(f'SELECT count(*) FROM {{s}}."{name}"') for name in tables}
        # A base row that was touched, or money that moved, is a write as well.
        counts["base payments"] = self.one("SELECT coalesce(sum(payments), 0) FROM {s}.base")
        counts["base amounts"] = self.one("SELECT coalesce(sum(abs(amount)), 0) FROM {s}.base")
        return counts


@pytest.fixture(params=STORES)
def store(request: pytest.FixtureRequest) -> str:
    """The store under test."""
    return str(request.param)


@pytest.fixture
def store_url(store: str, request: pytest.FixtureRequest) -> str:
    """The store's database."""
    return str(request.getfixturevalue({"postgres": "server_url"}[store]))


@pytest.fixture
def loop() -> Iterator[Loop]:
    """An event loop for awaited calls."""
    loop = Loop()
    yield loop
    loop.close()


@pytest.fixture(params=STYLES)
def style(request: pytest.FixtureRequest, loop: Loop) -> Style:
    """Blocking, or awaiting."""
    return Style(request.param, settled if request.param == "blocking" else loop.settle)


@pytest.fixture
def reopen(store_url: str, ledger_name: str, style: Style) -> Iterator[Callable[..., Ledger]]:
    """Connect once more to the test's ledger: `reopen(clock=clock)`. Another process would look like this."""
    books: list[Ledger] = []

    def connect(*, name: str = ledger_name, url: str = store_url, **options: Any) -> Ledger:
        books.append(cast(Ledger, opened(url, name, style, **options)))
        return books[-1]

    yield connect
    for book in books:
        book.close()


@pytest.fixture
def book(reopen: Callable[..., Ledger]) -> Ledger:
    """The test's ledger in the style under test."""
    return reopen()


@pytest.fixture
def raw(store_url: str, ledger_name: str) -> Iterator[Raw]:
    """The tables themselves."""
    with psycopg.connect(store_url, autocommit=True) as connection:
        yield Raw(ledger_name, connection)


@pytest.fixture(params=[*BLOCKING_CALLERS, *AWAITING_CALLERS])
def caller(request: pytest.FixtureRequest, server_url: str, ledger_name: str, loop: Loop, raw: Raw) -> Iterator[Caller]:
    """An application that holds a transaction, one of each kind that `within` takes on PostgreSQL."""
    raw("CREATE TABLE {s}.orders (id integer PRIMARY KEY)")
    settle = settled if request.param in BLOCKING_CALLERS else loop.settle
    caller = Caller(request.param, server_url, ledger_name, settle)
    yield caller
    caller.close()


@pytest.fixture
def callers_book(caller: Caller, server_url: str, ledger_name: str, loop: Loop) -> Iterator[Ledger]:
    """The test's ledger in the style that the caller needs."""
    blocking = caller.kind in BLOCKING_CALLERS
    style = Style("blocking" if blocking else "awaiting", settled if blocking else loop.settle)
    book = cast(Ledger, opened(server_url, ledger_name, style))
    yield book
    book.close()


@pytest.fixture
def balanced(ledger: Ledger) -> Iterator[None]:
    """The books are in order after the test, for `pytestmark = pytest.mark.usefixtures("balanced")`."""
    yield
    assert_balanced(ledger)
