"""
Moving points for an activity: what it earns, and what is taken back of that, each with its transfer, its lots and its
row of earnings. The base row of the member's account is held by this transaction.
"""

from __future__ import annotations

from typing import NamedTuple

from lastro.errors import CurrencyMismatch, TransferConflict, UnknownAccount, UnknownTransfer
from lastro.model.transfer import Intent, Posted
from lastro.plans.plan import Plan, step
from lastro.plans.posting import post
from lastro.plans.reversing import reverse_within
from lastro.plans.standing import Standing
from lastro.plans.transfers import Terms, find_transfer
from lastro.points.activities import Activity, Movement
from lastro.points.holding import ISSUED, open_counterpart, opened_since
from lastro.points.lots import Credit, open_lots, take
from lastro.points.periods import end_of_day_after
from lastro.points.rules import Rule

MOVEMENT_PREFIX = "points"


class Source(NamedTuple):
    """
    Why points move: the activity with its id, the kind of the movement, and who asked for it.
    """

    activity_id: int
    activity: Activity
    kind: str
    actor: str | None


def movement_key(activity: str, rule: str, number: int) -> str:
    """
    Return the key of the transfer that is an activity's movement of that number by a rule.
    """
    first = f"{MOVEMENT_PREFIX}:{activity}:{rule}"
    return first if number == 1 else f"{first}:{number}"


def give_points(source: Source, rule: Rule, amount: int, *, number: int, to: Standing, terms: Terms) -> Plan[Movement]:
    """
    Post *amount* points for an activity and open their lot; what the member owes is paid out of it first.
    """
    activity = source.activity
    wanted = Intent(
        key=movement_key(activity.key, rule.name, number),
        kind=source.kind,
        debit=ISSUED,
        credit=to.facts.name,
        amount=amount,
        currency=rule.currency,
        cause=activity.key,
        actor=source.actor,
        occurred_at=activity.occurred_at,
    )
    posted = yield from _posted_out_of_the_issuer(wanted, terms)
    if posted.replayed:
        raise TransferConflict(
            f"key {wanted.key!r} names a transfer that no earning posted; keys that begin with {MOVEMENT_PREFIX!r}: are "
            "the points ledger's own",
            key=wanted.key,
            fields={},
        )
    expires_at = None
    if rule.lot_days is not None:
        expires_at = end_of_day_after(activity.occurred_at, rule.lot_days, rule.time_zone)
    lot = Credit(to.facts.id, posted.transfer.id, amount, activity.occurred_at, expires_at)
    yield from open_lots([lot], posted_before=to.posted)
    to.posted += amount
    moved = Movement(
        source.activity_id, rule.name, number, rule.version, lot.transfer_id, amount, rule.currency, amount
    )
    yield from _note(moved)
    return moved


def _posted_out_of_the_issuer(wanted: Intent, terms: Terms) -> Plan[Posted]:
    try:
        return (yield from post(wanted, terms))
    except (UnknownAccount, CurrencyMismatch):
        # The issuer was opened in a transaction that was undone, and this process believed in it until now.
        yield from open_counterpart(ISSUED, wanted.currency, terms)
    try:
        return (yield from post(wanted, terms))
    except (UnknownAccount, CurrencyMismatch) as unknown:
        raise opened_since(ISSUED, wanted.currency) from unknown


def take_points(
    source: Source, earlier: Movement, amount: int, *, number: int, version: int, out_of: Standing, terms: Terms
) -> Plan[Movement]:
    """
    Take back *amount* of an earlier movement, whatever balance that leaves: out of its own lot first, then out of those
    that expire soonest. What no lot covers is owed.
    """
    original_key = movement_key(source.activity.key, earlier.rule, earlier.number)
    original = yield from find_transfer(original_key)
    if original is None:
        raise UnknownTransfer(f"there is no transfer with the key {original_key!r} to reverse", key=original_key)
    # Its accounts and its currency are the original's.
    wanted = Intent(
        key=movement_key(source.activity.key, earlier.rule, number),
        kind=source.kind,
        debit=original.credit,
        credit=original.debit,
        amount=amount,
        currency=original.currency,
        actor=source.actor,
    )
    done = yield from reverse_within(original, wanted, terms, whole_rest=False, one_held=True)
    transfer_id = done.posted.transfer.id
    yield from take(out_of.facts.id, transfer_id, amount, own=original.id)
    out_of.posted -= amount
    moved = Movement(source.activity_id, earlier.rule, number, version, transfer_id, -amount, original.currency, left=0)
    yield from _note(moved)
    return moved


def _note(moved: Movement) -> Plan[None]:
    yield step(
        "points_earning.note_earning",
        activity_id=moved.activity_id,
        rule=moved.rule,
        number=moved.number,
        version=moved.version,
        transfer_id=moved.transfer_id,
        amount=moved.amount,
    )
