"""
SQLite, blocking: plans on connections of our own, one that writes at a time, and on the connection that a caller holds.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Callable
from contextlib import nullcontext
from typing import TypeVar

from lastro.engine.django_held import HeldDjango, comes_from_django
from lastro.engine.drive import drive
from lastro.engine.retrying import Tries
from lastro.engine.settings import EngineSettings
from lastro.engine.sqlite_address import address_of
from lastro.engine.sqlite_cursor import DIALECT, Statements, calls_of, execute, statements_of
from lastro.engine.sqlite_errors import translated
from lastro.engine.sqlite_held import HeldSqlite
from lastro.engine.sqlite_pool import Pool
from lastro.engine.sqlite_turns import Patience, knock, queue_of
from lastro.engine.sqlite_values import moment
from lastro.errors import Fault, ServerUnavailable
from lastro.plans.plan import TOGETHER, Effect, MakePlan, Plan, Rows, Step

T = TypeVar("T")

# A connection must not be carried across a fork, and closing it there would meddle with the parent's locks and WAL.
_LEFT_TO_THE_PARENT: list[Pool] = []


def _never() -> bool:
    return False


class SqliteEngine:
    """
    Runs plans on connections of its own. A plan that may write is one transaction that holds the write lock from its
    first statement on; a plan that reads is one statement at a time.
    """

    dialect = DIALECT

    def __init__(self, settings: EngineSettings) -> None:
        self._settings = settings
        self._address = address_of(settings.url)
        # One file, one queue, by whatever links it is reached.
        self._file = self._address.path.resolve()
        self._pool: Pool | None = None
        self._process = 0
        self.statements: Statements = statements_of(settings.ledger)

    def run(self, make: MakePlan[T], effect: Effect, *, abandoned: Callable[[], bool] = _never) -> T:
        """
        Run a plan to its result. Refusals are raised as they come; faults after the tries that *effect* allows.

        Where *abandoned* says so before the COMMIT nothing is stored.
        """
        tries = Tries(effect)
        while True:
            try:
                return self._run_once(make(), effect, abandoned)
            except Fault as fault:
                if abandoned():
                    raise
                time.sleep(tries.pause_s(fault))

    def held(self, connection: object) -> HeldSqlite | HeldDjango:
        """
        Return an engine for the transaction that the caller holds on *connection*.
        """
        return hold(connection, self._settings)

    def close(self) -> None:
        """
        Close the connections. The engine opens new ones if it is used again.
        """
        if self._pool is not None and self._process == os.getpid():
            self._pool.close()
            self._pool = None

    def _run_once(self, plan: Plan[T], effect: Effect, abandoned: Callable[[], bool]) -> T:
        patience = Patience(self._settings.lock_timeout_ms)
        reads = effect.reads
        turn = nullcontext() if reads else queue_of(self._file).turn(patience)
        with turn:
            transaction: _OwnTransaction | None = None
            try:
                with self._opened_pool().connection() as connection:
                    transaction = _OwnTransaction(connection, self.statements, patience)
                    try:
                        if not reads:
                            transaction.begin("BEGIN IMMEDIATE")
                        result = drive(plan, transaction.execute)
                        if abandoned():
                            raise ServerUnavailable("the caller gave up before the COMMIT; nothing was stored")
                        transaction.commit()
                    finally:
                        transaction.end()
            except (sqlite3.Error, OverflowError) as error:
                raise translated(error, ambiguous=transaction is not None and transaction.ambiguous) from error
            return result

    def _opened_pool(self) -> Pool:
        if self._pool is None or self._process != os.getpid():
            if self._pool is not None:
                _LEFT_TO_THE_PARENT.append(self._pool)
            self._pool = Pool(self._address, self._settings.pool_max, self._settings.lock_timeout_ms)
            self._process = os.getpid()
        return self._pool


def hold(connection: object, settings: EngineSettings, *, locked: bool = False) -> HeldSqlite | HeldDjango:
    """
    Return an engine for the transaction that a caller holds, by Django's connection or as its driver knows it; *locked*
    where it was begun IMMEDIATE.
    """
    if comes_from_django(connection):
        return HeldDjango(
            connection, DIALECT, vendor="sqlite", hold=lambda driver: HeldSqlite(driver, settings, locked=locked)
        )
    return HeldSqlite(connection, settings, locked=locked)


class _OwnTransaction:
    """
    One plan on one connection of ours: a transaction from `begin` on, before that statement by statement.
    """

    def __init__(self, connection: sqlite3.Connection, statements: Statements, patience: Patience) -> None:
        self._connection = connection
        self._cursor = connection.cursor()
        self._statements = statements
        self._patience = patience
        self._now = 0
        self.ambiguous = False

    def begin(self, how: str) -> None:
        knock(lambda: self._cursor.execute(how), self._patience)
        self._now = moment()

    def execute(self, step: Step) -> Rows:
        if step is TOGETHER:
            if not self._connection.in_transaction:
                self.begin("BEGIN")
            return []
        if self._connection.in_transaction:
            return execute(self._cursor, calls_of(self._statements, step, self._now))
        # Only reads come here. One may have to wait where the file isn't in WAL mode, or the WAL is being recovered.
        return knock(lambda: execute(self._cursor, calls_of(self._statements, step, self._now)), self._patience)

    def commit(self) -> None:
        if not self._connection.in_transaction:
            return
        self.ambiguous = True
        # Outside WAL mode readers can be in the way of a COMMIT; the transaction stays, and it can be asked again.
        knock(lambda: self._cursor.execute("COMMIT"), self._patience)

    def end(self) -> None:
        try:
            if self._connection.in_transaction:
                self._cursor.execute("ROLLBACK")
            self._cursor.close()
        except sqlite3.Error:
            # The pool closes a connection that is still inside a transaction; what the caller must hear is on its way.
            return
