"""
Which store a Django connection speaks to: its dialect, how a transaction on it is held, whose errors its driver raises.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from typing import Any, NamedTuple, Protocol

from lastro.engine.django_held import HoldsDriver
from lastro.engine.settings import EngineSettings
from lastro.errors import InvalidInput, LastroError

VENDORS = ("postgresql", "sqlite")


class Translated(Protocol):
    """From a driver's error to one of ours."""

    def __call__(self, error: Exception, *, ambiguous: bool) -> LastroError:
        """Return it; *ambiguous* where a COMMIT was sent."""
        ...


class Store(NamedTuple):
    """
    A store as Django's connections reach it: `hold` for a transaction that was there before, `hold_own` for one that is
    ours and was entered under `beginning(connection)`.
    """

    dialect: str
    hold: Callable[[object, EngineSettings], HoldsDriver]
    hold_own: Callable[[object, EngineSettings], HoldsDriver]
    beginning: Callable[[Any], AbstractContextManager[None]]
    translated: Translated


def store_of(vendor: str) -> Store:
    """
    Return the store of a Django backend by its `vendor`. Raises InvalidInput for one that Lastro doesn't speak to.
    """
    if vendor == "postgresql":
        from lastro.engine import postgres, psycopg_errors

        return Store(postgres.DIALECT, postgres.hold, postgres.hold, nullcontext, psycopg_errors.translated)
    if vendor == "sqlite":
        from lastro.engine import sqlite, sqlite_cursor, sqlite_errors

        locked = partial(sqlite.hold, locked=True)
        return Store(sqlite_cursor.DIALECT, sqlite.hold, locked, _immediately, sqlite_errors.translated)
    raise InvalidInput(f"lastro speaks to Django's backends of {', '.join(VENDORS)}; got {vendor!r}", argument="using")


@contextmanager
def _immediately(connection: Any) -> Iterator[None]:
    # A transaction of SQLite's that reads first and writes later may fail at once, and no timeout applies.
    connection.ensure_connection()
    chosen, connection.transaction_mode = connection.transaction_mode, "IMMEDIATE"
    try:
        yield
    finally:
        connection.transaction_mode = chosen
