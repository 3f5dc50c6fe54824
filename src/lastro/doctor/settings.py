"""
Settings as they should be, each with its reason: the server's, and the storage settings that migrations give to tables.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Final, NamedTuple

from lastro.schema.migrations import migrations
from lastro.sql.catalogue import FULLEST, LEDGER

_STORED: Final = re.compile(r"TABLE lastro\.(?P<table>\w+) \((?:(?!;).)*?\) WITH \((?P<options>[^()]*)\);", re.DOTALL)
_OPTION: Final = re.compile(r"(?P<name>\w+)\s*=\s*(?P<value>[\w.]+)")
KIB: Final = 1_024
MIB: Final = 1_024 * KIB
# In which unit the server counts a setting, in bytes or in milliseconds.
_UNITS: Final = {"kB": KIB, "8kB": 8 * KIB, "MB": MIB, "ms": 1, "s": 1_000, "min": 60_000, "B": 1, "": 1}


class Setting(NamedTuple):
    """
    A setting of the server: what is wanted, in its own words; whether a value is it; why.
    """

    name: str
    wanted: str
    holds: Callable[[str, str], bool]
    why: str


class Advised(NamedTuple):
    """
    A setting beside what the server has. `sql` changes it; None where it is as it should be.
    """

    name: str
    value: str
    wanted: str
    why: str
    sql: str | None


def _is(*wanted: str) -> Callable[[str, str], bool]:
    return lambda value, _: value in wanted


def _between(least: int, most: int | None = None) -> Callable[[str, str], bool]:
    """Whether a number, in bytes or milliseconds where it has a unit, lies there."""

    def holds(value: str, unit: str) -> bool:
        number = int(float(value)) * _UNITS.get(unit, 1)
        return number >= least and (most is None or number <= most)

    return holds


SETTINGS: Final = (
    Setting(
        "synchronous_commit", "on", _is("on", "remote_apply", "remote_write"),
        "off, an acknowledged posting can be lost by a crash; remote_apply lets replicas show it at once, and costs latency",
    ),
    Setting("fsync", "on", _is("on"), "off, a power cut can destroy the books"),
    Setting("full_page_writes", "on", _is("on"), "off, a page that was half written at a power cut is lost"),
    Setting(
        "idle_in_transaction_session_timeout", "60s", _between(1, 300_000),
        "a client that stalls inside a transaction holds its rows, and keeps every dead row of the server on the disk",
    ),
    Setting(
        "lock_timeout", "0", _is("0"),
        "the ledger bounds its own waits (3 s) in each transaction; a limit for everybody also stops maintenance. On the "
        "role that places bets or takes orders it does no harm",
    ),
    Setting("log_lock_waits", "on", _is("on"), "off, nobody learns afterwards who waited for whom"),
    Setting(
        "deadlock_timeout", "1s", _between(200, 5_000),
        "it is also the limit of log_lock_waits; shorter, each long wait searches the whole lock table",
    ),
    Setting("autovacuum", "on", _is("on"), "off, the tail and the base rows grow without end"),
    Setting(
        "autovacuum_naptime", "10s", _between(1_000, 15_000),
        "the tail is filled and emptied all the time: a minute between looks is too long for it",
    ),
    Setting(
        "checkpoint_timeout", "15min", _between(300_000, None),
        "after each checkpoint every page is written whole once more: fewer checkpoints, less WAL",
    ),
    Setting(
        "max_wal_size", "2GB", _between(1_024 * MIB, None),
        "smaller, a burst forces checkpoints by volume, and each makes the WAL larger still",
    ),
    Setting(
        "max_connections", "at most 500", _between(20, 500),
        "each connection is a process; let many clients share few by a pooler in transaction mode",
    ),
    Setting(
        "client_connection_check_interval", "2s", _between(1, 10_000),
        "a session that waits for a lock notices that its client is gone, and lets go of its own locks",
    ),
    Setting(
        "max_slot_wal_keep_size", "a bound, as 10GB", _between(1, None),
        "without one (-1), a slot that nobody reads fills the disk; with one, its reader has to be set up anew instead",
    ),
    Setting("track_activities", "on", _is("on"), "off, sessions can't be seen waiting"),
    Setting("track_counts", "on", _is("on"), "off, autovacuum does nothing and dead rows aren't counted"),
)  # fmt: skip

_ALTERED: Final = {
    "max_connections": "200",
    "max_slot_wal_keep_size": "10GB",
}


def advised(found: Mapping[str, tuple[str, str]]) -> list[Advised]:
    """
    Return every setting of SETTINGS that was *found* (its value and unit, by name) beside what it should be.
    """
    told = []
    for setting in SETTINGS:
        if setting.name not in found:
            continue
        value, unit = found[setting.name]
        fine = setting.holds(value, unit)
        to = _ALTERED.get(setting.name, setting.wanted)
        sql = None if fine else f"ALTER SYSTEM SET {setting.name} = '{to}';"
        told.append(Advised(setting.name, f"{value}{_with(unit)}", setting.wanted, setting.why, sql))
    return told


def _with(unit: str) -> str:
    return f" × {unit}" if unit[:1].isdigit() else unit


def _stored() -> dict[str, dict[str, str]]:
    script = "\n".join(migration.script for migration in migrations(FULLEST, LEDGER))
    return {
        found["table"]: {option["name"]: option["value"] for option in _OPTION.finditer(found["options"])}
        for found in _STORED.finditer(script)
    }


# The tables that change, by name: what the migrations set for each, which is what it should have.
STORAGE: Final[Mapping[str, Mapping[str, str]]] = _stored()


def options_of(stored: Iterable[str]) -> dict[str, str]:
    """
    Return a table's storage settings as the server stores them (`fillfactor=50`), by name.
    """
    return dict(option.split("=", 1) for option in stored)


def differing(table: str, options: Mapping[str, str]) -> list[str]:
    """
    Return how a table's storage settings differ from what the migrations set.
    """
    wanted = STORAGE.get(table, {})
    told = [
        f"{name} is {options.get(name, 'not set')}, should be {value}"
        for name, value in wanted.items()
        if options.get(name) != value
    ]
    if options.get("autovacuum_enabled", "true") in ("false", "off", "0", "no"):
        told.append("autovacuum_enabled is off, should be on")
    return told


def storage_sql(table: str, alter_it: str) -> str:
    """
    Return the statements that give a table the storage settings it should have; *alter_it* is how each begins.
    """
    wanted = ", ".join(f"{name} = {value}" for name, value in STORAGE[table].items())
    return f"{alter_it} RESET (autovacuum_enabled); {alter_it} SET ({wanted});"
