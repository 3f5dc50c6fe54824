"""
Holds of one group, captured or released as one: all of what is open of them in one transaction, or nothing.
"""

from __future__ import annotations

from lastro.errors import InvalidInput, TransferConflict, UnknownHold
from lastro.model.hold import Captured, Released
from lastro.model.limits import GROUP_HOLDS_MAX
from lastro.model.transfer import Intent
from lastro.plans.accounts import find_facts
from lastro.plans.capturing import asked_of, capture_locked, replay_capture
from lastro.plans.ending import note, open_holds
from lastro.plans.holds import Known, closed, conflict, known, standing_of
from lastro.plans.plan import Plan, step
from lastro.plans.releasing import ReleaseIntent
from lastro.plans.rules import refuse_by_rules
from lastro.plans.stored import whole
from lastro.plans.transfers import Terms, find_transfer, is_locked
from lastro.plans.waiting import patiently, undone_when_refused


def capture_group(group: str, wanted: Intent, terms: Terms) -> Plan[list[Captured]]:
    """
    Capture all that is left of every open hold of a group, each by a transfer of its own, in one transaction.

    The first transfer has the key of *wanted*, the others `<key>:2`, `<key>:3` … in the order of placing. Raises
    UnknownHold, HoldClosed where none is open, and what a capture raises.
    """
    return (yield from patiently(undone_when_refused(_capture_group(group, wanted, terms)), terms.lock_timeout_ms))


def release_group(group: str, wanted: ReleaseIntent, terms: Terms) -> Plan[list[Released]]:
    """
    Release all that is left of every open hold of a group in one transaction. Keys as in `capture_group`.

    An empty list where nothing was left. Raises UnknownHold, HoldConflict.
    """
    return (yield from patiently(undone_when_refused(_release_group(group, wanted, terms)), terms.lock_timeout_ms))


def _capture_group(group: str, wanted: Intent, terms: Terms) -> Plan[list[Captured]]:
    members = yield from _members(group)
    yield from _lock(members, wanted.credit, wanted, terms)
    stored = yield from find_transfer(wanted.key)
    if stored is not None:
        return (yield from _replay_captures(group, members, wanted))
    still_open = yield from open_holds(member.id for member in members)
    if not still_open:
        raise (yield from closed(members[-1]))
    captured: list[Captured] = []
    for member in members:
        if member.id in still_open:
            key = _key_of(wanted.key, len(captured) + 1)
            asked = asked_of(member, wanted._replace(key=key), whole_rest=True, final=True)
            yield from refuse_by_rules(asked.wanted, terms)
            captured.append((yield from capture_locked(asked, terms)))
    return captured


def _replay_captures(group: str, members: list[Known], wanted: Intent) -> Plan[list[Captured]]:
    replayed = {}
    for member in members:
        for row in (yield step("holds.events", hold_id=member.id)):
            place = _place_of(wanted.key, row["key"]) if row["kind"] == "captured" else None
            if place is not None:
                stored = yield from find_transfer(row["key"])
                assert stored is not None, "an event names its transfer"
                asked = asked_of(member, wanted._replace(key=stored.key), whole_rest=True, final=True)
                replayed[place] = yield from replay_capture(asked, stored)
    if 1 not in replayed:
        raise TransferConflict(
            f"key {wanted.key!r} already names a transfer that captured no hold of group {group!r}; one key names one "
            "intent: find out which of the two is meant before anything else is posted",
            key=wanted.key,
            fields={"group": (None, group)},
        )
    return [replayed[place] for place in sorted(replayed)]


def _release_group(group: str, wanted: ReleaseIntent, terms: Terms) -> Plan[list[Released]]:
    members = yield from _members(group)
    yield from _lock(members, None, None, terms)
    rows = yield step("holds.find_release", key=wanted.key)
    if rows:
        return (yield from _replay_releases(group, members, wanted))
    still_open = yield from open_holds(member.id for member in members)
    if not still_open:
        return []
    lefts = {hold_id: hold.left for hold_id, hold in still_open.items()}
    events = [
        hold.becomes("released", hold.left, key=_key_of(wanted.key, place), notes=wanted.notes)
        for place, hold in enumerate(still_open.values(), start=1)
    ]
    if not (yield from note(events, still_open.values(), now=terms.now)):
        # A key of ours was taken by the release of another hold in the meantime.
        raise conflict(wanted.key, "release", {"group": (None, group)})
    released = []
    for member in members:
        if member.id in lefts:
            hold = yield from standing_of(member.placed.key)
            released.append(Released(lefts[member.id], hold, replayed=False))
    return released


def _replay_releases(group: str, members: list[Known], wanted: ReleaseIntent) -> Plan[list[Released]]:
    replayed = {}
    for member in members:
        for row in (yield step("holds.events", hold_id=member.id)):
            place = _place_of(wanted.key, row["key"]) if row["kind"] == "released" else None
            if place is not None:
                fields = {
                    name: (row[name], given)
                    for name, given in (("cause", wanted.notes.cause), ("source", wanted.notes.source))
                    if row[name] != given
                }
                if fields:
                    raise conflict(wanted.key, "release", fields)
                hold = yield from standing_of(member.placed.key)
                replayed[place] = Released(whole(row, "amount"), hold, replayed=True)
    if 1 not in replayed:
        raise conflict(wanted.key, "release", {"group": (None, group)})
    return [replayed[place] for place in sorted(replayed)]


def _members(group: str) -> Plan[list[Known]]:
    rows = yield step("holds.group", group_name=group, rows_max=GROUP_HOLDS_MAX + 1)
    if not rows:
        raise UnknownHold(f"there is no hold in a group {group!r}", key=None, group=group)
    if len(rows) > GROUP_HOLDS_MAX:
        raise InvalidInput(
            f"group {group!r} has more than {GROUP_HOLDS_MAX} holds, which is as many as one transaction ends: "
            "capture or release them one by one",
            argument="group",
        )
    return [known(row) for row in rows]


def _lock(members: list[Known], credit: str | None, wanted: Intent | None, terms: Terms) -> Plan[None]:
    """
    Lock every account that will be written, in account order, before any hold is looked at.
    """
    to_lock = {member.account_id for member in members}
    if credit is not None and wanted is not None:
        sides = {(credit, member.placed.currency) for member in members}
        found = yield from find_facts(terms.directory, sorted(sides))
        to_lock |= {facts.id for facts in found.values() if is_locked(facts, wanted, "credit")}
    yield step("locked.lock_sides", account_ids=sorted(to_lock), now=terms.now)


def _key_of(key: str, place: int) -> str:
    return key if place == 1 else f"{key}:{place}"


def _place_of(key: str, stored: str | None) -> int | None:
    if stored == key:
        return 1
    before, _, place = (stored or "").rpartition(":")
    return int(place) if before == key and place.isascii() and place.isdigit() else None
