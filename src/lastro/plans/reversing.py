"""
Reversing: undo a transfer, wholly or in part, by a new one; never more than the original.
"""

from __future__ import annotations

from typing import NamedTuple

from lastro.errors import AccountClosed, AlreadyReversed, UnknownTransfer
from lastro.model.account import Facts
from lastro.model.limits import LOOKS_MAX
from lastro.model.transfer import Intent, Posted, Transfer
from lastro.plans.accounts import kept_changing, sides_of
from lastro.plans.locked import judge, lock_sides, write_locked
from lastro.plans.plan import Plan, step
from lastro.plans.rules import kind_to_undo, refuse_by_rules, refuse_undoing
from lastro.plans.standing import Standing
from lastro.plans.stored import whole
from lastro.plans.transfers import Terms, created, find_transfer, replay
from lastro.plans.waiting import patiently, undone_when_refused


class Reversed(NamedTuple):
    """
    A reversal that was posted, or replayed. `already` is what had been reversed of the original before it, and `debit`
    and `credit` are how its own sides stood; a replay knows none of these.
    """

    posted: Posted
    already: int = 0
    debit: Standing | Facts | None = None
    credit: Standing | Facts | None = None


def reverse(key: str, wanted: Intent, terms: Terms, *, whole_rest: bool, kind_given: bool = True) -> Plan[Posted]:
    """
    Post the reversal *wanted* of the transfer named *key*, once. It is written whatever balance it leaves.

    *wanted* is filled in here: its accounts are the original's the other way round, its amount what is left of the
    original where *whole_rest* says so, and its kind the one that undoes the original's where none is *kind_given*.
    Raises UnknownTransfer, AlreadyReversed and what a posting raises.
    """
    return (
        yield from patiently(
            undone_when_refused(_reverse(key, wanted, terms, whole_rest=whole_rest, kind_given=kind_given)),
            terms.lock_timeout_ms,
        )
    )


def _reverse(key: str, wanted: Intent, terms: Terms, *, whole_rest: bool, kind_given: bool) -> Plan[Posted]:
    # History doesn't change: what any snapshot shows of the original will do. To ask for it as of now may lock its key
    # (and the gap beside it), and accounts come before keys in the order of locks.
    original = yield from find_transfer(key, settled=True)
    if original is None:
        original = yield from find_transfer(key)
    if original is None:
        raise UnknownTransfer(f"there is no transfer with the key {key!r} to reverse", key=key)
    if not kind_given:
        wanted = wanted._replace(kind=(yield from _kind_of(original, wanted.key, terms)))
    return (yield from reverse_within(original, wanted, terms, whole_rest=whole_rest)).posted


def reverse_within(
    original: Transfer, wanted: Intent, terms: Terms, *, whole_rest: bool, one_held: bool = False
) -> Plan[Reversed]:
    """
    Reverse *original* in a transaction that bounds its waits and a savepoint that undoes a refusal: both the caller's.

    Locks both base rows. On return they are held, and what depends on them may be read by a following statement. With
    *one_held* the caller holds one of them already, and another that needs no lock isn't locked.
    """
    wanted = _turned_round(original, wanted)
    lock_both = not one_held
    for _ in range(LOOKS_MAX):
        done = yield from _attempt(original, wanted, terms, whole_rest=whole_rest, lock_both=lock_both)
        if done is not None:
            return done
        lock_both = True
    raise kept_changing((wanted.debit, wanted.credit))


def _attempt(
    original: Transfer, wanted: Intent, terms: Terms, *, whole_rest: bool, lock_both: bool
) -> Plan[Reversed | None]:
    """
    Reverse by what is believed of the two accounts; None, and nothing believed any more, where it wasn't true.
    """
    try:
        sides = yield from sides_of(terms.directory, wanted)
        # Both sides are locked, so that two reversals of one transfer come one after the other; one side that all of
        # them hold does as well.
        locked = yield from lock_sides(wanted, sides, terms, lock_both=lock_both)
    except AccountClosed:
        # A retry of what was reversed before a closing is a replay.
        if (stored := (yield from find_transfer(wanted.key))) is None:
            raise
        return Reversed(replay(stored, wanted._replace(amount=stored.amount) if whole_rest else wanted))
    stored = yield from find_transfer(wanted.key)
    if stored is not None:
        return Reversed(replay(stored, wanted._replace(amount=stored.amount) if whole_rest else wanted))
    yield from refuse_undoing(original, wanted, terms)
    yield from refuse_by_rules(wanted, terms)
    rows = yield step("reversing.already", original_id=original.id)
    already = whole(rows[0], "already")
    wanted = _within(original, wanted, already, whole_rest=whole_rest)
    if locked is not None:
        judge(wanted, *locked, floor_guarded=False)
        rows = yield from write_locked(wanted, *locked, terms)
        if rows:
            yield from _note(original, wanted, already, rows[0]["id"])
            return Reversed(Posted(created(wanted, rows[0]), replayed=False), already, *locked)
        stored = yield from find_transfer(wanted.key)
        if stored is not None:
            return Reversed(replay(stored, wanted))
    terms.directory.forget(sides)
    return None


def _kind_of(original: Transfer, key: str, terms: Terms) -> Plan[str]:
    # A retry takes the kind that was taken at first, whatever was registered since.
    stored = yield from find_transfer(key)
    if stored is not None and stored.reverses == original.key:
        return stored.kind
    return (yield from kind_to_undo(original, terms))


def _turned_round(original: Transfer, wanted: Intent) -> Intent:
    return wanted._replace(
        debit=original.credit,
        credit=original.debit,
        currency=original.currency,
        cause=original.cause if wanted.cause is None else wanted.cause,
        reverses=original.key,
    )


def _within(original: Transfer, wanted: Intent, already: int, *, whole_rest: bool) -> Intent:
    left = original.amount - already
    if left == 0 or (not whole_rest and wanted.amount > left):
        raise AlreadyReversed(
            f"transfer {original.key!r} of {original.amount} {original.currency} has {left} left to reverse"
            + ("" if whole_rest else f", and {wanted.amount} was asked for")
            + " (minor units)",
            key=original.key,
            left=left,
        )
    return wanted._replace(amount=left) if whole_rest else wanted


def _note(original: Transfer, wanted: Intent, already: int, transfer_id: int) -> Plan[None]:
    noted = yield step(
        "reversing.note",
        original_id=original.id,
        already=already,
        amount=wanted.amount,
        original_amount=original.amount,
        transfer_id=transfer_id,
    )
    if not noted:
        # Only a writer who passes the account locks by can come here; the unique index is the last referee.
        raise AlreadyReversed(
            f"transfer {original.key!r} was reversed by somebody else in the meantime",
            key=original.key,
            left=0,
        )
