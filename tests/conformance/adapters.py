"""One way to speak to every ledger and every caller's transaction, blocking or awaited."""

from __future__ import annotations

import asyncio
import inspect
import sqlite3
from collections.abc import Callable
from typing import Any, NamedTuple

import aiomysql
import aiosqlite
import asyncmy
import psycopg
import pymysql
from django.db import connections, transaction
from sqlalchemy import URL, Engine, create_engine, text
from sqlalchemy.ext.asyncio import AsyncEngine, AsyncSession, create_async_engine
from sqlalchemy.orm import Session

import lastro
from lastro.ledger import AsyncHeldLedger, HeldLedger
from lastro.ledger.points_awaiting import AsyncHeldPoints
from lastro.ledger.points_blocking import HeldPoints
from tests.conformance.eyes import in_store
from tests.support.django_connections import alias_of
from tests.support.mariadb import arguments_of

Settle = Callable[[Any], Any]

READ_COMMITTED = " in READ COMMITTED"
# What these refuse, `docs/stores.md` says: no account is kept hot there, and one kept summed stays so.
REFUSE_HOT = ("firebird",)


class Style(NamedTuple):
    """How calls are made: `blocking`, or `awaiting` on an event loop of the test's own."""

    name: str
    settle: Settle


class Book:
    """
    A ledger (or a held one) whose methods return their result, whichever style it has.

    Tests are typed against `lastro.Ledger`; the awaited twin is driven to its result here.
    """

    def __init__(self, ledger: Any, style: Style, *, refuses_hot: bool = False) -> None:
        self._ledger, self._style, self._refuses_hot = ledger, style, refuses_hot

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._ledger, name)
        if isinstance(found, HeldPoints | AsyncHeldPoints):
            return Book(found, self._style)
        if not inspect.ismethod(found) or name.startswith("_"):
            return found

        def call(*args: Any, **kwargs: Any) -> Any:
            if self._refuses_hot and kwargs.get("keeping") == "hot":
                # What the tests promise of an account kept hot, unless they speak of its tail, holds of one kept summed.
                kwargs["keeping"] = "summed"
            result = self._style.settle(found(*args, **kwargs))
            return (
                Book(result, self._style, refuses_hot=self._refuses_hot)
                if isinstance(result, HeldLedger | AsyncHeldLedger)
                else result
            )

        return call


def opened(url: str, name: str, style: Style, **options: Any) -> Book:
    """The ledger `name` at `url` in a style."""
    connecting = lastro.connect if style.name == "blocking" else lastro.connect_async
    return Book(style.settle(connecting(url, ledger=name, **options)), style, refuses_hot=store_of(url) in REFUSE_HOT)


class DjangosHandle:
    """
    A Django application inside an atomic block, spoken to as if it held a driver's connection. `connection` is what it
    hands to within().
    """

    def __init__(self, url: str, **options: str) -> None:
        self.alias = alias_of(url, OPTIONS=options)
        self.connection = connections[self.alias]
        self._begin()

    def execute(self, statement: str) -> list[tuple[Any, ...]]:
        """Run a statement as an application does, which Django's own cursor guards."""
        with self.connection.cursor() as cursor:
            cursor.execute(statement)
            return list(cursor.fetchall()) if cursor.description else []

    def commit(self) -> None:
        """Leave the block, and begin the next one."""
        self._block.__exit__(None, None, None)
        self._begin()

    def rollback(self) -> None:
        """Leave the block as an error leaves it, and begin the next one."""
        transaction.set_rollback(True, using=self.alias)
        self.commit()

    def in_savepoint(self, work: Callable[[], object], *, undo: bool) -> None:
        """Work in a block within the block."""
        with transaction.atomic(using=self.alias):
            work()
            transaction.set_rollback(undo, using=self.alias)

    def close(self) -> None:
        """Roll back what is left, and disconnect."""
        transaction.set_rollback(True, using=self.alias)
        self._block.__exit__(None, None, None)
        self.connection.close()

    def _begin(self) -> None:
        self._block = transaction.atomic(using=self.alias)
        self._block.__enter__()


class Caller:
    """
    An application's own transaction: what it holds (`handle`), and what it does with it besides posting.

    Every kind works in a table of its own, `orders (id int)`, beside the ledger's.
    """

    def __init__(self, kind: str, url: str, schema: str, settle: Settle) -> None:
        self.kind, self._url, self._schema, self._settle = kind, url, schema, settle
        self._store = store_of(url)
        self._drivers_own = not kind.startswith(("SQLAlchemy", "Django"))
        # The server's own default is REPEATABLE READ, and an application that says nothing gets it.
        self._read_committed = kind.endswith(READ_COMMITTED)
        self._django: DjangosHandle | None = None
        self._engine: Engine | AsyncEngine | None = None
        self.handle: Any = self._open_django() if kind.startswith("Django") else self._open()

    def execute(self, statement: str) -> list[tuple[Any, ...]]:
        """Run a statement (`{s}.` stands before the ledger's names) in the caller's transaction and return its rows."""
        spelt = in_store(statement, self._schema, self._store)
        if self._django is not None:
            return self._django.execute(spelt)
        if self._drivers_own and self._store == "mariadb":
            cursor = self._settle(self.handle.cursor())
            self._settle(cursor.execute(spelt))
            return list(self._settle(cursor.fetchall())) if cursor.description else []
        if self._drivers_own:
            cursor = self._settle(self.handle.execute(spelt))
            return list(self._settle(cursor.fetchall())) if cursor.description else []
        result = self._settle(self.handle.execute(text(spelt)))
        return [tuple(row) for row in result.fetchall()] if result.returns_rows else []

    def order(self, number: int) -> None:
        """The application's own work."""
        self.execute(f"INSERT INTO {{s}}.orders VALUES ({number})")

    def commit(self) -> None:
        """Commit as the application would."""
        self._settle((self._django or self.handle).commit())

    def rollback(self) -> None:
        """Roll back as the application would."""
        self._settle((self._django or self.handle).rollback())

    def in_savepoint(self, work: Callable[[], object], *, undo: bool) -> None:
        """Do some work inside a savepoint of the application's, kept or undone."""
        if self._drivers_own:
            self.execute("SAVEPOINT mine")
            work()
            self.execute("ROLLBACK TO SAVEPOINT mine" if undo else "RELEASE SAVEPOINT mine")
            return
        if self._django is not None:
            self._django.in_savepoint(work, undo=undo)
            return
        nested = self.handle.begin_nested()
        if inspect.isawaitable(nested):
            nested = self._settle(nested)
        work()
        self._settle(nested.rollback() if undo else nested.commit())

    def close(self) -> None:
        """Give everything back."""
        if self._drivers_own and self._store == "mariadb":
            # asyncmy's close() isn't awaited, and close() of a closed PyMySQL connection is an error.
            closing = getattr(self.handle, "ensure_closed", None)
            self._settle(closing() if closing is not None else self.handle.open and self.handle.close())
        else:
            self._settle((self._django or self.handle).close())
        if self._engine is not None:
            self._settle(self._engine.dispose())

    def _open(self) -> Any:
        if self._store == "mariadb":
            return self._open_mariadb()
        match self.kind:
            case "psycopg":
                return psycopg.connect(self._url)
            case "async psycopg":
                return self._settle(psycopg.AsyncConnection.connect(self._url))
            case "sqlite3":
                return sqlite3.connect(sqlite_path(self._url))
            case "aiosqlite":
                return self._settle(aiosqlite.connect(sqlite_path(self._url)))
            case "SQLAlchemy Connection" | "SQLAlchemy Session":
                self._engine = create_engine(self._url.replace("postgresql://", "postgresql+psycopg://", 1))
                return self._engine.connect() if self.kind.endswith("Connection") else Session(self._engine)
            case "SQLAlchemy AsyncConnection" | "SQLAlchemy AsyncSession":
                url = self._url.replace("postgresql://", "postgresql+psycopg://", 1)
                engine = create_async_engine(url.replace("sqlite://", "sqlite+aiosqlite://", 1))
                self._engine = engine
                if self.kind.endswith("Session"):
                    return AsyncSession(engine)
                return self._settle(_connect(engine))
        raise AssertionError(self.kind)

    def _open_django(self) -> Any:
        # On MariaDB Django asks for READ COMMITTED unless it is told otherwise.
        otherwise = self._store == "mariadb" and not self._read_committed
        self._django = DjangosHandle(self._url, **({"isolation_level": "repeatable read"} if otherwise else {}))
        return self._django.connection

    def _open_mariadb(self) -> Any:
        kind = self.kind.removesuffix(READ_COMMITTED)
        level: dict[str, Any] = {"isolation_level": "READ COMMITTED"} if self._read_committed else {}
        match kind:
            case "PyMySQL" | "asyncmy" | "aiomysql":
                connect = {"PyMySQL": pymysql.connect, "asyncmy": asyncmy.connect, "aiomysql": aiomysql.connect}[kind]
                connection = self._settle(connect(**arguments_of(self._url), autocommit=False))
                if self._read_committed:
                    cursor = self._settle(connection.cursor())
                    self._settle(cursor.execute("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED"))
                    self._settle(connection.commit())
                return connection
            case "SQLAlchemy Connection" | "SQLAlchemy Session":
                self._engine = create_engine(mariadb_engine_url(self._url, "pymysql"), **level)
                return self._engine.connect() if kind.endswith("Connection") else Session(self._engine)
            case "SQLAlchemy AsyncConnection" | "SQLAlchemy AsyncSession":
                engine = create_async_engine(mariadb_engine_url(self._url, "asyncmy"), **level)
                self._engine = engine
                return AsyncSession(engine) if kind.endswith("Session") else self._settle(_connect(engine))
        raise AssertionError(self.kind)


def mariadb_engine_url(url: str, driver: str) -> URL:
    """The SQLAlchemy URL of a MariaDB."""
    arguments = arguments_of(url)
    socket = {"unix_socket": arguments["unix_socket"]} if "unix_socket" in arguments else {}
    return URL.create(
        f"mysql+{driver}", arguments["user"], arguments["password"], arguments["host"], arguments["port"], query=socket
    )


def store_of(url: str) -> str:
    """The store that a URL of the tests leads to."""
    stores = {"sqlite": "sqlite", "mariadb": "mariadb", "firebird+firebird": "firebird"}
    return stores.get(url.partition("://")[0], "postgres")


def sqlite_path(url: str) -> str:
    """The file of a sqlite:////absolute URL."""
    return url.removeprefix("sqlite:///")


async def _connect(engine: AsyncEngine) -> Any:
    return await engine.connect()


BLOCKING_CALLERS = {
    "postgres": ("psycopg", "SQLAlchemy Connection", "SQLAlchemy Session", "Django"),
    "mariadb": (
        "PyMySQL",
        f"PyMySQL{READ_COMMITTED}",
        "SQLAlchemy Connection",
        f"SQLAlchemy Session{READ_COMMITTED}",
        "Django",
        f"Django{READ_COMMITTED}",
    ),
    "sqlite": ("sqlite3", "SQLAlchemy Connection", "SQLAlchemy Session", "Django"),
    "firebird": ("SQLAlchemy Connection", "SQLAlchemy Session"),
}
AWAITING_CALLERS = {
    "postgres": ("async psycopg", "SQLAlchemy AsyncConnection", "SQLAlchemy AsyncSession"),
    "mariadb": (
        "asyncmy",
        f"asyncmy{READ_COMMITTED}",
        "aiomysql",
        "SQLAlchemy AsyncConnection",
        f"SQLAlchemy AsyncSession{READ_COMMITTED}",
    ),
    "sqlite": ("aiosqlite", "SQLAlchemy AsyncConnection", "SQLAlchemy AsyncSession"),
    # Its driver has no twin for asyncio.
    "firebird": (),
}


def settled(value: Any) -> Any:
    """Blocking calls have their result already."""
    return value


class Loop:
    """An event loop of the test's own, on which awaited calls are driven to their result."""

    def __init__(self) -> None:
        self._runner = asyncio.Runner()

    def settle(self, value: Any) -> Any:
        """Await what is awaitable."""
        if not inspect.isawaitable(value):
            return value

        async def waiting() -> Any:
            return await value

        return self._runner.run(waiting())

    def close(self) -> None:
        """Close the loop."""
        self._runner.close()
