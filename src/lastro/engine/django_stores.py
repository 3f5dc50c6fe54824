"""
Which store a Django connection speaks to: its dialect, how a transaction on it is held, whose errors its driver raises.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol
from urllib.parse import quote, urlencode

from lastro.engine.django_held import HoldsDriver
from lastro.engine.settings import EngineSettings
from lastro.errors import InvalidInput, LastroError

if TYPE_CHECKING:
    from lastro.engine.mysql import MysqlEngine

VENDORS = ("postgresql", "sqlite", "mysql")


class Translated(Protocol):
    """From a driver's error to one of ours."""

    def __call__(self, error: Exception, *, ambiguous: bool) -> LastroError:
        """Return it; *ambiguous* where a COMMIT was sent."""
        ...


class Store(NamedTuple):
    """
    A store as Django's connections reach it: `hold` for a transaction that was there before, `hold_own` for one that is
    ours and was entered under `beginning(connection)`. `engine_beside` makes, from an entry of DATABASES, an engine on
    connections of its own for what can't run on Django's; None where everything can.
    """

    dialect: str
    hold: Callable[[object, EngineSettings], HoldsDriver]
    hold_own: Callable[[object, EngineSettings], HoldsDriver]
    beginning: Callable[[Any], AbstractContextManager[None]]
    translated: Translated
    engine_beside: Callable[[Mapping[str, Any], EngineSettings], MysqlEngine] | None = None


def store_of(vendor: str) -> Store:
    """
    Return the store of a Django backend by its `vendor`. Raises InvalidInput for one that Lastro doesn't speak to.
    """
    if vendor == "postgresql":
        from lastro.engine import postgres, psycopg_cursor, psycopg_errors

        return Store(psycopg_cursor.DIALECT, postgres.hold, postgres.hold, nullcontext, psycopg_errors.translated)
    if vendor == "sqlite":
        from lastro.engine import sqlite, sqlite_cursor, sqlite_errors

        locked = partial(sqlite.hold, locked=True)
        return Store(sqlite_cursor.DIALECT, sqlite.hold, locked, _immediately, sqlite_errors.translated)
    if vendor == "mysql":
        from lastro.engine import mysql_errors, mysql_held, mysql_text

        return Store(
            mysql_text.DIALECT, mysql_held.hold, mysql_held.hold, nullcontext, mysql_errors.translated, _mysql_beside
        )
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


def _mysql_beside(entry: Mapping[str, Any], settings: EngineSettings) -> MysqlEngine:
    # A migration ends transactions by itself there, and comes as several statements in one packet.
    from lastro.engine.mysql import MysqlEngine

    user, password = quote(entry["USER"], safe=""), quote(entry["PASSWORD"], safe="")
    host, options = entry["HOST"] or "localhost", {}
    if host.startswith("/"):
        host, options = "localhost", {"unix_socket": host}
    port = f":{entry['PORT']}" if entry["PORT"] else ""
    url = f"mysql://{user}:{password}@{host}{port}/?{urlencode(options)}"
    return MysqlEngine(settings._replace(url=url, pool_max=1))
