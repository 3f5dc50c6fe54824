"""
Reading holds as values, finding and listing them, guarding them from their expiry, and what is refused over them.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, NamedTuple

from lastro.errors import HoldClosed, HoldConflict, InvalidInput, UnknownHold
from lastro.model.hold import BETTING_OWNER, Hold, HoldEvent
from lastro.model.text import as_differences
from lastro.plans.accounts import get_account
from lastro.plans.plan import Plan, Row, step
from lastro.plans.stored import read_event, read_hold, read_identity
from lastro.plans.transfers import Terms
from lastro.plans.waiting import patiently


class Known(NamedTuple):
    """
    What never changes of a hold, read before its account is locked: `placed` is the hold as it was placed.
    """

    id: int
    account_id: int
    placed: Hold


def identify(key: str) -> Plan[Known]:
    """
    Return what a key set aside. Raises UnknownHold.
    """
    rows = yield step("holds.identify", key=key)
    if not rows:
        raise UnknownHold(
            f"there is no hold with the key {key!r}; a hold has a key of its own, which isn't that of a transfer",
            key=key,
        )
    return known(rows[0])


def identify_to_end(key: str) -> Plan[Known]:
    """
    Return what a key set aside, for a caller to capture or release. Raises UnknownHold, and InvalidInput for a bet's.
    """
    found = yield from identify(key)
    if found.placed.owner == BETTING_OWNER:
        raise InvalidInput(
            f"hold {key!r} is the stake of a bet, which ends it when it is settled; report the market's result, or void "
            "the market (ledger.betting)",
            argument="hold",
        )
    return found


def known(row: Row) -> Known:
    """
    Return a row of `holds.identify` or `holds.group` as what is known of a hold.
    """
    return Known(row["hold_id"], row["account_id"], read_identity(row))


def find_hold(key: str) -> Plan[Hold | None]:
    """
    Return a hold as it stands, or None.
    """
    rows = yield step("holds.find", key=key)
    return read_hold(rows[0]) if rows else None


def standing_of(key: str) -> Plan[Hold]:
    """
    Return a hold that is known to be there, as it stands now.
    """
    hold = yield from find_hold(key)
    assert hold is not None, "a hold is never deleted"
    return hold


def get_hold(key: str) -> Plan[Hold]:
    """
    Return a hold as it stands. Raises UnknownHold.
    """
    hold = yield from find_hold(key)
    if hold is None:
        yield from identify(key)
        return (yield from standing_of(key))
    return hold


def list_holds(name: str, currency: str, *, after: str | None, limit: int) -> Plan[list[Hold]]:
    """
    Return a page of an account's open holds, in the order of placing.
    """
    rows = yield step("holds.list", name=name, currency=currency, after=after, rows_max=limit)
    if not rows:
        yield from get_account(name, currency)
    return [read_hold(row) for row in rows]


def overdue_holds(*, owner: str | None, after: str | None, limit: int, now: datetime | None) -> Plan[list[Hold]]:
    """
    Return a page of the open holds past their deadline whose owner wants to be told, the longest overdue first.
    """
    rows = yield step("holds.overdue", owner=owner, after=after, rows_max=limit, now=now)
    return [read_hold(row) for row in rows]


def hold_events(key: str) -> Plan[list[HoldEvent]]:
    """
    Return what became of a hold, in its order. Raises UnknownHold.
    """
    found = yield from identify(key)
    rows = yield step("holds.events", hold_id=found.id)
    return [read_event(row) for row in rows]


def guard_hold(key: str, *, until: datetime | None, terms: Terms) -> Plan[Hold]:
    """
    Keep the expirer from an open hold until a moment; None lets it come at the deadline again.

    Raises UnknownHold, HoldClosed.
    """
    return (yield from patiently(_guard(key, until, terms), terms.lock_timeout_ms))


def _guard(key: str, until: datetime | None, terms: Terms) -> Plan[Hold]:
    found = yield from identify(key)
    yield step("locked.lock_sides", account_ids=[found.account_id], now=terms.now)
    if not (yield step("holds.open", hold_ids=[found.id])):
        raise (yield from closed(found))
    yield step("holds.guard", hold_id=found.id, until=until)
    return (yield from standing_of(key))


def closed(found: Known) -> Plan[HoldClosed]:
    """
    Return the refusal of a hold that is at its end: how and when it ended, and what to do now.
    """
    hold = yield from standing_of(found.placed.key)
    rows = yield step("holds.events", hold_id=found.id)
    captures = [row["key"] for row in rows if row["kind"] == "captured"]
    captured_by = captures[-1] if captures else None
    when = "" if hold.ended_at is None else f" at {hold.ended_at.isoformat()}"
    match hold.state:
        case "expired":
            what_now = (
                "a hold that ended is never opened again: place a new one under a new key "
                f"(for a second attempt, say, {hold.key + ':2'!r}) and capture that, or post a transfer"
            )
        case "captured":
            what_now = f"transfer {captured_by!r} did it; reverse that to give the money back"
        case _:
            what_now = "its money is available again: place a new hold under a new key, or post a transfer"
    ended = "expired" if hold.state == "expired" else f"was {hold.state}"
    return HoldClosed(
        f"hold {hold.key!r} of {hold.amount} {hold.currency} (minor units) {ended}{when}; {what_now}",
        key=hold.key,
        state=hold.state,
        ended_at=hold.ended_at,
        expired_at=hold.expired_at,
        captured_by=captured_by,
    )


def conflict(key: str, what: str, fields: Mapping[str, tuple[Any, Any]]) -> HoldConflict:
    """
    Return the refusal of a key that names another hold or release: the fields that differ, stored and given.
    """
    return HoldConflict(
        f"key {key!r} already names another {what} ({as_differences(fields)}); one key names one intent: find out which of the "
        "two is meant before anything else is done",
        key=key,
        fields=dict(fields),
    )
