"""
Capturing a hold: a transfer of money that was set aside, by one statement where the account is kept direct.
"""

from __future__ import annotations

from datetime import UTC
from typing import Any, NamedTuple

from lastro.errors import (
    AccountClosed,
    CurrencyMismatch,
    HoldExceeded,
    InsufficientFunds,
    InvalidInput,
    KindNotAllowed,
    PeriodClosed,
    TransferConflict,
    UnknownAccount,
)
from lastro.model.account import Facts
from lastro.model.hold import Captured, Hold
from lastro.model.limits import BALANCE_MAX, BALANCE_MIN, LOOKS_MAX, UNLOCKED_BASE_MAX
from lastro.model.transfer import Intent, Transfer
from lastro.plans.accounts import kept_changing, sides_of
from lastro.plans.ending import Notes, OpenHold, note, open_holds
from lastro.plans.holds import Known, closed, identify_to_end, standing_of
from lastro.plans.locked import judge, lock_sides, write_locked
from lastro.plans.plan import Plan, Row, step
from lastro.plans.rules import refuse_by_rules
from lastro.plans.standing import Standing
from lastro.plans.stored import whole
from lastro.plans.transfers import Terms, created, find_transfer, needs_lock, params_of, replay
from lastro.plans.waiting import patiently


class Asked(NamedTuple):
    """
    A capture that somebody wants of one hold. Where `whole_rest`, the intent's amount is all that may be left.

    `final` says that what remains of the hold afterwards is given back at once.
    """

    found: Known
    wanted: Intent
    whole_rest: bool
    final: bool

    @property
    def amount(self) -> int | None:
        """The amount that was asked for; None for all that is left."""
        return None if self.whole_rest else self.wanted.amount


def capture(hold_key: str, wanted: Intent, terms: Terms, *, whole_rest: bool, final: bool) -> Plan[Captured]:
    """
    Transfer money of a hold, once. *wanted* is filled in here: its debit side is the hold's account.

    Raises UnknownHold, HoldClosed, HoldExceeded, TransferConflict and what a posting raises.
    """
    found = yield from identify_to_end(hold_key)
    asked = asked_of(found, wanted, whole_rest=whole_rest, final=final)
    try:
        yield from refuse_by_rules(asked.wanted, terms)
        return (yield from _capture(asked, terms))
    except (AccountClosed, UnknownAccount, CurrencyMismatch, KindNotAllowed, PeriodClosed):
        # A retry of what was captured before a closing is a replay.
        replayed = yield from _replayed(asked)
        if replayed is None:
            raise
        return replayed


def asked_of(found: Known, wanted: Intent, *, whole_rest: bool, final: bool) -> Asked:
    """
    Return the capture of one hold: its account, its currency, and its cause where none was given.
    """
    placed = found.placed
    if wanted.credit == placed.account:
        raise InvalidInput(
            f"hold {placed.key!r} is on {placed.account!r}, which can't be captured to itself: release the hold",
            argument="credit",
        )
    filled = wanted._replace(
        debit=placed.account,
        currency=placed.currency,
        amount=placed.amount if whole_rest else wanted.amount,
        cause=placed.cause if wanted.cause is None else wanted.cause,
    )
    return Asked(found, filled, whole_rest, final)


def _capture(asked: Asked, terms: Terms) -> Plan[Captured]:
    debit, credit = yield from sides_of(terms.directory, asked.wanted)
    statement = _statement(asked, debit, credit)
    if statement is not None:
        params: dict[str, Any] = params_of(asked.wanted, debit, credit, terms.now)
        params.update(
            amount=asked.amount,
            hold_id=asked.found.id,
            final=asked.final,
            balance_min=BALANCE_MIN,
            balance_max=BALANCE_MAX,
            unlocked_base_max=UNLOCKED_BASE_MAX,
            lock_timeout=f"{terms.lock_timeout_ms}ms",
        )
        rows = yield step(statement, **params)
        if rows:
            return _captured_at_once(asked, rows[0])
        yield step("session.give_lock_wait_back")
    return (yield from patiently(capture_locked(asked, terms), terms.lock_timeout_ms))


def _statement(asked: Asked, debit: Facts, credit: Facts) -> str | None:
    """
    Return the statement that can do it at once; None where a sum must be known under the lock first.
    """
    if debit.keeping != "direct" or debit.state != "open" or asked.wanted.amount > asked.found.placed.amount:
        return None
    if credit.keeping == "direct" and credit.state == "open":
        return "capturing.capture_to_direct"
    return None if needs_lock(credit, asked.wanted, "credit") else "capturing.capture_to_unlocked"


def _captured_at_once(asked: Asked, row: Row) -> Captured:
    transfer = created(asked.wanted._replace(amount=row["amount"]), row)
    left, guard = whole(row, "left_over"), row["guard_ends_at"]
    hold = asked.found.placed._replace(
        captured=whole(row, "captured"),
        released=whole(row, "released"),
        left=left,
        state="open" if left else "captured",
        guarded_until=guard.astimezone(UTC) if left and guard is not None else None,
        ended_at=None if left else transfer.recorded_at,
    )
    return Captured(transfer, whole(row, "given_back"), hold, replayed=False)


def capture_locked(asked: Asked, terms: Terms) -> Plan[Captured]:
    """
    Capture with the hold's account locked, and the credit account where it has to be judged; works for every keeping.

    Nothing is written before all is judged.
    """
    lock_both = False
    for _ in range(LOOKS_MAX):
        sides = yield from sides_of(terms.directory, asked.wanted)
        locked = yield from lock_sides(asked.wanted, sides, terms, lock_both=lock_both, lock_debit=True)
        replayed = yield from _replayed(asked)
        if replayed is not None:
            return replayed
        if locked is not None:
            held = (yield from open_holds([asked.found.id])).get(asked.found.id)
            if held is None:
                raise (yield from closed(asked.found))
            captured = yield from _write(asked, held, *locked, terms=terms)
            if captured is not None:
                return captured
        terms.directory.forget(sides)
        lock_both = True
    raise kept_changing((asked.wanted.debit, asked.wanted.credit))


def _write(
    asked: Asked, held: OpenHold, debit: Standing | Facts, credit: Standing | Facts, *, terms: Terms
) -> Plan[Captured | None]:
    amount = held.left if asked.whole_rest else asked.wanted.amount
    wanted = asked.wanted._replace(amount=amount)
    _refuse_beyond(asked.found.placed, held, amount, debit)
    # What is held is covered, whatever the balance has become; only what is taken beyond it was judged above.
    judge(wanted, debit, credit, floor_guarded=False)
    rows = yield from write_locked(wanted, debit, credit, terms)
    if not rows:
        # The key was taken on other accounts in the meantime, or an account isn't as believed.
        return (yield from _replayed(asked))
    transfer = created(wanted, rows[0])
    notes = Notes(wanted.cause, wanted.source, wanted.actor)
    events = [held.becomes("captured", amount, transfer_id=transfer.id, notes=notes)]
    released = held.left if asked.final else 0
    if released:
        events.append(held.becomes("released", released, transfer_id=transfer.id, notes=notes))
    # One moment for both, also where the store has no moment of the transaction.
    noted = yield from note(events, [held], now=transfer.recorded_at)
    assert noted, "no event of a capture has a key"
    hold = yield from standing_of(asked.found.placed.key)
    return Captured(transfer, released, hold, replayed=False)


def _refuse_beyond(placed: Hold, held: OpenHold, amount: int, debit: Standing | Facts) -> None:
    beyond = amount - held.left
    if beyond <= 0:
        return
    if placed.capture_max is None or held.captured + amount > placed.capture_max:
        most = held.left if placed.capture_max is None else placed.capture_max - held.captured
        raise HoldExceeded(
            f"hold {placed.key!r} has {held.left} {placed.currency} left, of which at most {most} may be captured, "
            f"and {amount} was asked for (minor units); capture less, or place the hold with a capture_max",
            key=placed.key,
            needed=amount,
            left=held.left,
        )
    if not isinstance(debit, Standing) or debit.facts.floor is None:
        return
    available = debit.posted - debit.held
    if available - beyond < debit.facts.floor:
        raise InsufficientFunds(
            f"{beyond} {placed.currency} more than is left of hold {placed.key!r} was asked for, and account "
            f"{placed.account!r} has {available} available (minor units)",
            account=placed.account,
            currency=placed.currency,
            needed=beyond,
            available=available,
            floor=debit.facts.floor,
        )


def _replayed(asked: Asked) -> Plan[Captured | None]:
    """
    Return the first answer where the key's transfer is this capture; TransferConflict where it is anything else.
    """
    stored = yield from find_transfer(asked.wanted.key)
    if stored is None:
        return None
    return (yield from replay_capture(asked, stored))


def replay_capture(asked: Asked, stored: Transfer) -> Plan[Captured]:
    """
    Return *stored* as a replayed capture, or raise TransferConflict with the fields that differ.
    """
    placed = asked.found.placed
    posted = replay(stored, asked.wanted._replace(amount=stored.amount) if asked.whole_rest else asked.wanted)
    rows = yield step("holds.events", hold_id=asked.found.id)
    parts = [row for row in rows if row["transfer_id"] == stored.id]
    if not parts:
        raise _other_capture(asked, "hold", None, placed.key)
    released = sum(whole(row, "amount") for row in parts if row["kind"] == "released")
    kept = whole(parts[0], "left_after") - released
    if (asked.final and kept) or (not asked.final and released):
        raise _other_capture(asked, "final", not kept, asked.final)
    hold = yield from standing_of(placed.key)
    return Captured(posted.transfer, released, hold, replayed=True)


def _other_capture(asked: Asked, field: str, there: object, given: object) -> TransferConflict:
    key = asked.wanted.key
    return TransferConflict(
        f"key {key!r} already names another transfer ({field}: stored {there!r}, given {given!r}); one key names one "
        "intended capture: find out which of the two is meant before anything else is posted",
        key=key,
        fields={field: (there, given)},
    )
