"""
Any other database, by SQLAlchemy, blocking: plans on connections of our own, in the plainest SQL there is.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import TypeVar

from sqlalchemy import Connection, Engine, create_engine, make_url
from sqlalchemy.exc import SQLAlchemyError

from lastro.engine.drive import drive
from lastro.engine.generic_errors import translated
from lastro.engine.generic_held import HeldGeneric
from lastro.engine.generic_steps import Steps
from lastro.engine.generic_text import DIALECT
from lastro.engine.retrying import Tries
from lastro.engine.settings import POOL_TIMEOUT_S, EngineSettings
from lastro.errors import Fault, ServerUnavailable
from lastro.plans.plan import TOGETHER, Effect, MakePlan, Plan, Rows, Step

T = TypeVar("T")

# Closing a parent's connections in its child would end the parent's sessions.
_LEFT_TO_THE_PARENT: list[Engine] = []


def never() -> bool:
    """
    Say that nobody has given up.
    """
    return False


class GenericEngine:
    """
    Runs plans on connections of its own, in the isolation that the database and the URL have set.
    """

    dialect = DIALECT

    def __init__(self, settings: EngineSettings) -> None:
        self._settings = settings
        self.speaks = make_url(settings.url).get_dialect().name
        self._engine: Engine | None = None
        self._process = 0

    def run(self, make: MakePlan[T], effect: Effect, *, abandoned: Callable[[], bool] = never) -> T:
        """
        Run a plan to its result. Refusals are raised as they come; faults after the tries that *effect* allows.

        A key that a rival took at the same moment is never tried again: KeyRaceLost. Where *abandoned* says so before
        the COMMIT nothing is stored.
        """
        tries = Tries(effect)
        while True:
            try:
                return self._run_once(make(), effect, abandoned)
            except Fault as fault:
                if abandoned():
                    raise
                time.sleep(tries.pause_s(fault))

    def held(self, connection: object) -> HeldGeneric:
        """
        Return an engine for the transaction that the caller holds on *connection*.
        """
        return HeldGeneric(connection, self._settings.ledger, self.speaks)

    def close(self) -> None:
        """
        Close the connections. The engine opens new ones if it is used again.
        """
        if self._engine is not None and self._process == os.getpid():
            self._engine.dispose()
            self._engine = None

    def _run_once(self, plan: Plan[T], effect: Effect, abandoned: Callable[[], bool]) -> T:
        transaction = Progress()
        try:
            with self._opened().connect() as connection:
                return run_on(connection, plan, effect, transaction, ledger=self._settings.ledger, abandoned=abandoned)
        except (SQLAlchemyError, OverflowError) as error:
            raise translated(error, ambiguous=transaction.ambiguous) from error

    def _opened(self) -> Engine:
        if self._engine is None or self._process != os.getpid():
            if self._engine is not None:
                _LEFT_TO_THE_PARENT.append(self._engine)
            self._engine = create_engine(
                self._settings.url,
                pool_size=self._settings.pool_max,
                max_overflow=0,
                pool_timeout=POOL_TIMEOUT_S,
                pool_pre_ping=True,
            )
            self._process = os.getpid()
        return self._engine


class Progress:
    """
    How far a transaction of our own has come: from its COMMIT on nobody knows what a broken connection means.
    """

    ambiguous = False


def run_on(
    connection: Connection,
    plan: Plan[T],
    effect: Effect,
    progress: Progress,
    *,
    ledger: str,
    abandoned: Callable[[], bool] = never,
) -> T:
    """
    Run a plan on a connection of our own: a transaction from TOGETHER on, before that step by step.
    """
    steps, together = Steps(connection, ledger), effect.reads

    def execute(step: Step) -> Rows:
        nonlocal together
        if step is TOGETHER:
            together = True
            return []
        rows = steps.execute(step)
        if not together:
            commit()
        return rows

    def commit() -> None:
        if abandoned():
            raise ServerUnavailable("the caller gave up before the COMMIT; nothing was stored")
        progress.ambiguous = True
        connection.commit()
        progress.ambiguous = False

    result = drive(plan, execute)
    if not effect.reads:
        commit()
    return result
