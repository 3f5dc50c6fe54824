"""The generic engine on databases that have a store of their own: only tests force it there."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy import Engine, create_engine

from lastro import AsyncLedger, Ledger
from lastro.engine.generic import GenericEngine
from lastro.engine.generic_async import async_engine
from lastro.engine.settings import EngineSettings
from lastro.ledger.operations import Operations
from lastro.plans.plan import TOGETHER, Effect, Plan, Step
from lastro.schema.migrations import removal


def sqlalchemy_url(url: str) -> str:
    """A URL of the tests as SQLAlchemy reads it, with the driver that is there."""
    return url.replace("postgresql://", "postgresql+psycopg://", 1)


def forced(url: str, name: str, **options: Any) -> Ledger:
    """The ledger *name* at *url*, by the generic engine whatever database it is."""
    settings = EngineSettings(sqlalchemy_url(url), name, **options)
    return Ledger(GenericEngine(settings), Operations(name))


def forced_async(url: str, name: str) -> AsyncLedger:
    """The same, awaited."""
    return AsyncLedger(async_engine(EngineSettings(sqlalchemy_url(url), name)), Operations(name))


@contextmanager
def temporary(url: str, **options: Any) -> Iterator[Ledger]:
    """Yield a migrated ledger by the generic engine that is gone afterwards."""
    name = f"t_{secrets.token_hex(6)}"
    with forced(url, name, **options) as ledger:
        try:
            ledger.migrate()
            yield ledger
        finally:
            ledger._engine.run(lambda: _drop(name), Effect.KEYED)


def name_of(ledger: Ledger) -> str:
    """The prefix of a ledger's tables."""
    return ledger._operations.ledger


def own_engine(ledger: Ledger) -> Engine:
    """The SQLAlchemy engine under a ledger's own connections, for a test to listen to what is sent."""
    engine = ledger._engine
    assert isinstance(engine, GenericEngine)
    return engine._opened()


def callers_engine(url: str) -> Engine:
    """An engine as an application makes it."""
    return create_engine(sqlalchemy_url(url))


def _drop(name: str) -> Plan[None]:
    yield TOGETHER
    yield Step("script", {}, script=removal("generic", name))
