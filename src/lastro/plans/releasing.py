"""
Releasing a hold, wholly or in part: money that was set aside is available again.
"""

from __future__ import annotations

from typing import NamedTuple

from lastro.errors import HoldExceeded
from lastro.model.hold import Hold, Released
from lastro.plans.ending import Notes, note, open_holds
from lastro.plans.holds import Known, closed, conflict, identify_to_end, standing_of
from lastro.plans.plan import Plan, Row, step
from lastro.plans.stored import whole
from lastro.plans.transfers import Terms
from lastro.plans.waiting import patiently


class ReleaseIntent(NamedTuple):
    """
    A release that somebody wants, checked; no amount means all that is left.
    """

    key: str
    amount: int | None
    notes: Notes


def release(hold_key: str, wanted: ReleaseIntent, terms: Terms) -> Plan[Released]:
    """
    Give back what is left of a hold, or a part of it, once.

    Of a hold that was released or has expired nothing is left: that is the answer, for whoever wants the money back has
    it. Raises UnknownHold, HoldExceeded, HoldConflict, and HoldClosed where the hold was captured or a part was named.
    """
    return (yield from patiently(_release(hold_key, wanted, terms), terms.lock_timeout_ms))


def _release(hold_key: str, wanted: ReleaseIntent, terms: Terms) -> Plan[Released]:
    found = yield from identify_to_end(hold_key)
    yield step("locked.lock_sides", account_ids=[found.account_id], now=terms.now)
    # After the lock, and before what is left: a retry of the release that ended the hold is replayed.
    rows = yield step("holds.find_release", key=wanted.key)
    if rows:
        return (yield from _replay(found, wanted, rows[0]))
    held = (yield from open_holds([found.id])).get(found.id)
    if held is None:
        return (yield from _nothing_left(found, wanted))
    amount = held.left if wanted.amount is None else wanted.amount
    if amount > held.left:
        raise _exceeded(found.placed, amount, held.left)
    event = held.becomes("released", amount, key=wanted.key, notes=wanted.notes)
    if not (yield from note([event], [held], now=terms.now)):
        # The key was taken by the release of another hold in the meantime.
        rows = yield step("holds.find_release", key=wanted.key)
        return (yield from _replay(found, wanted, rows[0]))
    return Released(amount, (yield from standing_of(hold_key)), replayed=False)


def _nothing_left(found: Known, wanted: ReleaseIntent) -> Plan[Released]:
    hold = yield from standing_of(found.placed.key)
    if wanted.amount is not None or hold.state == "captured":
        raise (yield from closed(found))
    return Released(0, hold, replayed=False)


def _replay(found: Known, wanted: ReleaseIntent, row: Row) -> Plan[Released]:
    amount = whole(row, "amount")
    pairs = {
        "hold": (row["hold_key"], found.placed.key),
        "amount": (amount, amount if wanted.amount is None else wanted.amount),
        "cause": (row["cause"], wanted.notes.cause),
        "source": (row["source"], wanted.notes.source),
    }
    fields = {field: pair for field, pair in pairs.items() if pair[0] != pair[1]}
    if fields:
        raise conflict(wanted.key, "release", fields)
    return Released(amount, (yield from standing_of(found.placed.key)), replayed=True)


def _exceeded(placed: Hold, amount: int, left: int) -> HoldExceeded:
    return HoldExceeded(
        f"hold {placed.key!r} has {left} {placed.currency} left, and {amount} was to be released (minor units)",
        key=placed.key,
        needed=amount,
        left=left,
    )
