"""
What every engine must do, written once: each test runs on each store in both styles.

A later engine joins by one more entry in STORES, in `store_url`, in EYES and among the callers of `adapters`. What only
some stores can do, or only they need to be asked, is marked `stores("postgres")`; what all but some can do is marked
`stores(without=("firebird",))`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

import pytest

from lastro import Ledger
from lastro.testing import assert_balanced
from tests.conformance.adapters import (
    AWAITING_CALLERS,
    BLOCKING_CALLERS,
    REFUSE_HOT,
    Caller,
    Loop,
    Style,
    opened,
    settled,
    sqlite_path,
)
from tests.conformance.eyes import FirebirdRaw, MariadbRaw, PostgresRaw, Raw, SqliteRaw
from tests.support.emptied import EmptiedLedgers

__all__ = ["Raw"]

STORES = ("postgres", "mariadb", "sqlite", "firebird")
STYLES = ("blocking", "awaiting")
EYES: dict[str, Callable[[str, str], Raw]] = {
    "postgres": PostgresRaw,
    "mariadb": MariadbRaw,
    "sqlite": lambda url, schema: SqliteRaw(sqlite_path(url), schema),
    "firebird": FirebirdRaw,
}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a test on every store that its mark allows, with every kind of caller that the store has."""
    mark = metafunc.definition.get_closest_marker("stores")
    named = (mark.args if mark else ()) or STORES
    stores = [store for store in named if store not in (mark.kwargs.get("without", ()) if mark else ())]
    parametrized = [found.args[0] for found in metafunc.definition.iter_markers("parametrize")]
    if "caller" in metafunc.fixturenames and "caller" not in parametrized:
        pairs = [(store, kind) for store in stores for kind in (*BLOCKING_CALLERS[store], *AWAITING_CALLERS[store])]
        metafunc.parametrize(("store", "caller"), pairs, indirect=True)
    elif "store" in metafunc.fixturenames:
        metafunc.parametrize("store", stores, indirect=True)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what a store refuses: parameters that are marked so, and accounts kept hot where none can be."""

    def is_refused(item: pytest.Item) -> bool:
        params = item.callspec.params if isinstance(item, pytest.Function) and hasattr(item, "callspec") else {}
        store = params.get("store")
        left_out = any(store in mark.kwargs.get("without", ()) for mark in item.iter_markers("stores"))
        return left_out or (store in REFUSE_HOT and "hot" in params.values())

    refused = [item for item in items if is_refused(item)]
    config.hook.pytest_deselected(items=refused)
    items[:] = [item for item in items if item not in set(refused)]


@pytest.fixture
def store(request: pytest.FixtureRequest) -> str:
    """The store under test."""
    return str(request.param)


@pytest.fixture
def store_url(store: str, request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The store's database."""
    if store == "sqlite":
        return f"sqlite:///{tmp_path}/ledger.db"
    fixtures = {"postgres": "server_url", "mariadb": "mariadb_url", "firebird": "firebird_url"}
    return str(request.getfixturevalue(fixtures[store]))


@pytest.fixture
def ledger(store_url: str, emptied_ledgers: EmptiedLedgers) -> Iterator[Ledger]:
    """A migrated ledger of this test's own, on the store under test."""
    with emptied_ledgers.one(store_url) as ledger:
        yield ledger


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
def raw(store: str, store_url: str, ledger_name: str) -> Iterator[Raw]:
    """The tables themselves."""
    raw = EYES[store](store_url, ledger_name)
    yield raw
    raw.close()


@pytest.fixture
def caller(request: pytest.FixtureRequest, store_url: str, ledger_name: str, loop: Loop, raw: Raw) -> Iterator[Caller]:
    """An application that holds a transaction, one of each kind that `within` takes on the store."""
    raw("CREATE TABLE {s}.orders (id integer PRIMARY KEY)")
    settle = settled if request.param in BLOCKING_CALLERS[raw.store] else loop.settle
    caller = Caller(request.param, store_url, ledger_name, settle)
    yield caller
    caller.close()


@pytest.fixture
def callers_book(caller: Caller, store: str, store_url: str, ledger_name: str, loop: Loop) -> Iterator[Ledger]:
    """The test's ledger in the style that the caller needs."""
    blocking = caller.kind in BLOCKING_CALLERS[store]
    style = Style("blocking" if blocking else "awaiting", settled if blocking else loop.settle)
    book = cast(Ledger, opened(store_url, ledger_name, style))
    yield book
    book.close()


@pytest.fixture
def balanced(ledger: Ledger) -> Iterator[None]:
    """The books are in order after the test, for `pytestmark = pytest.mark.usefixtures("balanced")`."""
    yield
    assert_balanced(ledger)
