"""
Any database inside the transaction that a caller holds, on a SQLAlchemy Connection or Session, awaited or not.
"""

from __future__ import annotations

from typing import Any, TypeVar

from sqlalchemy import Connection
from sqlalchemy.exc import SQLAlchemyError

from lastro.engine.drive import drive
from lastro.engine.generic_errors import translated
from lastro.engine.generic_steps import Steps
from lastro.engine.generic_text import DIALECT
from lastro.engine.sqlalchemy_handles import can_commit, unknown
from lastro.errors import InvalidInput, NotInTransaction
from lastro.plans.plan import TOGETHER, Effect, MakePlan, Rows, Step

T = TypeVar("T")

BLOCKING = "a SQLAlchemy Connection or Session"
AWAITING = "a SQLAlchemy AsyncConnection or AsyncSession"


class HeldGeneric:
    """
    Runs plans inside the transaction that the caller holds: never commits, never retries, rolls back no more than its
    own savepoint.
    """

    dialect = DIALECT

    def __init__(self, handle: object, ledger: str, speaks: str) -> None:
        if not can_commit(handle):
            raise unknown(handle, f"{BLOCKING} (async too)")
        self._handle = handle
        self._ledger = ledger
        self._speaks = speaks

    def run(self, make: MakePlan[T], effect: Effect) -> T:
        """
        Run a plan to its result inside the caller's transaction. A fault leaves that transaction to the caller.
        """
        connection: Any = self._handle
        if hasattr(connection, "get_raw_connection") or hasattr(connection, "sync_session"):
            raise unknown(connection, f"{BLOCKING}; this one is awaited: use lastro.connect_async")
        return run_within(connection, make, effect, ledger=self._ledger, speaks=self._speaks)


class AsyncHeldGeneric:
    """
    The twin of `HeldGeneric` for asyncio.
    """

    dialect = DIALECT

    def __init__(self, handle: object, ledger: str, speaks: str) -> None:
        if not can_commit(handle):
            raise unknown(handle, f"{AWAITING} (or one that isn't awaited, with lastro.connect)")
        self._handle = handle
        self._ledger = ledger
        self._speaks = speaks

    async def run(self, make: MakePlan[T], effect: Effect) -> T:
        """
        Run a plan to its result inside the caller's transaction. A fault leaves that transaction to the caller.
        """
        handle: Any = self._handle
        if not hasattr(handle, "run_sync"):
            raise unknown(handle, f"{AWAITING}; this one is blocking: use lastro.connect")
        result: T = await handle.run_sync(run_within, make, effect, ledger=self._ledger, speaks=self._speaks)
        return result


def run_within(handle: Any, make: MakePlan[T], effect: Effect, *, ledger: str, speaks: str) -> T:
    """
    Run a plan on a Connection or Session, in a savepoint of its own where it may write.
    """
    try:
        connection: Connection = handle.connection() if hasattr(handle, "get_bind") else handle
        _check(connection, speaks)
        steps = Steps(connection, ledger)

        def execute(step: Step) -> Rows:
            return [] if step is TOGETHER else steps.execute(step)

        if effect.reads:
            return drive(make(), execute)
        # A step of several statements is done or undone as one, and a lost race undoes only this call.
        with connection.begin_nested():
            return drive(make(), execute)
    except (SQLAlchemyError, OverflowError) as error:
        raise translated(error, ambiguous=False) from error


def _check(connection: Connection, speaks: str) -> None:
    if connection.dialect.name != speaks:
        raise InvalidInput(
            f"this connection speaks to {connection.dialect.name}, and the ledger is in {speaks}", argument="connection"
        )
    if connection.get_execution_options().get("isolation_level") == "AUTOCOMMIT":
        raise NotInTransaction(
            "this connection is in autocommit mode, so each statement would stand alone; use an engine without AUTOCOMMIT"
        )
    transaction = connection.get_nested_transaction() or connection.get_transaction()
    if transaction is None:
        connection.begin()
    elif not transaction.is_active:
        raise NotInTransaction(
            "the transaction on this connection has already failed and can only be rolled back; nothing was written"
        )
