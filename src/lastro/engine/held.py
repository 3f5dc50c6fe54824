"""
What callers hold: the psycopg connection behind a psycopg connection, a SQLAlchemy Connection or a Session.
"""

from __future__ import annotations

import asyncio
import threading
from typing import Any
from weakref import WeakKeyDictionary

import psycopg
from psycopg.pq import PipelineStatus, TransactionStatus

from lastro.engine.sqlalchemy_handles import (
    async_driver_connection_of,
    can_commit,
    comes_from_sqlalchemy,
    driver_connection_of,
    unknown,
    wrong_driver,
)
from lastro.errors import ConnectionLost, InvalidInput, NotInTransaction

_turns: WeakKeyDictionary[psycopg.Connection[Any], threading.Lock] = WeakKeyDictionary()
_async_turns: WeakKeyDictionary[psycopg.AsyncConnection[Any], asyncio.Lock] = WeakKeyDictionary()


def connection_of(handle: object) -> psycopg.Connection[Any]:
    """
    Return the psycopg connection with the caller's transaction; asked anew for each call, as a Session may change it.
    """
    if isinstance(handle, psycopg.Connection):
        return handle
    if comes_from_sqlalchemy(handle):
        driver = driver_connection_of(handle)
        if isinstance(driver, psycopg.Connection):
            return driver
        raise wrong_driver(driver, "postgresql+psycopg://")
    raise unknown(handle, "psycopg.Connection, a SQLAlchemy Connection or a Session")


async def async_connection_of(handle: object) -> psycopg.AsyncConnection[Any]:
    """
    Return the psycopg connection with the caller's transaction, from asyncio.
    """
    if isinstance(handle, psycopg.AsyncConnection):
        return handle
    if comes_from_sqlalchemy(handle):
        driver = await async_driver_connection_of(handle)
        if isinstance(driver, psycopg.AsyncConnection):
            return driver
        raise wrong_driver(driver, "postgresql+psycopg://")
    raise unknown(handle, "psycopg.AsyncConnection, a SQLAlchemy AsyncConnection or an AsyncSession")


def turn_on(connection: psycopg.Connection[Any]) -> threading.Lock:
    """
    Return the lock under which threads that share *connection* take turns: a plan's savepoint is its own alone.
    """
    return _turns.setdefault(connection, threading.Lock())


def async_turn_on(connection: psycopg.AsyncConnection[Any]) -> asyncio.Lock:
    """
    Return the lock under which tasks that share *connection* take turns.
    """
    return _async_turns.setdefault(connection, asyncio.Lock())


def refuse_unholdable(handle: object) -> None:
    """
    Raise for what can't be a caller's connection, as soon as it is handed over.
    """
    driver = isinstance(handle, psycopg.Connection | psycopg.AsyncConnection)
    if not driver and not can_commit(handle):
        raise unknown(
            handle, "a psycopg Connection or AsyncConnection, or a SQLAlchemy Connection or Session (async too)"
        )


def check_in_transaction(connection: psycopg.Connection[Any] | psycopg.AsyncConnection[Any]) -> None:
    """
    Raise when what would be written on *connection* could not be committed together with the caller's own work.
    """
    if connection.closed:
        raise ConnectionLost("the connection handed to within() is closed")
    if connection.info.pipeline_status is not PipelineStatus.OFF:
        # Rows come later there, so that a statement that wrote would look like one that wrote nothing.
        raise InvalidInput(
            "this connection is in pipeline mode, where a posting can't read its outcome; "
            "nothing was written: leave `with connection.pipeline()` first",
            argument="connection",
        )
    check_session(connection)
    status = connection.info.transaction_status
    if status is TransactionStatus.INERROR:
        raise NotInTransaction(
            "the transaction on this connection has already failed and can only be rolled back; "
            "nothing was written: roll back, then post in a new transaction"
        )
    if connection.autocommit and status is TransactionStatus.IDLE:
        raise NotInTransaction(
            "this connection is in autocommit mode and no transaction is open, so each statement would stand alone; "
            "open one first (psycopg: with connection.transaction(): …; SQLAlchemy: an engine without AUTOCOMMIT)"
        )


def check_session(connection: psycopg.Connection[Any] | psycopg.AsyncConnection[Any]) -> None:
    """
    Raise where the session's settings would make an outcome unreadable after it was written. Asks nothing of the server.
    """
    info = connection.info
    style, encoding = info.parameter_status("DateStyle") or "ISO", info.parameter_status("client_encoding") or "UTF8"
    if not style.startswith("ISO") or encoding != "UTF8":
        raise InvalidInput(
            f"this session has DateStyle {style!r} and client_encoding {encoding!r}, in which the driver can't read or "
            "write everything a ledger holds; nothing was written: use DateStyle ISO and client_encoding UTF8",
            argument="connection",
        )
