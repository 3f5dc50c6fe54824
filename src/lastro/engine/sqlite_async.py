"""
SQLite from asyncio: plans run in threads of our own, one for those that write and some for those that read.
"""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from lastro.engine.settings import EngineSettings
from lastro.engine.sqlalchemy_handles import async_driver_connection_of, comes_from_sqlalchemy, unknown, wrong_driver
from lastro.engine.sqlite import SqliteEngine
from lastro.engine.sqlite_cursor import DIALECT, Answer, Call, Statements, answer, statements_of
from lastro.engine.sqlite_errors import translated
from lastro.engine.sqlite_held import (
    HeldCourse,
    Pause,
    begins_itself,
    check_in_transaction,
    held_course,
    is_aiosqlite,
    refuse_unholdable,
)
from lastro.plans.plan import Effect, MakePlan

T = TypeVar("T")


class AsyncSqliteEngine:
    """
    Runs plans of the blocking engine in threads. Those that write stand in line for one thread, in the order of their
    calls. A call that is cancelled stores nothing, unless its COMMIT was under way.
    """

    dialect = DIALECT

    def __init__(self, settings: EngineSettings) -> None:
        self._settings = settings
        self._blocking = SqliteEngine(settings)
        self._threads: dict[bool, ThreadPoolExecutor] = {}
        self.statements: Statements = self._blocking.statements

    async def run(self, make: MakePlan[T], effect: Effect) -> T:
        """
        Run a plan to its result. Refusals are raised as they come; faults after the tries that *effect* allows.
        """
        given_up = threading.Event()
        call = asyncio.get_running_loop().run_in_executor(
            self._executor(reads=effect.reads),
            lambda: self._blocking.run(make, effect, abandoned=given_up.is_set),
        )
        try:
            return await asyncio.shield(call)
        except asyncio.CancelledError:
            given_up.set()
            # A call that no thread has begun won't begin; of one that goes on nobody is left to hear the end.
            call.cancel()
            call.add_done_callback(_heard)
            raise

    def held(self, connection: object) -> AsyncHeldSqlite:
        """
        Return an engine for the transaction that the caller holds on *connection*.
        """
        return AsyncHeldSqlite(connection, self._settings)

    async def close(self) -> None:
        """
        Close the connections, after the calls that are under way. The engine opens new ones if it is used again.
        """
        threads, self._threads = self._threads, {}
        for executor in threads.values():
            await asyncio.to_thread(executor.shutdown)
        self._blocking.close()

    def _executor(self, *, reads: bool) -> ThreadPoolExecutor:
        if reads not in self._threads:
            self._threads[reads] = ThreadPoolExecutor(
                max_workers=self._settings.pool_max if reads else 1,
                thread_name_prefix="lastro-reader" if reads else "lastro-writer",
            )
        return self._threads[reads]


def _heard(call: asyncio.Future[Any]) -> None:
    if not call.cancelled():
        call.exception()


class AsyncHeldSqlite:
    """
    Runs plans inside the transaction that the caller holds: never commits, never retries, rolls back no more than its
    own savepoint. On a sqlite3 connection statements run in the loop's thread, where that connection lives; the wait for
    the write lock leaves the loop free.
    """

    dialect = DIALECT

    def __init__(self, handle: object, settings: EngineSettings) -> None:
        refuse_unholdable(handle)
        self._handle = handle
        self._settings = settings
        self.statements: Statements = statements_of(settings.ledger)

    async def run(self, make: MakePlan[T], effect: Effect) -> T:
        """
        Run a plan to its result inside the caller's transaction. A fault leaves that transaction to the caller.
        """
        connection = await async_connection_of(self._handle)
        try:
            return await self._run_on(connection, make, effect)
        except (sqlite3.Error, OverflowError) as error:
            raise translated(error, ambiguous=False) from error

    async def _run_on(self, connection: Any, make: MakePlan[T], effect: Effect) -> T:
        begun = connection.in_transaction
        check_in_transaction(begun=begun, begins_itself=begins_itself(connection))
        course = held_course(
            make(), effect, self.statements, begun=begun, lock_timeout_ms=self._settings.lock_timeout_ms
        )
        text_factory, connection.text_factory = connection.text_factory, str
        try:
            if isinstance(connection, sqlite3.Connection):
                return await _follow(course, _Here(connection))
            return await _follow(course, _Aiosqlite(await connection.cursor()))
        finally:
            connection.text_factory = text_factory


class _Here:
    """A cursor of a sqlite3 connection."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._cursor = connection.cursor()
        self._cursor.row_factory = None

    async def answer(self, call: Call) -> Answer:
        return answer(self._cursor, call)


class _Aiosqlite:
    """A cursor of aiosqlite, which runs in that connection's own thread."""

    def __init__(self, cursor: Any) -> None:
        self._cursor = cursor
        cursor.row_factory = None

    async def answer(self, call: Call) -> Answer:
        if call.many is not None:
            await self._cursor.executemany(call.text, call.many)
            return Answer(None, [])
        await self._cursor.execute(call.text, call.params)
        if self._cursor.description is None:
            return Answer(None, [])
        return Answer([column[0] for column in self._cursor.description], await self._cursor.fetchall())


async def _follow(course: HeldCourse[T], cursor: _Here | _Aiosqlite) -> T:
    try:
        going = next(course)
        while True:
            found: Answer | None = None
            try:
                if isinstance(going, Pause):
                    await asyncio.sleep(going.s)
                else:
                    found = await cursor.answer(going)
            except BaseException as error:  # noqa: BLE001 - it goes on in the course, which undoes what was written
                going = course.throw(error)
            else:
                going = course.send(found)
    except StopIteration as done:
        result: T = done.value
        return result


async def async_connection_of(handle: object) -> Any:
    """
    Return the connection with the caller's transaction, from asyncio: sqlite3's own, or aiosqlite's.
    """
    if isinstance(handle, sqlite3.Connection) or is_aiosqlite(handle):
        return handle
    if comes_from_sqlalchemy(handle):
        driver = await async_driver_connection_of(handle)
        if is_aiosqlite(driver):
            return driver
        raise wrong_driver(driver, "sqlite+aiosqlite://")
    raise unknown(
        handle, "sqlite3.Connection, an aiosqlite Connection, a SQLAlchemy AsyncConnection or an AsyncSession"
    )
