"""
Any other database from asyncio: by SQLAlchemy's own asyncio where the driver has one, in threads where it hasn't.
"""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from sqlalchemy import make_url
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine

from lastro.engine.generic import GenericEngine, Progress, run_on
from lastro.engine.generic_errors import translated
from lastro.engine.generic_held import AsyncHeldGeneric
from lastro.engine.generic_text import DIALECT
from lastro.engine.retrying import Tries
from lastro.engine.settings import POOL_TIMEOUT_S, EngineSettings
from lastro.errors import Fault
from lastro.plans.plan import Effect, MakePlan, Plan

T = TypeVar("T")


def async_engine(settings: EngineSettings) -> AwaitedGenericEngine | ThreadedGenericEngine:
    """
    Return the engine that fits the driver which the URL names.
    """
    dialect = make_url(settings.url).get_dialect()
    return AwaitedGenericEngine(settings) if dialect.is_async else ThreadedGenericEngine(settings)


class AwaitedGenericEngine:
    """
    Runs plans by a driver for asyncio.
    """

    dialect = DIALECT

    def __init__(self, settings: EngineSettings) -> None:
        self._settings = settings
        self._speaks = make_url(settings.url).get_dialect().name
        self._engine: AsyncEngine | None = None

    async def run(self, make: MakePlan[T], effect: Effect) -> T:
        """
        Run a plan to its result. Refusals are raised as they come; faults after the tries that *effect* allows.
        """
        tries = Tries(effect)
        while True:
            try:
                return await self._run_once(make(), effect)
            except Fault as fault:
                await asyncio.sleep(tries.pause_s(fault))

    def held(self, connection: object) -> AsyncHeldGeneric:
        """
        Return an engine for the transaction that the caller holds on *connection*.
        """
        return AsyncHeldGeneric(connection, self._settings.ledger, self._speaks)

    async def close(self) -> None:
        """
        Close the connections. The engine opens new ones if it is used again.
        """
        engine, self._engine = self._engine, None
        if engine is not None:
            await engine.dispose()

    async def _run_once(self, plan: Plan[T], effect: Effect) -> T:
        progress = Progress()
        try:
            async with self._opened().connect() as connection:
                return await connection.run_sync(run_on, plan, effect, progress, ledger=self._settings.ledger)
        except (SQLAlchemyError, OverflowError) as error:
            raise translated(error, ambiguous=progress.ambiguous) from error

    def _opened(self) -> AsyncEngine:
        if self._engine is None:
            self._engine = create_async_engine(
                self._settings.url,
                pool_size=self._settings.pool_max,
                max_overflow=0,
                pool_timeout=POOL_TIMEOUT_S,
                pool_pre_ping=True,
            )
        return self._engine


class ThreadedGenericEngine:
    """
    Runs plans of the blocking engine in threads. A call that is cancelled stores nothing, unless its COMMIT was under
    way.
    """

    dialect = DIALECT

    def __init__(self, settings: EngineSettings) -> None:
        self._settings = settings
        self._blocking = GenericEngine(settings)
        self._threads: ThreadPoolExecutor | None = None

    async def run(self, make: MakePlan[T], effect: Effect) -> T:
        """
        Run a plan to its result. Refusals are raised as they come; faults after the tries that *effect* allows.
        """
        given_up = threading.Event()
        if self._threads is None:
            self._threads = ThreadPoolExecutor(self._settings.pool_max, thread_name_prefix="lastro-generic")
        call = asyncio.get_running_loop().run_in_executor(
            self._threads, lambda: self._blocking.run(make, effect, abandoned=given_up.is_set)
        )
        try:
            return await asyncio.shield(call)
        except asyncio.CancelledError:
            given_up.set()
            call.cancel()
            call.add_done_callback(_heard)
            raise

    def held(self, connection: object) -> AsyncHeldGeneric:
        """
        Return an engine for the transaction that the caller holds on *connection*.
        """
        return AsyncHeldGeneric(connection, self._settings.ledger, self._blocking.speaks)

    async def close(self) -> None:
        """
        Close the connections, after the calls that are under way. The engine opens new ones if it is used again.
        """
        threads, self._threads = self._threads, None
        if threads is not None:
            await asyncio.to_thread(threads.shutdown)
        self._blocking.close()


def _heard(call: asyncio.Future[Any]) -> None:
    if not call.cancelled():
        call.exception()
