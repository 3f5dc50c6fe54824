"""
Rules on what stands around the ledger: checkpoints, replicas, slots, poolers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from lastro.doctor.finding import Finding, Severity, page_of
from lastro.doctor.readings import Reading, Sample
from lastro.doctor.settings import MIB
from lastro.doctor.window import Window

SECONDS_IN_A_MINUTE: Final = 60
# A checkpoint that was asked for came by volume: the WAL had filled its room before the clock struck.
STORM_REQUESTED_MIN: Final = 2
STORM_A_MINUTE_MIN: Final = 2.0
LAG_MIN_S: Final = 5.0
BEHIND_MIN_BYTES: Final = 256 * MIB
# A replica that applies nothing is behind at once, however little that is yet.
STANDING_BEHIND_MIN_BYTES: Final = MIB
SLOT_KEPT_MIN_BYTES: Final = 64 * MIB
SLOT_IN_USE_KEPT_MIN_BYTES: Final = 4 * 1024 * MIB
SLOT_KEPT_CRITICAL_BYTES: Final = 16 * 1024 * MIB
SLOT_SAFE_MIN_BYTES: Final = 512 * MIB
_LOSES_SLOT: Final = ("unreserved", "lost")


def checkpoint_storm(samples: Sequence[Sample]) -> Iterator[Finding]:
    """Checkpoints come by volume one after the other, and each makes more WAL for the next."""
    window = Window(samples)
    requested, wal = window.growth("checkpoints_requested") or 0.0, window.growth("wal_bytes") or 0.0
    if requested < STORM_REQUESTED_MIN or window.span_s <= 0:
        return
    a_minute = requested * SECONDS_IN_A_MINUTE / window.span_s
    if a_minute < STORM_A_MINUTE_MIN:
        return
    room = next((one for one in window.latest("setting") if one.subject == "max_wal_size"), None)
    yield Finding(
        "checkpoint_storm",
        "warning",
        "the server",
        f"{requested:.0f} checkpoints were forced in {window.span_s:.0f} s ({a_minute:.1f} a minute), over "
        f"{wal / MIB:,.0f} MiB of WAL" + (f"; max_wal_size is {room.value} {room.unit}" if room else ""),
        "checkpoints_requested at rest over a minute, while checkpoints_timed goes on",
        "give max_wal_size room for the burst (2GB and more), checkpoint_timeout 15min and wal_compression on; they "
        "take a reload and no restart",
        page_of("checkpoint_storm"),
    )


def replica_lag(samples: Sequence[Sample]) -> Iterator[Finding]:
    """A replica shows what was true long ago, or applies nothing at all."""
    window = Window(samples)
    for reading in window.latest("replica_behind"):
        name, behind = reading.subject, _number(reading.value)
        lag_s = window.last.number("replica_lag", name) or 0.0
        stands = (
            window.is_long
            and window.growth("replica_replayed", name) == 0
            and (window.growth("replica_behind", name) or 0.0) > 0
            and behind >= STANDING_BEHIND_MIN_BYTES
        )
        if not stands and lag_s < LAG_MIN_S and behind < BEHIND_MIN_BYTES:
            continue
        yield Finding(
            "replica_lag",
            "warning",
            name,
            f"it has {behind / MIB:,.1f} MiB yet to apply"
            + (
                f", and applied nothing for {window.span_s:.0f} s"
                if stands
                else f", and shows commits after {lag_s:.1f} s"
            )
            + f" ({reading.detail['state']}, {reading.detail['sync_state']})",
            f'replica_behind of "{name}" falling, and replica_lag below {LAG_MIN_S:.0f} s',
            "look there for a paused recovery (SELECT pg_wal_replay_resume()), for a long query that recovery waits for "
            "(max_standby_streaming_delay), and at its disk; meanwhile read from the primary what must be new",
            page_of("replica_lag"),
            {"replica": name, "stands": stands},
        )


def slot_fills_disk(samples: Sequence[Sample]) -> Iterator[Finding]:
    """A replication slot keeps WAL that nobody fetches."""
    for reading in samples[-1].named("slot_kept"):
        kept, active = _number(reading.value), bool(reading.detail["active"])
        status, safe = reading.detail["wal_status"], reading.detail["safe_wal_bytes"]
        runs_out = status in _LOSES_SLOT or (safe is not None and safe < SLOT_SAFE_MIN_BYTES)
        much = kept >= (SLOT_IN_USE_KEPT_MIN_BYTES if active else SLOT_KEPT_MIN_BYTES)
        if not much and not runs_out:
            continue
        severity: Severity = "critical" if runs_out or kept >= SLOT_KEPT_CRITICAL_BYTES else "warning"
        yield Finding(
            "slot_fills_disk",
            severity,
            reading.subject,
            f"{'somebody reads' if active else 'nobody reads'} it, and it keeps {kept / MIB:,.0f} MiB of WAL on the disk "
            f"({status}; {_room(safe)})",
            f'slot_kept of "{reading.subject}" falling, and its wal_status "reserved"',
            f"start its reader again, or SELECT pg_drop_replication_slot('{reading.subject}'); set "
            "max_slot_wal_keep_size, so that a slot is lost and not the disk",
            page_of("slot_fills_disk"),
            {"slot": reading.subject},
        )


def prepared_statements_lost(samples: Sequence[Sample]) -> Iterator[Finding]:
    """A pooler in transaction mode doesn't carry prepared statements, and connections that use them go through it."""
    for reading in samples[-1].named("pooler"):
        if not reading.detail["prepared"] or reading.value == "session" or reading.detail["prepared_max"]:
            continue
        yield Finding(
            "prepared_statements_lost",
            "warning",
            f"PgBouncer {reading.detail['version']}",
            f"it is in {reading.value} mode and carries no prepared statements (max_prepared_statements "
            f"{'is 0' if _has_setting(reading) else 'came with 1.21'}): what one connection prepared, the next doesn't find",
            "pooler with max_prepared_statements above 0, or every connection through it with prepared=False",
            "lastro.connect(url, prepared=False), and psycopg.connect(url, prepare_threshold=None) for connections of your "
            "own; or PgBouncer 1.21 and max_prepared_statements = 200",
            page_of("prepared_statements_lost"),
        )


def _has_setting(reading: Reading) -> bool:
    return bool(reading.detail.get("knows_prepared"))


def _room(safe: Any) -> str:
    return "no bound is set" if safe is None else f"{_number(safe) / MIB:,.0f} MiB until it is lost"


def _number(value: Any) -> float:
    return value if isinstance(value, int | float) else 0.0
