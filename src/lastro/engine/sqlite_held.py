"""
SQLite inside the transaction that a caller holds: on a sqlite3 connection, or on SQLAlchemy's over one.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Generator
from time import sleep
from typing import Any, NamedTuple, TypeAlias, TypeVar

from lastro.engine.settings import EngineSettings
from lastro.engine.sqlalchemy_handles import (
    can_commit,
    comes_from_sqlalchemy,
    driver_connection_of,
    unknown,
    wrong_driver,
)
from lastro.engine.sqlite_cursor import DIALECT, Answer, Call, Statements, answer, calls_of, statements_of
from lastro.engine.sqlite_errors import translated
from lastro.engine.sqlite_turns import Patience
from lastro.engine.sqlite_values import moment
from lastro.errors import NotInTransaction
from lastro.plans.plan import TOGETHER, Effect, MakePlan, Plan, Row, Rows
from lastro.sql.catalogue import Statement

T = TypeVar("T")

SAVEPOINT = "SAVEPOINT lastro_call"
UNDO = ("ROLLBACK TO SAVEPOINT lastro_call", "RELEASE SAVEPOINT lastro_call")
KEEP = "RELEASE SAVEPOINT lastro_call"


class Pause(NamedTuple):
    """
    Wait before the next knock at the lock.
    """

    s: float


# What runs on a caller's connection, blocking or awaiting: it yields calls and pauses and receives answers.
HeldCourse: TypeAlias = Generator["Call | Pause", Any, T]


class HeldSqlite:
    """
    Runs plans inside the transaction that the caller holds: never commits, never retries, rolls back no more than its
    own savepoint.
    """

    dialect = DIALECT

    def __init__(self, handle: object, settings: EngineSettings, *, locked: bool = False) -> None:
        refuse_unholdable(handle)
        self._handle = handle
        self._settings = settings
        # The transaction holds the write lock already: it was begun IMMEDIATE.
        self._locked = locked
        self.statements: Statements = statements_of(settings.ledger)

    def run(self, make: MakePlan[T], effect: Effect) -> T:
        """
        Run a plan to its result inside the caller's transaction. A fault leaves that transaction to the caller.
        """
        connection = connection_of(self._handle)
        try:
            return self._run_on(connection, make, effect)
        except (sqlite3.Error, OverflowError) as error:
            raise translated(error, ambiguous=False) from error

    def _run_on(self, connection: sqlite3.Connection, make: MakePlan[T], effect: Effect) -> T:
        begun = connection.in_transaction
        check_in_transaction(begun=begun, begins_itself=begins_itself(connection))
        course = held_course(
            make(),
            effect,
            self.statements,
            begun=begun,
            locked=self._locked,
            lock_timeout_ms=self._settings.lock_timeout_ms,
        )
        cursor = connection.cursor()
        cursor.row_factory = None
        # The caller's may give bytes, or what it likes.
        text_factory, connection.text_factory = connection.text_factory, str
        try:
            return _follow(course, cursor)
        finally:
            connection.text_factory = text_factory
            cursor.close()


def _follow(course: HeldCourse[T], cursor: sqlite3.Cursor) -> T:
    try:
        going = next(course)
        while True:
            found: Answer | None = None
            try:
                if isinstance(going, Pause):
                    sleep(going.s)
                else:
                    found = answer(cursor, going)
            except BaseException as error:  # noqa: BLE001 - it goes on in the course, which undoes what was written
                going = course.throw(error)
            else:
                going = course.send(found)
    except StopIteration as done:
        result: T = done.value
        return result


def held_course(
    plan: Plan[T],
    effect: Effect,
    statements: Statements,
    *,
    begun: bool,
    locked: bool = False,
    lock_timeout_ms: int,
) -> HeldCourse[T]:
    """
    Run *plan* in a transaction that was *begun*, or that is to be: the write lock first where the plan may write and it
    isn't *locked* yet, then the plan in a savepoint of its own, so that a step of several statements is done or undone
    as one.
    """
    writes = not effect.reads
    now = 0
    if writes:
        if not locked:
            yield from _take_lock(statements["session.write_lock"], lock_timeout_ms, begun=begun)
        now = moment()
        yield Call(SAVEPOINT, {})
    try:
        result = yield from _steps(plan, statements, now)
    except BaseException as error:
        if writes and not isinstance(error, GeneratorExit):
            yield from _undo()
        raise
    if writes:
        yield Call(KEEP, {})
    return result


def _take_lock(write_lock: Statement, lock_timeout_ms: int, *, begun: bool) -> HeldCourse[None]:
    # A transaction that reads first and writes later fails at once when somebody has written in between, and no timeout
    # applies; so the first thing that a posting does is a write.
    ((callers_ms,),) = (yield Call("PRAGMA busy_timeout", {})).rows
    patience = Patience(min(callers_ms, lock_timeout_ms))
    yield Call("PRAGMA busy_timeout = 0", {})
    try:
        while True:
            try:
                yield Call(write_lock.text if begun else "BEGIN IMMEDIATE", {})
            except sqlite3.OperationalError as error:
                yield Pause(patience.pause_s(error))
            else:
                return
    finally:
        yield Call(f"PRAGMA busy_timeout = {callers_ms:d}", {})


def _steps(plan: Plan[T], statements: Statements, now: int) -> HeldCourse[T]:
    try:
        step = next(plan)
        while True:
            rows: Rows = list[Row]()
            if step is not TOGETHER:
                rows = yield from calls_of(statements, step, now)
            step = plan.send(rows)
    except StopIteration as done:
        result: T = done.value
        return result


def _undo() -> HeldCourse[None]:
    for text in UNDO:
        try:
            yield Call(text, {})
        except sqlite3.Error:
            # SQLite rolls a whole transaction back by itself where it has to (a full disk); the savepoint is gone then.
            return


def connection_of(handle: object) -> sqlite3.Connection:
    """
    Return the sqlite3 connection with the caller's transaction; asked anew for each call, as a Session may change it.
    """
    if isinstance(handle, sqlite3.Connection):
        return handle
    if comes_from_sqlalchemy(handle):
        driver = driver_connection_of(handle)
        if isinstance(driver, sqlite3.Connection):
            return driver
        raise wrong_driver(driver, "sqlite://")
    raise unknown(handle, "sqlite3.Connection, a SQLAlchemy Connection or a Session")


def refuse_unholdable(handle: object) -> None:
    """
    Raise for what can't be a caller's connection, as soon as it is handed over.
    """
    driver = isinstance(handle, sqlite3.Connection) or is_aiosqlite(handle)
    if not driver and not can_commit(handle):
        raise unknown(handle, "a sqlite3 or aiosqlite Connection, or a SQLAlchemy Connection or Session (async too)")


def is_aiosqlite(handle: object) -> bool:
    """
    Say whether *handle* is a connection of aiosqlite, without importing it.
    """
    return type(handle).__module__.partition(".")[0] == "aiosqlite" and hasattr(handle, "in_transaction")


def begins_itself(connection: sqlite3.Connection) -> bool:
    """
    Say whether commit() and rollback() of this connection mean anything: not in autocommit mode.
    """
    autocommit = getattr(connection, "autocommit", None)  # new in Python 3.12
    return not autocommit if isinstance(autocommit, bool) else connection.isolation_level is not None


def check_in_transaction(*, begun: bool, begins_itself: bool) -> None:
    """
    Raise when what would be written could not be committed together with the caller's own work.
    """
    if not begun and not begins_itself:
        raise NotInTransaction(
            "this connection is in autocommit mode and no transaction is open, so each statement would stand alone; "
            'open one first: connection.execute("BEGIN IMMEDIATE")'
        )
