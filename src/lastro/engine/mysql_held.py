"""
MySQL and MariaDB inside the transaction that a caller holds: by PyMySQL or mysqlclient, or by SQLAlchemy over either.
"""

from __future__ import annotations

import sys
from typing import Any, TypeVar

from lastro.engine.django_held import HeldDjango, comes_from_django
from lastro.engine.mysql_courses import RELEASE, SAVEPOINT, held_course
from lastro.engine.mysql_driver import follow, follow_async, send
from lastro.engine.mysql_errors import is_drivers, number_of, translated
from lastro.engine.mysql_text import DIALECT, Statements, statements_of
from lastro.engine.settings import EngineSettings
from lastro.engine.sqlalchemy_handles import (
    async_driver_connection_of,
    can_commit,
    comes_from_sqlalchemy,
    driver_connection_of,
    unknown,
    wrong_driver,
)
from lastro.errors import ConnectionLost, NotInTransaction
from lastro.plans.plan import Effect, MakePlan

T = TypeVar("T")

BLOCKING_DRIVERS = ("pymysql", "MySQLdb")
AWAITING_DRIVERS = ("asyncmy", "aiomysql")
BLOCKING = "a PyMySQL or mysqlclient connection, a SQLAlchemy Connection or a Session"
AWAITING = "an asyncmy or aiomysql connection, a SQLAlchemy AsyncConnection or an AsyncSession"
IN_TRANSACTION = 1  # SERVER_STATUS_IN_TRANS, in every driver
NO_SUCH_SAVEPOINT = 1305


class HeldMysql:
    """
    Runs plans inside the transaction that the caller holds: never commits, never retries, rolls back no more than its
    own savepoint.
    """

    dialect = DIALECT

    def __init__(self, handle: object, ledger: str) -> None:
        refuse_unholdable(handle)
        self._handle = handle
        self.statements: Statements = statements_of(ledger)

    def run(self, make: MakePlan[T], effect: Effect) -> T:
        """
        Run a plan to its result inside the caller's transaction. A fault leaves that transaction to the caller.
        """
        connection = connection_of(self._handle)
        _check_open(connection)
        try:
            # The caller's own class may give dictionaries, or stream its rows.
            with connection.cursor(_plain_cursor(connection)) as cursor:
                if not _in_transaction(connection, cursor):
                    raise _autocommits()
                return follow(held_course(make(), effect, self.statements), cursor)
        except Exception as error:
            if not is_drivers(error):
                raise
            raise translated(error, ambiguous=False) from error


class AsyncHeldMysql:
    """
    The twin of `HeldMysql` for asyncio.
    """

    dialect = DIALECT

    def __init__(self, handle: object, ledger: str) -> None:
        refuse_unholdable(handle)
        self._handle = handle
        self.statements: Statements = statements_of(ledger)

    async def run(self, make: MakePlan[T], effect: Effect) -> T:
        """
        Run a plan to its result inside the caller's transaction. A fault leaves that transaction to the caller.
        """
        connection = await async_connection_of(self._handle)
        _check_open(connection)
        if connection.get_autocommit() and not connection.get_transaction_status():
            raise _autocommits()
        try:
            async with connection.cursor(_plain_cursor(connection)) as cursor:
                return await follow_async(held_course(make(), effect, self.statements), cursor)
        except Exception as error:
            if not is_drivers(error):
                raise
            raise translated(error, ambiguous=False) from error


def hold(connection: object, settings: EngineSettings) -> HeldMysql | HeldDjango:
    """
    Return an engine for the transaction that a caller holds, by Django's connection or as its driver knows it.
    """
    if comes_from_django(connection):
        return HeldDjango(connection, DIALECT, vendor="mysql", hold=lambda driver: HeldMysql(driver, settings.ledger))
    return HeldMysql(connection, settings.ledger)


def connection_of(handle: object) -> Any:
    """
    Return the driver's connection with the caller's transaction; asked anew for each call, as a Session may change it.
    """
    if _is_connection(handle, BLOCKING_DRIVERS):
        return handle
    if comes_from_sqlalchemy(handle):
        driver = driver_connection_of(handle)
        if _is_connection(driver, BLOCKING_DRIVERS):
            return driver
        raise wrong_driver(driver, "mysql+pymysql:// or mariadb+pymysql://")
    raise unknown(handle, BLOCKING)


async def async_connection_of(handle: object) -> Any:
    """
    Return the driver's connection with the caller's transaction, from asyncio.
    """
    if _is_connection(handle, AWAITING_DRIVERS):
        return handle
    if comes_from_sqlalchemy(handle):
        driver = await async_driver_connection_of(handle)
        if _is_connection(driver, AWAITING_DRIVERS):
            return driver
        raise wrong_driver(driver, "mysql+asyncmy:// or mysql+aiomysql://")
    raise unknown(handle, AWAITING)


def refuse_unholdable(handle: object) -> None:
    """
    Raise for what can't be a caller's connection, as soon as it is handed over.
    """
    if not _is_connection(handle, BLOCKING_DRIVERS + AWAITING_DRIVERS) and not can_commit(handle):
        raise unknown(
            handle,
            "a Connection of PyMySQL, mysqlclient, asyncmy or aiomysql, or a SQLAlchemy Connection or Session (async too)",
        )


def _is_connection(handle: object, drivers: tuple[str, ...]) -> bool:
    # By name and not by class, so that a driver that isn't installed needn't be imported to be told apart.
    return any(
        kind.__name__ == "Connection" and kind.__module__.partition(".")[0] in drivers for kind in type(handle).__mro__
    )


def _plain_cursor(connection: object) -> Any:
    driver = next(
        kind.__module__.partition(".")[0]
        for kind in type(connection).__mro__
        if kind.__module__.partition(".")[0] in BLOCKING_DRIVERS + AWAITING_DRIVERS
    )
    return sys.modules[f"{driver}.cursors"].Cursor


def _check_open(connection: Any) -> None:
    # `open` is 0 or 1 in mysqlclient, `closed` True or False in aiomysql, `connected` in asyncmy.
    is_open = getattr(connection, "open", None)
    if is_open is None:
        is_open = connection.connected if hasattr(connection, "connected") else not connection.closed
    if not is_open:
        raise ConnectionLost("the connection handed to within() is closed")


def _in_transaction(connection: Any, cursor: Any) -> bool:
    if not connection.get_autocommit():
        return True
    status = getattr(connection, "server_status", None)
    if status is not None:
        return bool(status & IN_TRANSACTION)
    # mysqlclient doesn't tell. Outside a transaction a savepoint is gone with the statement that made it.
    send(cursor, SAVEPOINT)
    try:
        send(cursor, RELEASE)
    except Exception as error:
        if number_of(error) != NO_SUCH_SAVEPOINT:
            raise
        return False
    return True


def _autocommits() -> NotInTransaction:
    return NotInTransaction(
        "this connection is in autocommit mode and no transaction is open, so each statement would stand alone; "
        "open one first: connection.begin()"
    )
