"""
Readings of the ledger's tables: dead rows and vacuum, size, storage settings, invalid indexes, partitions, hot accounts.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from lastro.doctor.probe import RARELY_S, ROWS_MAX, SLOWLY_S, Look, Probe, named
from lastro.doctor.readings import Reading
from lastro.doctor.settings import STORAGE, differing, options_of, storage_sql
from lastro.plans.plan import Rows

# How long an account must have been hot, and over how long its entries are counted, before hot is called needless.
HOT_PROVEN_S: Final = 3_600
HOT_ACCOUNTS_MAX: Final = 50
HOT_ENTRIES_MAX: Final = 1_000


def tables(rows: Rows, _: Look) -> Iterable[Reading]:
    """How much is dead in each table that changes, and whether vacuum keeps up with it."""
    for row in rows:
        name, options = row["name"], options_of(row["options"])
        vacuum = {
            "vacuumed_ago_s": row["vacuumed_ago_s"],
            "autovacuums": row["autovacuums"],
            "live_rows": row["live_rows"],
            "threshold": int(options.get("autovacuum_vacuum_threshold", 0)) or None,
            "alter_it": row["alter_it"],
            "enabled": options.get("autovacuum_enabled", "true") in ("true", "on", "1", "yes"),
        }
        yield Reading("dead_rows", row["dead_rows"], "rows", name, vacuum)
        counted = {"updates": row["updates"], "hot_updates": row["hot_updates"]}
        if row["updates"]:
            yield Reading("hot_update_share", row["hot_updates"] / row["updates"], "share", name, counted)
        yield Reading("table_bytes", row["table_bytes"], "bytes", name)
        differs = "; ".join(differing(name, options))
        sql = storage_sql(name, row["alter_it"]) if differs else None
        yield Reading("storage_settings", differs or "as migrated", "text", name, {"options": options, "sql": sql})


def invalid_indexes(rows: Rows, _: Look) -> Iterable[Reading]:
    """Indexes that exist and don't hold."""
    for row in rows:
        yield Reading(
            "invalid_index",
            "not ready" if not row["is_ready"] else "not valid",
            "state",
            row["name"],
            {"table": row["table_name"], "unique": row["is_unique"], "definition": row["definition"]},
        )


def partitions(rows: Rows, look: Look) -> Iterable[Reading]:
    """How many ids of transfers have a partition ahead of them."""
    reached = look.rows.get("partitions_reached")
    if not reached:
        return
    last_id, stray_id = reached[0]["last_id"], reached[0]["stray_id"]
    ahead = max(0, rows[-1]["to_id"] - 1 - last_id) if rows else 0
    detail = {"partitions": len(rows), "last_id": last_id, "stray_id": stray_id}
    yield Reading("partitions_ahead", ahead, "transfers", detail=detail)


def nothing(_: Rows, __: Look) -> Iterable[Reading]:
    """Rows that another probe reads."""
    return ()


def hot_accounts(rows: Rows, _: Look) -> Iterable[Reading]:
    """How much came to each hot account of late."""
    for row in rows:
        yield Reading(
            "hot_account_credits",
            row["credits"],
            "entries an hour",
            named(row["account"], row["currency"]),
            {"account": row["account"], "currency": row["currency"], "debits": row["debits"]},
        )


PROBES: Final = (
    Probe("tables", "doctor_tables.tables", tables, {"tables": sorted(STORAGE)}, every_s=SLOWLY_S / 2),
    Probe(
        "invalid_indexes", "doctor_tables.invalid_indexes", invalid_indexes, {"rows_max": ROWS_MAX}, every_s=SLOWLY_S
    ),
    Probe("partitions_reached", "partitioning.reached", nothing, every_s=SLOWLY_S, of_ledger=True),
    Probe("partitions", "partitioning.list", partitions, every_s=SLOWLY_S, of_ledger=True),
    Probe(
        "hot_accounts",
        "doctor_tables.hot_accounts",
        hot_accounts,
        {"accounts_max": HOT_ACCOUNTS_MAX, "entries_max": HOT_ENTRIES_MAX, "span_s": HOT_PROVEN_S},
        every_s=RARELY_S,
        of_ledger=True,
    ),
)
