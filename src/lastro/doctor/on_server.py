"""
Readings of the server around the ledger: counters, settings, replicas and slots.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from lastro.doctor.probe import ROWS_MAX, SLOWLY_S, Look, Probe
from lastro.doctor.readings import Reading
from lastro.doctor.settings import SETTINGS
from lastro.plans.plan import Rows

_COUNTED: Final = {
    "checkpoints_timed": "checkpoints",
    "checkpoints_requested": "checkpoints",
    "checkpoint_write_ms": "ms",
    "checkpoint_sync_ms": "ms",
    "wal_bytes": "bytes",
    "commits": "transactions",
    "rollbacks": "transactions",
    "deadlocks": "deadlocks",
    "conflicts": "conflicts",
}


def counters(rows: Rows, _: Look) -> Iterable[Reading]:
    """What only ever grows since the server's statistics began."""
    for name, unit in _COUNTED.items():
        # A store that doesn't count it has no such line.
        if rows[0][name] is not None:
            yield Reading(name, rows[0][name], unit)


def settings(rows: Rows, _: Look) -> Iterable[Reading]:
    """The settings that matter, as the server says them."""
    for row in rows:
        yield Reading("setting", row["setting"], row["unit"] or "value", row["name"], {"source": row["source"]})


def replicas(rows: Rows, _: Look) -> Iterable[Reading]:
    """How far each server that follows this one is behind."""
    for row in rows:
        detail = {"state": row["state"], "sync_state": row["sync_state"], "address": row["address"]}
        yield Reading("replica_lag", row["replay_lag_s"] or 0.0, "s", row["name"], detail)
        yield Reading("replica_behind", row["behind_bytes"], "bytes", row["name"], detail)
        yield Reading("replica_replayed", row["replayed_bytes"], "bytes", row["name"], detail)


def slots(rows: Rows, _: Look) -> Iterable[Reading]:
    """How much WAL each replication slot keeps on the disk."""
    for row in rows:
        detail = {key: row[key] for key in ("kind", "active", "wal_status", "safe_wal_bytes", "inactive_s")}
        yield Reading("slot_kept", row["kept_bytes"], "bytes", row["name"], detail)


def follows(rows: Rows, _: Look) -> Iterable[Reading]:
    """On a replica: how old what it shows is. One that has applied all it received lags behind nothing."""
    row = rows[0]
    age_s = 0.0 if row["has_all_it_received"] else row["replayed_ago_s"]
    yield Reading("replayed_ago", age_s, "s", detail={"has_all_it_received": row["has_all_it_received"]})


PROBES: Final = (
    Probe("counters", "doctor_server.counters", counters),
    Probe("replicas", "doctor_server.replicas", replicas, {"rows_max": ROWS_MAX}),
    Probe("slots", "doctor_server.slots", slots, {"rows_max": ROWS_MAX}),
    Probe(
        "settings",
        "doctor_server.settings",
        settings,
        {"names": [setting.name for setting in SETTINGS]},
        every_s=SLOWLY_S,
    ),
    Probe("follows", "doctor_server.follows", follows, wanted=lambda look: bool(look.moment["standby"])),
)
