"""One PostgreSQL 18 for the whole run, a database for each xdist worker, a ledger (a schema) for each test."""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from importlib.machinery import PathFinder
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn
from urllib.parse import urlsplit, urlunsplit

import psycopg
import pytest
from psycopg import sql

import lastro
from lastro import AsyncLedger, Ledger
from lastro.embedded import EmbeddedServer
from lastro.testing.temporary import THROW_AWAY_SETTINGS
from tests.support.emptied import EmptiedLedgers
from tests.support.firebird import firebird_server
from tests.support.folders import throw_away_in_memory
from tests.support.mariadb import mariadb_server

Counted = Callable[[str], None]
COUNTS = "counts"

# Not LASTRO_DATABASE_URL: whoever has an application's database in the shell must not test on it.
URL_VARIABLE = "LASTRO_TEST_DATABASE_URL"
MARIADB_URL_VARIABLE = "LASTRO_TEST_MARIADB_URL"
REQUIRE_VARIABLE = "LASTRO_TEST_REQUIRE"
DEBIAN_PACKAGES = "/usr/lib/python3/dist-packages"
# Two workers, each with pools, threads and processes of its tests.
TEST_SETTINGS = THROW_AWAY_SETTINGS | {"max_connections": "300", "max_prepared_transactions": "10"}

throw_away_in_memory()


@pytest.fixture(scope="session")
def server_url(tmp_path_factory: pytest.TempPathFactory, worker: str, emptied_ledgers: EmptiedLedgers) -> Iterator[str]:
    """
    The libpq URL of this worker's own database on a real PostgreSQL.

    A database each, because `keep` waits for every transaction of its database: another worker's would hold it up.
    """
    given = os.environ.get(URL_VARIABLE)
    if given:
        with _own_database(given, worker) as url:
            yield url
            emptied_ledgers.leave(url, drops=True)
        return
    # Under xdist each worker gets a folder below the run's own; the server is started by the first that comes.
    folder = tmp_path_factory.getbasetemp()
    server = EmbeddedServer((folder if worker == "master" else folder.parent) / "server")
    server.start(settings=TEST_SETTINGS)
    try:
        with _own_database(server.url, worker) as url:
            yield url
            emptied_ledgers.leave(url, drops=False)
    finally:
        server.release()


@pytest.fixture(scope="session")
def mariadb_url(emptied_ledgers: EmptiedLedgers) -> Iterator[str]:
    """
    The URL of a real MariaDB: LASTRO_TEST_MARIADB_URL, or a server of this worker's own.

    One each, because `keep` waits for every transaction of its server: another worker's would hold it up.
    """
    given = os.environ.get(MARIADB_URL_VARIABLE)
    if given:
        yield given
        emptied_ledgers.leave(given, drops=True)
        return
    mariadbd = require("mariadbd", name="mariadb")
    with mariadb_server(mariadbd, require("mariadb-install-db", name="mariadb")) as url:
        yield url
        emptied_ledgers.leave(url, drops=False)


@pytest.fixture(scope="session")
def firebird_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """
    The SQLAlchemy URL of a database on a Firebird of this worker's own: a store that only the generic engine knows.
    """
    server, isql = require("firebird", name="firebird"), require("isql-fb", name="firebird")
    with firebird_server(server, isql, tmp_path_factory.mktemp("firebird")) as url:
        yield url


@pytest.fixture(scope="session")
def mysqlclient() -> ModuleType:
    """
    The driver mysqlclient. It needs a compiler and so it isn't in the lock: Debian's package serves its own Python.
    """
    spec = importlib.util.find_spec("MySQLdb") or PathFinder.find_spec("MySQLdb", [DEBIAN_PACKAGES])
    if spec is None or spec.loader is None:
        missing("mysqlclient", name="mariadb")
    driver = sys.modules.setdefault("MySQLdb", importlib.util.module_from_spec(spec))
    spec.loader.exec_module(driver)
    return driver


@pytest.fixture(scope="session")
def worker(request: pytest.FixtureRequest) -> str:
    """The xdist worker's name (gw0, gw1, ...), or `master` where there are none."""
    return str(getattr(request.config, "workerinput", {}).get("workerid", "master"))


@pytest.fixture(scope="session")
def emptied_ledgers() -> Iterator[EmptiedLedgers]:
    """Ledgers of this worker, as if just migrated, on any store: `with emptied_ledgers.one(url) as ledger`."""
    ledgers = EmptiedLedgers()
    yield ledgers
    ledgers.close()


@pytest.fixture
def ledger(server_url: str, emptied_ledgers: EmptiedLedgers) -> Iterator[Ledger]:
    """A migrated ledger of this test's own."""
    with emptied_ledgers.one(server_url) as ledger:
        yield ledger


@pytest.fixture
def ledger_name(ledger: Ledger) -> str:
    """The schema in which this test's ledger lives, for `lastro.connect(url, ledger=ledger_name)` and for raw SQL."""
    return ledger._operations.ledger


@pytest.fixture
async def async_ledger(server_url: str, ledger_name: str) -> AsyncIterator[AsyncLedger]:
    """The same ledger as `ledger`, awaited."""
    async with await lastro.connect_async(server_url, ledger=ledger_name) as awaited:
        yield awaited


@pytest.fixture
def connection(server_url: str, ledger_name: str) -> Iterator[psycopg.Connection[Any]]:
    """
    A psycopg connection, not autocommit, that sees the test's ledger by its search path: `SELECT … FROM transfer`.
    """
    with psycopg.connect(server_url, options=f"-c search_path={ledger_name},public") as connection:
        yield connection
        connection.rollback()


@pytest.fixture
def counted(record_property: Callable[[str, object], None]) -> Counted:
    """
    Say what a race or a series of kills came to: the run's summary repeats it, from whichever worker it comes.
    """

    def say(counts: str) -> None:
        record_property(COUNTS, counts)

    return say


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print what was counted."""
    said = [
        f"{report.nodeid}: {value}"
        for report in terminalreporter.stats.get("passed", [])
        for name, value in report.user_properties
        if name == COUNTS and report.when == "call"
    ]
    if said:
        terminalreporter.section("counted")
        terminalreporter.write("".join(f"{line}\n" for line in sorted(said)))


@pytest.fixture(scope="session")
def need() -> Callable[[str], Path]:
    """
    Find a program that a test can't do without: `need("pgbouncer")`.

    Where it is missing the test is skipped, or fails when LASTRO_TEST_REQUIRE names it.
    """
    return require


def require(program: str, *, name: str | None = None) -> Path:
    """Return the program's path; skip, or fail where LASTRO_TEST_REQUIRE names it (*name*: how it is called there)."""
    found = shutil.which(program, path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin")
    if found:
        return Path(found)
    return missing(program, name=name or program)


def missing(what: str, *, name: str) -> NoReturn:
    """Skip, or fail where LASTRO_TEST_REQUIRE asks for *name*."""
    message = f"{what} isn't installed; `make services` installs it"
    if name in {word.strip() for word in os.environ.get(REQUIRE_VARIABLE, "").split(",")}:
        pytest.fail(f"{message}, and {REQUIRE_VARIABLE} requires it")
    pytest.skip(message)


class _own_database:  # noqa: N801  (a context manager, used like a function)
    """A database of the worker's own on the server of *url*; *url* itself where there is only one process."""

    def __init__(self, url: str, worker: str) -> None:
        self._admin_url, self._name = url, f"lastro_test_{worker}"
        self._url = url if worker == "master" else urlunsplit(urlsplit(url)._replace(path=f"/{self._name}"))

    def __enter__(self) -> str:
        if self._url != self._admin_url:
            self._run("DROP DATABASE IF EXISTS {} WITH (FORCE)", "CREATE DATABASE {}")
        return self._url

    def __exit__(self, *_: object) -> None:
        if self._url != self._admin_url:
            self._run("DROP DATABASE IF EXISTS {} WITH (FORCE)")

    def _run(self, *statements: str) -> None:
        with psycopg.connect(self._admin_url, autocommit=True) as connection:
            for statement in statements:
                connection.execute(sql.SQL(statement).format(sql.Identifier(self._name)))
