"""
`connect` and `connect_async`: from a database URL to a ledger.
"""

from __future__ import annotations

from lastro.engine.connecting import open_async_engine, open_engine
from lastro.engine.settings import POOL_MAX, EngineSettings
from lastro.ledger import AsyncLedger, Ledger
from lastro.ledger.asking import Clock, positive
from lastro.ledger.operations import Operations
from lastro.model.limits import LOCK_TIMEOUT_MS
from lastro.sql.catalogue import LEDGER, ledger_name


def connect(
    url: str,
    *,
    ledger: str = LEDGER,
    pool_max: int = POOL_MAX,
    lock_timeout_ms: int = LOCK_TIMEOUT_MS,
    prepared: bool = True,
    clock: Clock | None = None,
) -> Ledger:
    """
    Return the ledger in the database at `url`: postgresql://…, embedded:///path (a PostgreSQL 18 from a wheel),
    mariadb://… or mysql://…, sqlite:///relative.db, sqlite:////absolute.db, or a URL of SQLAlchemy's for any other
    database (see docs/stores.md).

    Connects when it is first used. `ledger` is the schema its tables live in (on SQLite and in other databases the
    prefix of their names), so that one database holds many.
    `pool_max` connections at most; a wait for a lock ends after `lock_timeout_ms`. `prepared=False` sends no named
    prepared statements, for poolers that lose them (PgBouncer before 1.21 in transaction mode). `clock` sets the
    moment of recording, for tests. Raises InvalidInput for a URL that it can't serve.
    """
    operations = Operations(ledger_name(ledger), lock_timeout_ms=lock_timeout_ms, clock=clock)
    settings = EngineSettings(url, ledger, positive(pool_max, "pool_max"), prepared, lock_timeout_ms)
    return Ledger(open_engine(settings), operations)


async def connect_async(
    url: str,
    *,
    ledger: str = LEDGER,
    pool_max: int = POOL_MAX,
    lock_timeout_ms: int = LOCK_TIMEOUT_MS,
    prepared: bool = True,
    clock: Clock | None = None,
) -> AsyncLedger:
    """
    Return the ledger in the database at `url` for asyncio; the arguments are those of `connect`.
    """
    operations = Operations(ledger_name(ledger), lock_timeout_ms=lock_timeout_ms, clock=clock)
    settings = EngineSettings(url, ledger, positive(pool_max, "pool_max"), prepared, lock_timeout_ms)
    return AsyncLedger(open_async_engine(settings), operations)
