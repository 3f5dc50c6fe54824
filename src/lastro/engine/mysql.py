"""
MySQL and MariaDB, blocking, by PyMySQL: plans on connections of our own.
"""

from __future__ import annotations

import os
import time
from typing import TypeVar

import pymysql

from lastro.engine.django_held import HeldDjango
from lastro.engine.mysql_address import address_of
from lastro.engine.mysql_courses import UNDO, Progress, own_course
from lastro.engine.mysql_driver import follow, send
from lastro.engine.mysql_errors import is_drivers, translated
from lastro.engine.mysql_held import HeldMysql, hold
from lastro.engine.mysql_pool import Connection, Pool, hang_up
from lastro.engine.mysql_text import DIALECT, Statements, statements_of
from lastro.engine.retrying import Tries
from lastro.engine.settings import EngineSettings
from lastro.errors import ConnectionLost, Fault, OutcomeUnknown
from lastro.plans.plan import Effect, MakePlan, Plan

T = TypeVar("T")

# A connection must not be carried across a fork, and closing it there would end the parent's session.
_LEFT_TO_THE_PARENT: list[Pool] = []


class MysqlEngine:
    """
    Runs plans on connections of its own: transactions begin and end here, in READ COMMITTED; lost ones are tried again
    within bounds.
    """

    dialect = DIALECT

    def __init__(self, settings: EngineSettings) -> None:
        self._settings = settings
        self._address = address_of(settings.url)
        self._pool: Pool | None = None
        self._process = 0
        self.statements: Statements = statements_of(settings.ledger)

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
                if self._pool is not None and isinstance(fault, ConnectionLost | OutcomeUnknown):
                    self._pool.close()
                time.sleep(pause_s)

    def held(self, connection: object) -> HeldMysql | HeldDjango:
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

    def _run_once(self, plan: Plan[T], effect: Effect) -> T:
        with self._opened_pool().connection() as connection:
            progress = Progress()
            finished = False
            try:
                with connection.cursor(pymysql.cursors.Cursor) as cursor:
                    result = follow(own_course(plan, effect, self.statements, progress), cursor)
                finished = True
            except Exception as error:
                if not is_drivers(error):
                    raise
                raise translated(error, ambiguous=progress.ambiguous) from error
            finally:
                _clear(connection, progress, finished=finished)
            return result

    def _opened_pool(self) -> Pool:
        if self._pool is None or self._process != os.getpid():
            if self._pool is not None:
                _LEFT_TO_THE_PARENT.append(self._pool)
            self._pool = Pool(self._address, self._settings.pool_max, self._settings.lock_timeout_ms)
            self._process = os.getpid()
        return self._pool


def _clear(connection: Connection, progress: Progress, *, finished: bool) -> None:
    if progress.spent or progress.ambiguous:
        hang_up(connection)
    elif not finished and connection.open:
        try:
            with connection.cursor(pymysql.cursors.Cursor) as cursor:
                send(cursor, UNDO)
        except Exception:  # noqa: BLE001 - the connection is given up; what the caller must hear is on its way
            hang_up(connection)
