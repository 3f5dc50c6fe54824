"""
PostgreSQL, blocking: plans on connections of our own, and on the connection that a caller holds.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import psycopg
from psycopg.pq import TransactionStatus
from psycopg.rows import dict_row
from psycopg_pool import ConnectionPool

from lastro.engine.django_held import HeldDjango, comes_from_django
from lastro.engine.drive import drive
from lastro.engine.held import check_in_transaction, check_session, connection_of, refuse_unholdable, turn_on
from lastro.engine.psycopg_cursor import DIALECT, DictCursor, PlainCursor, execute
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

# The pool tells its troubles to its own logger. Where nobody listens to that they would go to stderr, again and again,
# beside the error that the caller gets anyway.
logging.getLogger("psycopg.pool").addHandler(logging.NullHandler())

T = TypeVar("T")
BEGIN = "BEGIN ISOLATION LEVEL READ COMMITTED"


class PostgresEngine:
    """
    Runs plans on connections of its own: transactions begin and end here, lost ones are tried again within bounds.
    """

    dialect = DIALECT

    def __init__(self, settings: EngineSettings) -> None:
        self._settings = settings
        self._pool: ConnectionPool[psycopg.Connection[dict[str, Any]]] | None = None
        self._process = 0
        self._opening: dict[int, threading.Lock] = {}
        self.statements = catalogue(DIALECT, settings.ledger)

    def run(self, make: MakePlan[T], effect: Effect) -> T:
        """
        Run a plan to its result. Refusals are raised as they come; faults after the tries that *effect* allows.
        """
        tries = Tries(effect)
        while True:
            try:
                return self._run_once(make(), effect)
            except Fault as fault:
                pause_s = tries.pause_s(fault)
                if (
                    self._pool is not None
                    and self._process == os.getpid()
                    and isinstance(fault, ConnectionLost | OutcomeUnknown)
                ):
                    # Where one connection is dead its neighbours are; each of them would cost a try of its own.
                    self._pool.check()
                time.sleep(pause_s)

    def held(self, connection: object) -> HeldPostgres | HeldDjango:
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

    def session_told(self) -> int:
        """
        Return the number of the session that a connection of ours was told when it connected: a pooler in between tells
        another one than the server has.
        """
        with self._connection() as connection:
            return connection.info.backend_pid

    def pool_standing(self) -> dict[str, int]:
        """
        Return how the pool stands: connections, idle ones, callers waiting now, and waits so far. Empty before its first use.
        """
        if self._pool is None or self._process != os.getpid():
            return {}
        stats = self._pool.get_stats()
        return {
            "size": stats["pool_size"],
            "size_max": stats["pool_max"],
            "idle": stats["pool_available"],
            "waiting": stats["requests_waiting"],
            "waits": stats.get("requests_queued", 0),
            "waited_ms": stats.get("requests_wait_ms", 0),
        }

    def _run_once(self, plan: Plan[T], effect: Effect) -> T:
        with self._connection() as connection:
            check_session(connection)
            transaction = _OwnTransaction(connection, self.statements, reads=effect.reads)
            try:
                result = drive(plan, transaction.execute)
                transaction.commit()
            except psycopg.Error as error:
                raise translated(error, ambiguous=transaction.ambiguous) from error
            finally:
                transaction.end()
            return result

    @contextmanager
    def _connection(self) -> Iterator[psycopg.Connection[dict[str, Any]]]:
        try:
            pool = self._opened_pool()
            connection = pool.getconn()
        except psycopg.Error as error:
            raise translated(error, ambiguous=False) from error
        try:
            yield connection
        finally:
            pool.putconn(connection)

    def _opened_pool(self) -> ConnectionPool[psycopg.Connection[dict[str, Any]]]:
        if self._pool is not None and self._process == os.getpid():
            return self._pool
        # A lock for each process: one that another thread held at a fork would stay locked in the child.
        with self._opening.setdefault(os.getpid(), threading.Lock()):
            if self._pool is None or self._process != os.getpid():
                # A pool doesn't survive a fork: its threads stay with the parent, its sockets would be shared.
                self._pool, self._process = self._open_pool(), os.getpid()
            return self._pool

    def _open_pool(self) -> ConnectionPool[psycopg.Connection[dict[str, Any]]]:
        url = without_driver(self._settings.url)
        options: dict[str, Any] = {
            "autocommit": True,
            "row_factory": dict_row,
            "connect_timeout": CONNECT_TIMEOUT_S,
        }
        if not self._settings.prepared:
            options["prepare_threshold"] = None
        # A server that isn't there is said at once and by the driver, not after the pool's patience has run out.
        psycopg.connect(url, **options).close()
        return ConnectionPool(
            url,
            kwargs=options,
            min_size=1,
            max_size=self._settings.pool_max,
            timeout=POOL_TIMEOUT_S,
            open=True,
        )


def hold(connection: object, settings: EngineSettings) -> HeldPostgres | HeldDjango:
    """
    Return an engine for the transaction that a caller holds, by Django's connection or as its driver knows it.
    """
    if comes_from_django(connection):
        return HeldDjango(
            connection, DIALECT, vendor="postgresql", hold=lambda driver: HeldPostgres(driver, settings.ledger)
        )
    return HeldPostgres(connection, settings.ledger)


class _OwnTransaction:
    """
    One plan on one connection of ours: statement by statement, or from `TOGETHER` on as one transaction.
    """

    def __init__(
        self,
        connection: psycopg.Connection[dict[str, Any]],
        statements: Any,
        *,
        reads: bool,
    ) -> None:
        self._connection = connection
        self._cursor: DictCursor = connection.cursor()
        self._statements = statements
        self._reads = reads
        self._begun = False
        self.ambiguous = False

    def execute(self, step: Step) -> Rows:
        if step is TOGETHER:
            if not self._begun:
                self.ambiguous = False
                self._cursor.execute(BEGIN, prepare=False)
                self._begun = True
            return []
        # A statement outside BEGIN … COMMIT commits itself: once it is sent, a broken connection leaves it open.
        self.ambiguous = not self._begun and not self._reads
        return execute(self._cursor, self._statements, step)

    def commit(self) -> None:
        if not self._begun:
            return
        if self._connection.info.transaction_status is not TransactionStatus.INTRANS:
            raise ServerUnavailable("the transaction was lost before its COMMIT; nothing was stored")
        self.ambiguous = True
        self._cursor.execute("COMMIT", prepare=False)
        self._begun = False
        # A COMMIT of a failed transaction is answered with ROLLBACK, and raises nothing.
        if self._cursor.statusmessage != "COMMIT":
            raise ServerUnavailable("the server rolled back instead of committing; nothing was stored")

    def end(self) -> None:
        if self._begun and not self._connection.closed:
            try:
                self._cursor.execute("ROLLBACK", prepare=False)
            except psycopg.Error:
                # The pool throws a broken connection away; what the caller must hear is already on its way.
                self._connection.close()
        self._begun = False


class HeldPostgres:
    """
    Runs plans inside the transaction that the caller holds: never commits, never retries, rolls back no more than its
    own savepoint.
    """

    dialect = DIALECT

    def __init__(self, connection: object, ledger: str) -> None:
        refuse_unholdable(connection)
        self._handle = connection
        self.statements = catalogue(DIALECT, ledger)

    def run(self, make: MakePlan[T], effect: Effect) -> T:
        """
        Run a plan to its result inside the caller's transaction. A fault leaves that transaction to the caller.
        """
        connection = connection_of(self._handle)
        with turn_on(connection):
            check_in_transaction(connection)
            return self._run_on(connection, make())

    def _run_on(self, connection: psycopg.Connection[Any], plan: Plan[T]) -> T:
        cursor: DictCursor = PlainCursor(connection, row_factory=dict_row)
        statements = self.statements

        def execute_step(step: Step) -> Rows:
            return [] if step is TOGETHER else execute(cursor, statements, step)

        try:
            return drive(plan, execute_step)
        except psycopg.Error as error:
            raise translated(error, ambiguous=False) from error
        finally:
            cursor.close()
