"""
Closing days: marks in the history, and what each account stood at there, so that the past needn't be summed up again.

A transaction that commits late brings an old moment and an old id with it, so a mark is cut by ids and waits: the highest
id is read, then whatever is open at that moment is waited for, and only then is what has an id up to it summed up, a page
of accounts a transaction. Nothing is held meanwhile, and postings go on. The one row of the open mark says how far it has
come, so another process goes on where one was killed.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime
from functools import partial
from typing import Final, NamedTuple, TypeAlias

from lastro.errors import LockTimeout
from lastro.model.limits import CLOSING_ACCOUNTS_MAX, CLOSING_BLOCK_ENTRIES, CLOSING_LOCK_TIMEOUT_MS, CLOSING_WAIT_MS
from lastro.plans.course import Act, Course, Pause
from lastro.plans.patience import LOOK_EVERY_MS, still_under_way
from lastro.plans.plan import Effect, Plan, Row, Rows, step
from lastro.plans.waiting import patiently

# Told the closings of each page as soon as it is committed; False ends the round there.
AfterBatch: TypeAlias = Callable[[int], bool]
DAY_S: Final = 86_400


class DaysClosed(NamedTuple):
    """
    What one round did: marks that were finished, closings written. `full` says that it ended early, so more is left.

    `waits_for` names the transactions that a mark still waits for; nothing but time, or their end, helps there.
    """

    marks: int
    closings: int
    full: bool
    waits_for: tuple[str, ...] = ()


class _Open(NamedTuple):
    """The mark that is being made."""

    mark_id: int
    id_floor: int
    id_ceiling: int
    settled: bool
    # None: nobody has looked yet which transactions were open when the ceiling was read.
    waits_for: frozenset[str] | None
    after_account_id: int


class _Page(NamedTuple):
    """A page of accounts that was closed; the last one finishes the mark."""

    closings: int
    last: bool


def close_days(
    *, every_s: int = DAY_S, now: datetime | None, after_batch: AfterBatch | None = None
) -> Course[DaysClosed]:
    """
    Make the marks that are due, and go on with one that was begun: a mark each *every_s* seconds of UTC since 1970, and
    more of them where more was posted than one may take. Waits briefly for transactions that were open before; those that
    are left then are waited for by the next round. Ends at once where another closer is at work.
    """
    done = DaysClosed(0, 0, full=False)
    while not done.full:
        try:
            mark: _Open | None = yield _act(partial(_begin, every_s=every_s, now=now))
        except LockTimeout:
            # Another closer has the row; nobody else locks it for so long.
            break
        if mark is None:
            break
        if not mark.settled:
            waits_for: frozenset[str] = yield from _settle(mark)
            if waits_for:
                return done._replace(full=True, waits_for=tuple(sorted(waits_for)))
        closed = yield from _close(mark, now, after_batch)
        done = DaysClosed(done.marks + closed.marks, done.closings + closed.closings, closed.full)
    return done


def _close(mark: _Open, now: datetime | None, after_batch: AfterBatch | None) -> Course[DaysClosed]:
    closings = 0
    while True:
        try:
            page: _Page | None = yield _act(partial(_close_page, mark.mark_id, now=now))
        except LockTimeout:
            page = None
        if page is None:
            # Another closer is at it, or has finished it.
            return DaysClosed(0, closings, full=False)
        closings += page.closings
        if page.last:
            return DaysClosed(1, closings, full=False)
        if after_batch is not None and not after_batch(page.closings):
            return DaysClosed(0, closings, full=True)


def _act(plan: Callable[[], Plan[object]]) -> Act:
    return Act(lambda: patiently(plan(), CLOSING_LOCK_TIMEOUT_MS))


def _begin(*, every_s: int, now: datetime | None) -> Plan[_Open | None]:
    """
    Return the mark that is open, begun now where one is due; None where none is.
    """
    row = yield from _held()
    if row["id_ceiling"] is not None:
        return _open(row)
    # In a following statement: whoever waited for the lock must see the mark that was made meanwhile.
    reached = (yield step("closings.reached", now=now))[0]
    last_id, id_floor, moment = reached["last_id"], row["id_floor"], reached["moment_at"]
    catches_up = last_id - id_floor > reached["ids_max"]
    if not catches_up and not _is_due(reached["marked_at"], moment, every_s):
        return None
    id_ceiling = id_floor + reached["ids_max"] if catches_up else max(last_id, id_floor)
    yield step("closings.begin", id_ceiling=id_ceiling, marked_at=None if catches_up else moment)
    return _Open(row["id"], id_floor, id_ceiling, settled=False, waits_for=None, after_account_id=-1)


def _is_due(marked_at: datetime | None, moment: datetime, every_s: int) -> bool:
    if marked_at is None:
        return True
    return int(moment.timestamp()) // every_s > int(marked_at.timestamp()) // every_s


def _settle(mark: _Open) -> Course[frozenset[str]]:
    """
    Wait for the transactions that were open when the ceiling was read, and note it; return those that are left.
    """
    look = Act(_under_way, Effect.READ)
    waited_ms = 0
    waits_for = mark.waits_for
    while True:
        found: Rows = yield look
        left = found if waits_for is None else still_under_way(waits_for, found)
        waits_for = frozenset(row["transaction"] for row in left)
        if not waits_for or waited_ms >= CLOSING_WAIT_MS:
            yield _act(partial(_note, mark.mark_id, waits_for))
            return waits_for
        yield Pause(LOOK_EVERY_MS)
        waited_ms += LOOK_EVERY_MS + found[0].get("look_ms", 0)


def _under_way() -> Plan[Rows]:
    return (yield step("keeping.under_way"))


def _note(mark_id: int, waits_for: frozenset[str]) -> Plan[None]:
    row = yield from _held()
    # Where another closer is further, its word stands.
    if row["id"] == mark_id and row["id_ceiling"] is not None and not row["settled"]:
        yield step("closings.wait", waits_for=json.dumps(sorted(waits_for)), settled=not waits_for)


def _close_page(mark_id: int, *, now: datetime | None) -> Plan[_Page | None]:
    """
    Close the next page of accounts; where none is left, write the mark. None where it isn't there to be closed.
    """
    row = yield from _held()
    if row["id"] != mark_id or not row["settled"]:
        return None
    mark = _open(row)
    pages = yield step("closings.page", after_account_id=mark.after_account_id, accounts_max=CLOSING_ACCOUNTS_MAX)
    upto_account_id = pages[0]["account_id"]
    if upto_account_id is None:
        yield step("closings.finish", now=now)
        yield step("closings.follow")
        return _Page(0, last=True)
    window = {
        "mark_id": mark_id,
        "id_floor": mark.id_floor,
        "id_ceiling": mark.id_ceiling,
        "after_account_id": mark.after_account_id,
        "upto_account_id": upto_account_id,
        "block_entries": CLOSING_BLOCK_ENTRIES,
    }
    yield step("closings.write_blocks", **window)
    written = (yield step("closings.write", **window))[0]
    yield step("closings.advance", upto_account_id=upto_account_id, newest_at=written["newest_at"])
    return _Page(written["accounts"], last=False)


def _held() -> Plan[Row]:
    rows = yield step("closings.hold")
    return rows[0]


def _open(row: Row) -> _Open:
    waits_for = row["waits_for"]
    return _Open(
        mark_id=row["id"],
        id_floor=row["id_floor"],
        id_ceiling=row["id_ceiling"],
        settled=bool(row["settled"]),
        waits_for=None if waits_for is None else frozenset(json.loads(waits_for)),
        after_account_id=row["after_account_id"],
    )
