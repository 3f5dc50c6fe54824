"""The random histories of every store by the generic engine: what it answers is what the naive ledger answers."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import initialize, rule
from sqlalchemy import event

from lastro.testing import assert_balanced
from tests.histories.answering import Blocking, _do
from tests.histories.machine import NAMES, Histories, Length, keepings, names, openings, sides, tell, within
from tests.support.generic import callers_engine, forced

SHORT = Length(histories=12, steps=25)
LONG = Length(histories=100, steps=50)


def without_hot(arguments: dict[str, Any]) -> dict[str, Any]:
    """The same, kept summed where it would be kept hot, which this engine refuses."""
    return arguments | {"keeping": "summed"} if arguments.get("keeping") == "hot" else arguments


class PlainHistories(Histories):
    """The histories without what the generic engine refuses: accounts kept hot, and summed ones kept otherwise or closed."""

    @initialize(opened=st.lists(openings.map(without_hot), min_size=len(NAMES), max_size=len(NAMES)))
    def open_all(self, opened: list[dict[str, Any]]) -> None:
        """Open every account on some terms, with a little money."""
        for name, arguments in zip(NAMES, opened, strict=True):
            self._both("open_account", **(arguments | {"name": name}))
            self._both("post", key=f"start:{name}", debit="world", credit=name, amount=30)

    @rule(arguments=openings.map(without_hot))
    def open_account(self, arguments: dict[str, Any]) -> None:
        """Open an account, on whatever terms."""
        self._both("open_account", **arguments)

    @rule(name=sides, keeping=keepings)
    def keep(self, name: str, keeping: str) -> None:
        """Keep an account otherwise, where it is kept direct."""
        if self.naive.accounts.get(name, {}).get("keeping") == "direct" and keeping != "hot":
            self._both("keep", name=name, keeping=keeping)

    @rule(name=names)
    def close_account(self, name: str) -> None:
        """Close an account, empty or not, where it is kept direct."""
        if self.naive.accounts[name]["keeping"] == "direct":
            self._both("close_account", name=name)

    @rule(
        operations=st.lists(within.map(lambda one: (one[0], without_hot(one[1]))), min_size=1, max_size=5),
        commits=st.booleans(),
    )
    def transaction(self, operations: list[tuple[str, dict[str, Any]]], commits: bool) -> None:
        """Do several operations in one transaction of the caller's, which commits or is rolled back."""
        super().transaction(operations, commits)


class OnAnything(Blocking):
    """The blocking ledger by the generic engine, audited at the end; transactions on a SQLAlchemy Connection."""

    def __init__(self, url: str, name: str) -> None:
        self._ledger = forced(url, name, pool_max=2)
        self._ledger.migrate()
        self._application = callers_engine(url)
        if url.startswith("sqlite"):
            # As SQLAlchemy's documents say: without it the driver begins no transaction before a savepoint.
            event.listen(self._application, "connect", _leave_transactions_alone)
            event.listen(self._application, "begin", lambda connection: connection.exec_driver_sql("BEGIN"))
            event.listen(self._ledger._engine._opened(), "connect", _leave_transactions_alone)  # type: ignore[attr-defined]
            event.listen(
                self._ledger._engine._opened(),  # type: ignore[attr-defined]
                "begin",
                lambda connection: connection.exec_driver_sql("BEGIN"),
            )

    @contextmanager
    def transaction(self) -> Iterator[Callable[..., Any]]:
        """Yield `ask` for one transaction of the caller's, which is committed unless the block raises."""
        with self._application.connect() as connection:
            held = self._ledger.within(connection)
            yield lambda operation, **arguments: _do(held, operation, arguments)
            connection.commit()

    def close(self) -> None:
        """Audit the books, then close the connections."""
        assert_balanced(self.ledger)
        self._application.dispose()
        super().close()


def _leave_transactions_alone(driver: Any, _record: Any) -> None:
    driver.isolation_level = None


@pytest.mark.req("1.4")
@pytest.mark.req("1.6")
@pytest.mark.parametrize("fixture", ["firebird_url", "server_url"])
def test_histories_agree(fixture: str, request: pytest.FixtureRequest) -> None:
    """Outcomes, balances, entries and counters of any history are the naive ledger's, and the books are in order."""
    url = request.getfixturevalue(fixture)
    tell(lambda: OnAnything(url, f"h_{secrets.token_hex(6)}"), SHORT, rules=PlainHistories)


@pytest.mark.req("1.4")
def test_histories_agree_on_sqlite(tmp_path: Path) -> None:
    """The same statements on SQLite, which has none of the locks that they ask for and needs none."""
    tell(lambda: OnAnything(f"sqlite:///{tmp_path}/{secrets.token_hex(6)}.db", "h"), SHORT, rules=PlainHistories)


@pytest.mark.soak
def test_histories_agree_for_long(firebird_url: str) -> None:
    """Longer histories, other ones each time."""
    tell(lambda: OnAnything(firebird_url, f"h_{secrets.token_hex(6)}"), LONG, derandomize=False, rules=PlainHistories)
