"""
Expiring holds: those past their deadline give back what is left, in bounded batches, each a transaction of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from typing import NamedTuple, TypeAlias

from lastro.model.limits import EXPIRY_LOCK_TIMEOUT_MS, HOLDS_EXPIRED_MAX
from lastro.plans.course import Act, Course
from lastro.plans.ending import Notes, note, open_holds
from lastro.plans.plan import Effect, Plan, step
from lastro.plans.waiting import patiently

# Told the holds of each batch as soon as it is committed; False ends the round there.
AfterBatch: TypeAlias = Callable[[int], bool]


class HoldsExpired(NamedTuple):
    """
    What one round of expiry did. `full` says that it was told to end early, so more may be due.

    `blocked` counts the due holds that were passed over because somebody worked on their account.
    """

    holds: int
    batches: int
    blocked: int
    full: bool


class _Due(NamedTuple):
    """A hold that is due, as it was seen without a lock."""

    hold_id: int
    account_id: int
    due_at: datetime


class _Batch(NamedTuple):
    """What became of one page of due holds."""

    expired: int
    blocked: int


def expire_holds(
    *, now: datetime | None, holds_max: int = HOLDS_EXPIRED_MAX, after_batch: AfterBatch | None = None
) -> Course[HoldsExpired]:
    """
    Expire what is due, page by page, the longest due first, until a page isn't full.

    A round goes on behind what it passed over, so that one busy account holds up no other.
    """
    done = HoldsExpired(0, 0, 0, full=False)
    after: _Due | None = None
    while True:
        due: list[_Due] = yield Act(partial(_due, after, now=now, holds_max=holds_max), Effect.READ)
        if not due:
            return done
        batch: _Batch = yield Act(partial(_expire, due, now=now))
        done = HoldsExpired(done.holds + batch.expired, done.batches + 1, done.blocked + batch.blocked, full=False)
        if after_batch is not None and not after_batch(batch.expired):
            return done._replace(full=True)
        if len(due) < holds_max:
            return done
        after = due[-1]


def _due(after: _Due | None, *, now: datetime | None, holds_max: int) -> Plan[list[_Due]]:
    rows = yield step(
        "ending.due",
        after_due_at=None if after is None else after.due_at,
        after_id=0 if after is None else after.hold_id,
        rows_max=holds_max,
        now=now,
    )
    return [_Due(row["hold_id"], row["account_id"], row["due_at"].astimezone(UTC)) for row in rows]


def _expire(due: list[_Due], *, now: datetime | None) -> Plan[_Batch]:
    return (yield from patiently(_expire_locked(due, now=now), EXPIRY_LOCK_TIMEOUT_MS))


def _expire_locked(due: list[_Due], *, now: datetime | None) -> Plan[_Batch]:
    locked = yield step("ending.lock_due", account_ids=sorted({seen.account_id for seen in due}), now=now)
    ours = {row["account_id"] for row in locked}
    candidates = [seen.hold_id for seen in due if seen.account_id in ours]
    blocked = len(due) - len(candidates)
    if not candidates:
        return _Batch(0, blocked)
    still_open = yield from open_holds(candidates)
    moment: datetime = locked[0]["recorded_at"].astimezone(UTC)
    # Looked at again under the lock: since then it may have been captured, released, or guarded by its owner.
    expiring = [hold for hold in still_open.values() if hold.due_at <= moment and not hold.listed]
    if expiring:
        events = [hold.becomes("expired", hold.left, notes=Notes()) for hold in expiring]
        noted = yield from note(events, expiring, now=now)
        assert noted, "no event of an expiry has a key"
    return _Batch(len(expiring), blocked)
