"""
What SQLAlchemy hands to within(): which of its objects hold a transaction, and how to begin as it would.
"""

from __future__ import annotations

from typing import Any

from lastro.errors import InvalidInput


def comes_from_sqlalchemy(handle: object) -> bool:
    """
    Say whether *handle* is SQLAlchemy's, without importing it.
    """
    return any(kind.__module__.startswith("sqlalchemy.") for kind in type(handle).__mro__)


def can_commit(handle: object) -> bool:
    """
    Say whether *handle* is one of SQLAlchemy's that hold a transaction, awaited or not: an engine isn't.
    """
    return comes_from_sqlalchemy(handle) and hasattr(handle, "commit")


def driver_connection_of(handle: object) -> object:
    """
    Return the driver's connection behind a SQLAlchemy Connection or Session, with its transaction begun.
    """
    connection: Any = handle
    if hasattr(connection, "get_raw_connection") or hasattr(connection, "sync_session"):
        raise unknown(handle, "a blocking Connection or Session; this one is awaited: use lastro.connect_async")
    if hasattr(connection, "get_bind"):
        connection = connection.connection()
    # Going to the driver's connection passes SQLAlchemy's "autobegin" by; without it a later commit() does nothing.
    if not hasattr(connection, "in_transaction"):
        raise unknown(connection, "a SQLAlchemy Connection or Session")
    if not connection.in_transaction():
        connection.begin()
    driver: object = connection.connection.driver_connection
    return driver


async def async_driver_connection_of(handle: object) -> object:
    """
    Return the driver's connection behind a SQLAlchemy AsyncConnection or AsyncSession, with its transaction begun.
    """
    connection: Any = handle
    if hasattr(connection, "sync_session"):
        connection = await connection.connection()
    if not hasattr(connection, "get_raw_connection"):
        raise unknown(handle, "AsyncConnection or AsyncSession; this one is blocking: use lastro.connect")
    if not connection.in_transaction():
        await connection.begin()
    driver: object = (await connection.get_raw_connection()).driver_connection
    return driver


def wrong_driver(driver: object, scheme: str) -> InvalidInput:
    """
    Return the refusal of a SQLAlchemy engine that uses another driver than the ledger.
    """
    return InvalidInput(
        f"this SQLAlchemy engine uses the driver {type(driver).__module__}, which within() can't share; "
        f"create the engine with {scheme}",
        argument="connection",
    )


def unknown(handle: object, expected: str) -> InvalidInput:
    """
    Return the refusal of what within() doesn't know.
    """
    return InvalidInput(
        f"within() takes {expected}; got {type(handle).__module__}.{type(handle).__qualname__}",
        argument="connection",
    )
