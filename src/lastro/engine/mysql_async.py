"""
MySQL and MariaDB from asyncio, by asyncmy: plans on connections of our own.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, TypeVar

import asyncmy
from asyncmy.constants import CLIENT
from asyncmy.cursors import Cursor

from lastro.engine.mysql_address import address_of, arguments_of
from lastro.engine.mysql_courses import UNDO, Progress, own_course, set_up
from lastro.engine.mysql_driver import follow_async, send_async
from lastro.engine.mysql_errors import is_drivers, translated
from lastro.engine.mysql_held import AsyncHeldMysql
from lastro.engine.mysql_text import DIALECT, Statements, statements_of
from lastro.engine.retrying import Tries
from lastro.engine.settings import POOL_TIMEOUT_S, EngineSettings
from lastro.errors import ConnectionLost, Fault, OutcomeUnknown
from lastro.plans.plan import Effect, MakePlan, Plan

T = TypeVar("T")


class AsyncMysqlEngine:
    """
    Runs plans on connections of its own: transactions begin and end here, in READ COMMITTED; lost ones are tried again
    within bounds.
    """

    dialect = DIALECT

    def __init__(self, settings: EngineSettings) -> None:
        self._settings = settings
        self._address = address_of(settings.url)
        self._room = asyncio.BoundedSemaphore(settings.pool_max)
        self._idle: list[Any] = []
        self.statements: Statements = statements_of(settings.ledger)

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
                if isinstance(fault, ConnectionLost | OutcomeUnknown):
                    # Where one connection is dead its neighbours are; each of them would cost a try of its own.
                    await self.close()
                await asyncio.sleep(pause_s)

    def held(self, connection: object) -> AsyncHeldMysql:
        """
        Return an engine for the transaction that the caller holds on *connection*.
        """
        return AsyncHeldMysql(connection, self._settings.ledger)

    async def close(self) -> None:
        """
        Close the connections. The engine opens new ones if it is used again.
        """
        while self._idle:
            await self._idle.pop().ensure_closed()

    async def _run_once(self, plan: Plan[T], effect: Effect) -> T:
        async with self._connection() as connection:
            progress = Progress()
            finished = False
            try:
                async with connection.cursor(Cursor) as cursor:
                    result = await follow_async(own_course(plan, effect, self.statements, progress), cursor)
                finished = True
            except asyncio.CancelledError:
                # What the server still sends belongs to nobody: the connection isn't used again.
                connection.close()
                raise
            except Exception as error:
                if not is_drivers(error):
                    raise
                raise translated(error, ambiguous=progress.ambiguous) from error
            finally:
                await _clear(connection, progress, finished=finished)
            return result

    @asynccontextmanager
    async def _connection(self) -> AsyncIterator[Any]:
        try:
            await asyncio.wait_for(self._room.acquire(), POOL_TIMEOUT_S)
        except TimeoutError as error:
            raise ConnectionLost(f"no database connection could be had within {POOL_TIMEOUT_S} s") from error
        try:
            connection = self._idle.pop() if self._idle else await self._open()
            try:
                yield connection
            finally:
                if connection.connected:
                    self._idle.append(connection)
        finally:
            self._room.release()

    async def _open(self) -> Any:
        connection: Any = None
        try:
            connection = await asyncmy.connect(**arguments_of(self._address, multi_statements=CLIENT.MULTI_STATEMENTS))
            async with connection.cursor(Cursor) as cursor:
                await send_async(cursor, set_up(self._settings.lock_timeout_ms))
        except Exception as error:
            if connection is not None:
                connection.close()
            if not is_drivers(error):
                raise
            raise translated(error, ambiguous=False, connecting=True) from error
        return connection


async def _clear(connection: Any, progress: Progress, *, finished: bool) -> None:
    if progress.spent or progress.ambiguous:
        connection.close()
    elif not finished and connection.connected:
        try:
            async with connection.cursor(Cursor) as cursor:
                await send_async(cursor, UNDO)
        except Exception:  # noqa: BLE001 - the connection is given up; what the caller must hear is on its way
            connection.close()
