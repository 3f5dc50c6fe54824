"""
Keeping partitions of the history ahead of need, and retiring old ones.
"""

from __future__ import annotations

from typing import NamedTuple

from lastro.errors import InvalidInput
from lastro.plans.plan import TOGETHER, Plan, Row, Step, step

LOCK_TIMEOUT_MS = 2_000


class Partition(NamedTuple):
    """
    One partition of the history: transfers with `from_id` ≤ id < `to_id`. `transfers_about` is the server's estimate.
    """

    name: str
    from_id: int
    to_id: int
    transfers_about: int


def list_partitions() -> Plan[list[Partition]]:
    """
    Return the partitions with bounds, oldest first.
    """
    rows = yield step("partitioning.list")
    return [Partition(**row) for row in rows]


def keep_ahead(*, transfers: int, ahead: int) -> Plan[int]:
    """
    Make sure that *ahead* partitions of *transfers* ids each lie before the ids; return how many were made.

    Rows that had to go to the default partition, because nobody kept partitions, become a partition of their own.
    """
    yield TOGETHER
    yield step("schema.limit_lock_wait", lock_timeout=f"{LOCK_TIMEOUT_MS}ms")
    yield step("partitioning.lock")
    partitions = yield from list_partitions()
    rows = yield step("partitioning.reached")
    last_id, stray_id = rows[0]["last_id"], rows[0]["stray_id"]
    end = partitions[-1].to_id if partitions else _first_bound(rows[0], transfers)
    made = 0
    if stray_id is not None:
        # Beyond every id that may be under way, so that the adopted partition isn't full on its first day.
        to_id = _next_bound(max(stray_id, last_id), transfers) + transfers
        yield from _compose("partitioning.compose_adopt", end, to_id)
        end, made = to_id, 1
    while end <= last_id + ahead * transfers:
        yield from _compose("partitioning.compose_add", end, end + transfers)
        end += transfers
        made += 1
    return made


def retire(name: str) -> Plan[Partition]:
    """
    Take a partition out of the history; its table stays under its name, for an archive. No balance changes.

    Keys of its transfers stay taken. Accounts kept summed get its sums carried over to their base rows.
    """
    yield TOGETHER
    yield step("schema.limit_lock_wait", lock_timeout=f"{LOCK_TIMEOUT_MS}ms")
    yield step("partitioning.lock")
    partitions = yield from list_partitions()
    rows = yield step("partitioning.reached")
    found = next((partition for partition in partitions if partition.name == name), None)
    if found is None or found.to_id > rows[0]["last_id"]:
        retirable = [partition.name for partition in partitions if partition.to_id <= rows[0]["last_id"]]
        raise InvalidInput(
            f"partition {name!r} can't be retired: it isn't there, or new transfers still go to it; "
            f"these can: {', '.join(retirable) or 'none yet'}",
            argument="name",
        )
    closed = yield from _has_closings(found)
    closing = yield step("partitioning.compose_close", name=name)
    yield Step("script", {}, script=closing[0]["script"])
    yield step("partitioning.carry_over", from_id=found.from_id, to_id=found.to_id)
    yield step("partitioning.carry_history", from_id=found.from_id, to_id=found.to_id, closed=closed)
    composed = yield step("partitioning.compose_retire", name=name)
    yield Step("script", {}, script=composed[0]["script"])
    return found


def _has_closings(partition: Partition) -> Plan[bool]:
    """
    Return whether closings count the partition's entries; where no mark was ever begun none do. Refuses to retire what
    days are to be closed with: a ledger that has marks, or makes its first one, needs it first.
    """
    progress = yield step("closings.hold")
    has_marks = progress[0]["id"] > 1 or progress[0]["id_ceiling"] is not None
    if has_marks and progress[0]["id_floor"] < partition.to_id - 1:
        raise InvalidInput(
            f"partition {partition.name!r} can't be retired before the days are closed that it holds entries of; "
            "run `lastro close-days`, and again after the next day has begun",
            argument="name",
        )
    return has_marks


def _compose(statement: str, from_id: int, to_id: int) -> Plan[None]:
    composed = yield step(statement, from_id=from_id, to_id=to_id)
    yield Step("script", {}, script=composed[0]["script"])


def _first_bound(reached: Row, transfers: int) -> int:
    # All partitions may have been retired; their tables are still there, under the names that their bounds gave them.
    last_id: int = reached["last_id"]
    stray_id: int | None = reached["first_stray_id"]
    start = (last_id - 1) // transfers * transfers + 1
    return start if stray_id is None else min(start, stray_id)


def _next_bound(transfer_id: int, transfers: int) -> int:
    return (transfer_id // transfers + 1) * transfers + 1
