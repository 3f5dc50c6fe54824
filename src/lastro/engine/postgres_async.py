"""
PostgreSQL from asyncio: the twin of `postgres`, statement for statement.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, TypeVar

import psycopg
from psycopg.pq import TransactionStatus
from psycopg.rows import dict_row
from psycopg_pool import AsyncConnectionPool

from lastro.engine.drive import drive_async
from lastro.engine.held import (
    async_connection_of,
    async_turn_on,
    check_in_transaction,
    check_session,
    refuse_unholdable,
)
from lastro.engine.postgres import BEGIN
from lastro.engine.psycopg_cursor import DIALECT, AsyncDictCursor, AsyncPlainCursor, execute_async
from lastro.engine.psycopg_errors import translated
from lastro.engine.retrying import Tries
from lastro.engine.settings import (
    CONNECT_TIMEOUT_S,
    POOL_TIMEOUT_S,
    EngineSettings,
    without_driver,
)
from lastro.errors import ConnectionLost, Fault, OutcomeUnknown, ServerUnavailable
from lastro.plans.plan import TOGETHER, Effect, MakePlan, Plan, Rows, Step
from lastro.sql.catalogue import catalogue

T = TypeVar("T")


class AsyncPostgresEngine:
    """
    Runs plans on connections of its own: transactions begin and end here, lost ones are tried again within bounds.
    """

    dialect = DIALECT

    def __init__(self, settings: EngineSettings) -> None:
        self._settings = settings
        self._pool: AsyncConnectionPool[psycopg.AsyncConnection[dict[str, Any]]] | None = None
        self._opening = asyncio.Lock()
        self.statements = catalogue(DIALECT, settings.ledger)

    async def run(self, make: MakePlan[T], effect: Effect) -> T:
        """
        Run a plan to its result. Refusals are raised as they come; faults after the tries that *effect* allows.
        """
        tries = Tries(effect)
        while True:
            try:
                return await self._run_once(make(), effect)
            except Fault as fault:
                pause_s = tries.pause_s(fault)
                if self._pool is not None and isinstance(fault, ConnectionLost | OutcomeUnknown):
                    # Where one connection is dead its neighbours are; each of them would cost a try of its own.
                    await self._pool.check()
                await asyncio.sleep(pause_s)

    def held(self, connection: object) -> AsyncHeldPostgres:
        """
        Return an engine for the transaction that the caller holds on *connection*.
        """
        return AsyncHeldPostgres(connection, self._settings.ledger)

    async def close(self) -> None:
        """
        Close the connections. The engine opens new ones if it is used again.
        """
        if self._pool is not None:
            await self._pool.close()
        self._pool = None

    async def _run_once(self, plan: Plan[T], effect: Effect) -> T:
        async with self._connection() as connection:
            check_session(connection)
            transaction = _OwnTransaction(connection, self.statements, reads=effect.reads)
            try:
                result = await drive_async(plan, transaction.execute)
                await transaction.commit()
            except psycopg.Error as error:
                raise translated(error, ambiguous=transaction.ambiguous) from error
            finally:
                await transaction.end()
            return result

    @asynccontextmanager
    async def _connection(self) -> AsyncIterator[psycopg.AsyncConnection[dict[str, Any]]]:
        try:
            pool = await self._opened_pool()
            connection = await pool.getconn()
        except psycopg.Error as error:
            raise translated(error, ambiguous=False) from error
        try:
            yield connection
        finally:
            await pool.putconn(connection)

    async def _opened_pool(self) -> AsyncConnectionPool[psycopg.AsyncConnection[dict[str, Any]]]:
        async with self._opening:
            if self._pool is not None:
                return self._pool
            url = without_driver(self._settings.url)
            options: dict[str, Any] = {
                "autocommit": True,
                "row_factory": dict_row,
                "connect_timeout": CONNECT_TIMEOUT_S,
            }
            if not self._settings.prepared:
                options["prepare_threshold"] = None
            # A server that isn't there is said at once and by the driver, not after the pool's patience has run out.
            await (await psycopg.AsyncConnection.connect(url, **options)).close()
            self._pool = AsyncConnectionPool(
                url,
                kwargs=options,
                min_size=1,
                max_size=self._settings.pool_max,
                timeout=POOL_TIMEOUT_S,
                open=False,
            )
            await self._pool.open()
            return self._pool


class _OwnTransaction:
    """
    One plan on one connection of ours: statement by statement, or from `TOGETHER` on as one transaction.
    """

    def __init__(
        self,
        connection: psycopg.AsyncConnection[dict[str, Any]],
        statements: Any,
        *,
        reads: bool,
    ) -> None:
        self._connection = connection
        self._cursor: AsyncDictCursor = connection.cursor()
        self._statements = statements
        self._reads = reads
        self._begun = False
        self.ambiguous = False

    async def execute(self, step: Step) -> Rows:
        if step is TOGETHER:
            if not self._begun:
                self.ambiguous = False
                await self._cursor.execute(BEGIN, prepare=False)
                self._begun = True
            return []
        # A statement outside BEGIN … COMMIT commits itself: once it is sent, a broken connection leaves it open.
        self.ambiguous = not self._begun and not self._reads
        return await execute_async(self._cursor, self._statements, step)

    async def commit(self) -> None:
        if not self._begun:
            return
        if self._connection.info.transaction_status is not TransactionStatus.INTRANS:
            raise ServerUnavailable("the transaction was lost before its COMMIT; nothing was stored")
        self.ambiguous = True
        await self._cursor.execute("COMMIT", prepare=False)
        self._begun = False
        # A COMMIT of a failed transaction is answered with ROLLBACK, and raises nothing.
        if self._cursor.statusmessage != "COMMIT":
            raise ServerUnavailable("the server rolled back instead of committing; nothing was stored")

    async def end(self) -> None:
        if self._begun and not self._connection.closed:
            try:
                await self._cursor.execute("ROLLBACK", prepare=False)
            except psycopg.Error:
                # The pool throws a broken connection away; what the caller must hear is already on its way.
                await self._connection.close()
        self._begun = False


class AsyncHeldPostgres:
    """
    Runs plans inside the transaction that the caller holds: never commits, never retries, rolls back no more than its
    own savepoint.
    """

    dialect = DIALECT

    def __init__(self, connection: object, ledger: str) -> None:
        refuse_unholdable(connection)
        self._handle = connection
        self.statements = catalogue(DIALECT, ledger)

    async def run(self, make: MakePlan[T], effect: Effect) -> T:
        """
        Run a plan to its result inside the caller's transaction. A fault leaves that transaction to the caller.
        """
        connection = await async_connection_of(self._handle)
        async with async_turn_on(connection):
            check_in_transaction(connection)
            return await self._run_on(connection, make())

    async def _run_on(self, connection: psycopg.AsyncConnection[Any], plan: Plan[T]) -> T:
        cursor: AsyncDictCursor = AsyncPlainCursor(connection, row_factory=dict_row)
        statements = self.statements

        async def execute_step(step: Step) -> Rows:
            return [] if step is TOGETHER else await execute_async(cursor, statements, step)

        try:
            return await drive_async(plan, execute_step)
        except psycopg.Error as error:
            raise translated(error, ambiguous=False) from error
        finally:
            await cursor.close()
