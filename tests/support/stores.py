"""The stores that a test may run on: their URLs as fixtures, and a session of an application's own on each of them."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import psycopg
import pymysql
import pytest

from lastro import Ledger, SerializationLost
from tests.support.mariadb import arguments_of

T = TypeVar("T")

POSTGRES, MARIADB, SQLITE = "postgres", "mariadb", "sqlite"
STORES = (POSTGRES, MARIADB, SQLITE)
# In callers' transactions MariaDB's isolation level is the caller's: REPEATABLE READ unless something else is said.
READ_COMMITTED = "read committed"
IN_CALLERS = (POSTGRES, MARIADB, f"{MARIADB} {READ_COMMITTED}", SQLITE)

on_every_server = pytest.mark.parametrize("store", [POSTGRES, MARIADB], indirect=True)
on_every_store = pytest.mark.parametrize("store", STORES, indirect=True)
in_every_callers_transaction = pytest.mark.parametrize("store", IN_CALLERS, indirect=True)

# A race on a busy machine: what is proved is who comes first, not how soon.
LOCK_TIMEOUT_MS = 45_000
# Each try that is lost is lost to a transaction that went through: more tries than a rival has transactions.
TRIES_MAX = 200


@pytest.fixture
def store(request: pytest.FixtureRequest) -> str:
    """The store under test, with the isolation level of callers behind it: PostgreSQL where a test doesn't say."""
    return str(getattr(request, "param", POSTGRES))


@pytest.fixture
def store_url(store: str, request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The store's database."""
    if store == SQLITE:
        return f"sqlite:///{tmp_path}/ledger.db"
    return str(request.getfixturevalue("server_url" if store == POSTGRES else "mariadb_url"))


@pytest.fixture
def ledger(store: str, store_url: str, request: pytest.FixtureRequest) -> Iterator[Ledger]:
    """A migrated ledger of this test's own, on the store under test."""
    options = {} if store == POSTGRES else {"lock_timeout_ms": LOCK_TIMEOUT_MS}
    with request.getfixturevalue("emptied_ledgers").one(store_url, **options) as ledger:
        yield ledger


def store_of(url: str) -> str:
    """Return the name of the store that *url* leads to."""
    return {"mariadb": MARIADB, "mysql": MARIADB, "sqlite": SQLITE}.get(url.partition("://")[0], POSTGRES)


def connected(url: str, *, isolation: str | None = None, **options: Any) -> Any:
    """Open a connection as an application would: no autocommit, to be used by one thread at a time."""
    match store_of(url):
        case "mariadb":
            connection = pymysql.connect(**arguments_of(url), **({"autocommit": False} | options))
            if isolation:
                with connection.cursor() as cursor:
                    cursor.execute(f"SET SESSION TRANSACTION ISOLATION LEVEL {isolation}")
            return connection
        case "sqlite":
            path = url.removeprefix("sqlite:///")
            return sqlite3.connect(path, timeout=LOCK_TIMEOUT_MS / 1000, check_same_thread=False, **options)
        case _:
            return psycopg.connect(url, **options)


@contextmanager
def transaction(connection: Any) -> Iterator[None]:
    """Do the block in one transaction of the caller's, as each store's documents advise."""
    if isinstance(connection, sqlite3.Connection):
        connection.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        connection.rollback()
        raise
    connection.commit()


def do(store: str, connection: Any, work: Callable[[], T]) -> T:
    """
    Return what *work* returns in one transaction of the caller's. Nothing is retried, so that a deadlock is seen, but in MariaDB's
    REPEATABLE READ: there a sum is read with locks on gaps, circles of them are broken, and the application begins again.
    """
    for tries_left in reversed(range(TRIES_MAX if store == MARIADB else 1)):
        try:
            with transaction(connection):
                return work()
        except SerializationLost:
            if not tries_left:
                raise
    raise AssertionError("the last try returns or raises")


def pid_of(connection: Any) -> int:
    """Return what the server calls this session; 0 where there is no server."""
    if isinstance(connection, pymysql.connections.Connection):
        return int(connection.thread_id())
    return 0 if isinstance(connection, sqlite3.Connection) else int(connection.info.backend_pid)


def rows_of(url: str, query: str, ledger: str) -> list[tuple[Any, ...]]:
    """Return what a query finds in a ledger's tables (`{s}` stands before their names), text as text."""
    tables = f"{ledger}_" if store_of(url) == SQLITE else f"{ledger}."
    connection = connected(url)
    try:
        cursor = connection.cursor()
        cursor.execute(query.replace("{s}", tables))
        return [
            tuple(value.decode() if isinstance(value, bytes) else value for value in row) for row in cursor.fetchall()
        ]
    finally:
        connection.close()


def value_of(connection: Any, query: str) -> Any:
    """Return the one value of a query, asked in the caller's own transaction."""
    cursor = connection.cursor()
    cursor.execute(query)
    ((value,),) = cursor.fetchall()
    return value
