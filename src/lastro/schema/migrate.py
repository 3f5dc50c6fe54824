"""
Migrating a ledger up: each migration in a transaction of its own, one migrator at a time, giving way to traffic.
"""

from __future__ import annotations

from functools import partial
from typing import TypeVar

from lastro.errors import SchemaOutdated
from lastro.model.limits import PARTITION_TRANSFERS, PARTITIONS_AHEAD
from lastro.plans.course import Course
from lastro.plans.partitioning import keep_ahead
from lastro.plans.patience import giving_way
from lastro.plans.plan import TOGETHER, MakePlan, Plan, Step, step
from lastro.plans.versions import applied_migrations
from lastro.schema.migrations import Migration, foundation, migrations
from lastro.sql.catalogue import FULLEST, catalogue

T = TypeVar("T")

LOCK_TIMEOUT_MS = 2_000
MIGRATION_TRIES_MAX = 30
PAUSE_BETWEEN_TRIES_MS = 500
# The folder of a read model's migrations.
READS = "reads"


def latest(dialect: str, ledger: str) -> int:
    """
    Return the number of the newest migration that this code brings.
    """
    return migrations(dialect, ledger)[-1].number


def migrate(dialect: str, ledger: str) -> Course[list[str]]:
    """
    Apply what is missing, make partitions ahead of need where the store has any, and return the names of the migrations applied now.
    """
    applied: list[str] = []
    for migration in migrations(dialect, ledger):
        is_new = yield from _persistently(partial(apply, migration, dialect=dialect, ledger=ledger))
        applied += [f"{migration.number:04}_{migration.name}"] if is_new else []
    if not catalogue(dialect, ledger)["partitioning.list"].refused:
        yield from _persistently(partial(keep_ahead, transfers=PARTITION_TRANSFERS, ahead=PARTITIONS_AHEAD))
    return applied


def migrate_reads(schema: str) -> Course[list[str]]:
    """
    The same for the tables of a read model, in a schema of their own.
    """
    applied: list[str] = []
    for migration in migrations(READS, schema):
        is_new = yield from _persistently(partial(apply, migration, dialect=FULLEST, ledger=schema))
        applied += [f"{migration.number:04}_{migration.name}"] if is_new else []
    return applied


def _persistently(make: MakePlan[T]) -> Course[T]:
    # A migration gives way: a short wait for its locks, so that traffic never queues behind it for long, many times.
    return giving_way(make, tries_max=MIGRATION_TRIES_MAX, pause_ms=PAUSE_BETWEEN_TRIES_MS)


def apply(migration: Migration, *, dialect: str, ledger: str) -> Plan[bool]:
    """
    Apply one migration unless it is there already; return whether it was applied now.
    """
    yield TOGETHER
    yield step("schema.limit_lock_wait", lock_timeout=f"{LOCK_TIMEOUT_MS}ms")
    yield step("schema.lock", ledger=ledger)
    # Read under the lock: another migrator may have been faster.
    applied = yield from applied_migrations()
    if migration.number in applied:
        if applied[migration.number] != migration.checksum:
            raise SchemaOutdated(
                f"migration {migration.number:04} ({migration.name}) was applied to ledger {ledger!r} with another "
                "content than this release brings; a released migration never changes: look which release wrote it",
                found=applied[migration.number],
                expected=migration.checksum,
            )
        return False
    if not applied:
        yield Step("script", {}, script=foundation(dialect, ledger))
    yield Step("script", {}, script=migration.script)
    yield step(
        "schema.note",
        number=migration.number,
        name=migration.name,
        serves_from=migration.serves_from,
        checksum=migration.checksum,
    )
    return True
