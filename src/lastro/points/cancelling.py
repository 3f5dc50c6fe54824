"""
Cancelling: an activity's earnings are taken back, whatever balance that leaves, and their room under the cap is free.
"""

from __future__ import annotations

from datetime import UTC

from lastro.errors import UnknownActivity
from lastro.model.limits import LOOKS_MAX
from lastro.plans.accounts import AccountKey, kept_changing
from lastro.plans.plan import Plan, step
from lastro.plans.standing import Standing
from lastro.plans.transfers import Terms
from lastro.plans.waiting import patiently, undone_when_refused
from lastro.points.activities import Activity, Cancelled, Movement, Stored, earnings, find_activity, movements_of
from lastro.points.allowance import give_room_back
from lastro.points.defining import known_rule
from lastro.points.holding import hold, hold_members
from lastro.points.moving import Source, take_points

KIND = "earn-cancel"


def cancel(key: str, actor: str | None, terms: Terms) -> Plan[Cancelled]:
    """
    Take back what an activity earned, once; the activity as it stands, marked replayed, where it was cancelled before.

    Each movement is reversed by one that names it, below zero as well, and points that were spent are owed: the next
    that come pay for them. Raises UnknownActivity, AccountClosed (a member who was erased).
    """
    return (yield from patiently(undone_when_refused(_cancel(key, actor, terms)), terms.lock_timeout_ms))


def _cancel(key: str, actor: str | None, terms: Terms) -> Plan[Cancelled]:
    stored, held = yield from _held_activity(key, terms)
    if stored.activity.cancelled_at is not None:
        return Cancelled(stored.activity, (), replayed=True)
    source = Source(stored.id, stored.activity, KIND, actor)
    moved = yield from movements_of(stored.id)
    taken: list[Movement] = []
    numbers: dict[str, int] = {movement.rule: movement.number for movement in moved}
    for movement in moved:
        if not movement.left:
            continue
        number = numbers[movement.rule] = numbers[movement.rule] + 1
        account = held[stored.activity.member, movement.currency]
        rule = yield from known_rule(movement.rule)
        taken.append(
            (
                yield from take_points(
                    source, movement, movement.left, number=number, version=rule.version, out_of=account, terms=terms
                )
            )
        )
        yield from give_room_back(rule, movement.left, stored.activity.occurred_at, account_id=account.facts.id)
    rows = yield step("points_earning.note_cancelled", activity_id=stored.id, actor=actor, now=terms.now)
    assert rows, "whoever cancels an activity holds its member"
    cancelled: Activity = stored.activity._replace(
        cancelled_at=rows[0]["cancelled_at"].astimezone(UTC), earnings=earnings([*moved, *taken])
    )
    return Cancelled(
        cancelled, tuple(given._replace(amount=-given.amount) for given in earnings(taken)), replayed=False
    )


def _held_activity(key: str, terms: Terms) -> Plan[tuple[Stored, dict[AccountKey, Standing]]]:
    """
    Hold the member's accounts, and return the activity as it stands under their locks.
    """
    needed: set[AccountKey] = set()
    for _ in range(LOOKS_MAX):
        found = yield from find_activity(key)
        if found is None:
            raise UnknownActivity(f"there is no activity with the key {key!r} to cancel", key=key)
        member = found.activity.member
        if found.activity.cancelled_at is not None:
            return found, {}
        held: dict[AccountKey, Standing] | None = yield from hold_members([member], terms)
        if needed:
            # Accounts that an old snapshot doesn't show; or closed ones (AccountClosed), as an erased member's are.
            held = yield from hold({*needed, *(held or {})}, terms)
        if held is None:
            continue
        if not held:
            # Nor does anybody open one meanwhile: a rebuild would give what this cancels.
            yield step("points_members.lock", name=member)
        # In a following statement, for a rival may have cancelled or rebuilt it while this one waited.
        stored = yield from find_activity(key)
        assert stored is not None, "activity is never deleted"
        needed = {(stored.activity.member, earning.currency) for earning in stored.activity.earnings}
        if stored.activity.member == member and needed <= held.keys():
            return stored, held
    raise kept_changing((key,))
