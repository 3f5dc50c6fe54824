"""
Spending points, giving them to another member, and putting a spend back: what a balance and its lots do together.
"""

from __future__ import annotations

from typing import Final

from lastro.errors import (
    AccountClosed,
    CurrencyMismatch,
    InsufficientFunds,
    KindNotAllowed,
    UnknownAccount,
    UnknownTransfer,
    UnreadableRow,
)
from lastro.model.account import Facts
from lastro.model.limits import LOOKS_MAX
from lastro.model.transfer import Intent, Posted, Transfer
from lastro.plans.accounts import kept_changing, sides_of
from lastro.plans.locked import judge, lock_sides, write_locked
from lastro.plans.plan import Plan, step
from lastro.plans.reversing import reverse_within
from lastro.plans.rules import refuse_by_rules
from lastro.plans.standing import Standing
from lastro.plans.stored import whole
from lastro.plans.transfers import Terms, created, find_transfer, is_locked, replay
from lastro.plans.waiting import patiently, undone_when_refused
from lastro.points.lots import Credit, Policy, Use, in_lots, open_lots, pay_debt, put_back, take
from lastro.points.members import accounts_ready, member_id, refuse_taken

SPEND: Final = "spend"
GIVE: Final = "give"
REFUND: Final = "refund"


def spend(wanted: Intent, terms: Terms, *, policy: Policy) -> Plan[Posted]:
    """
    Post *wanted* from a member to a reward, never below zero, and take it out of the member's lots by *policy*.

    Locks the member's base row, and the reward's where it is kept direct. Raises InsufficientFunds, with what is `due`
    and waits for the expirer; KindNotAllowed where the reward is a member; what a posting raises.
    """
    return (yield from patiently(_unless_replayed(wanted, _move(wanted, terms, policy)), terms.lock_timeout_ms))


def give(wanted: Intent, terms: Terms, *, policy: Policy) -> Plan[Posted]:
    """
    Post *wanted* from one member to another, never below zero. Each part keeps the expiry of the lot it came from.

    A receiver who never had points of this currency gets an account. Locks both base rows, in account order.
    """
    return (
        yield from patiently(
            _unless_replayed(wanted, undone_when_refused(_give(wanted, terms, policy))), terms.lock_timeout_ms
        )
    )


def refund(spend_key: str, wanted: Intent, terms: Terms, *, whole_rest: bool) -> Plan[Posted]:
    """
    Reverse a spend, wholly or in part, and put the points back into the lots they came from, last taken first.

    What the member owes by then is paid out of them at once. A lot that has expired meanwhile is expired by the next
    tick. Locks both base rows. Raises UnknownTransfer, AlreadyReversed.
    """
    return (
        yield from patiently(
            undone_when_refused(_refund(spend_key, wanted, terms, whole_rest=whole_rest)), terms.lock_timeout_ms
        )
    )


def _unless_replayed(wanted: Intent, plan: Plan[Posted]) -> Plan[Posted]:
    try:
        return (yield from plan)
    except (AccountClosed, UnknownAccount, CurrencyMismatch):
        # Once-only is judged before the accounts: a retry of what was posted before a closing is a replay.
        stored = yield from find_transfer(wanted.key)
        if stored is None:
            raise
        return replay(stored, wanted)


def _give(wanted: Intent, terms: Terms, policy: Policy) -> Plan[Posted]:
    yield from accounts_ready([wanted.credit], wanted.currency, terms)
    try:
        return (yield from _move(wanted, terms, policy))
    except (UnknownAccount, CurrencyMismatch) as unknown:
        if unknown.account != wanted.credit:
            raise
    # What this process believed of the receiver was of a member who was erased; this one is new.
    yield from accounts_ready([wanted.credit], wanted.currency, terms)
    return (yield from _move(wanted, terms, policy))


def _move(wanted: Intent, terms: Terms, policy: Policy) -> Plan[Posted]:
    lock_both = wanted.kind == GIVE
    for _ in range(LOOKS_MAX):
        sides = yield from sides_of(terms.directory, wanted)
        # The member's lock guards the lots, however the account is kept.
        lock_both = lock_both or not is_locked(sides[0], wanted, "debit")
        locked = yield from lock_sides(wanted, sides, terms, lock_both=lock_both)
        stored = yield from find_transfer(wanted.key)
        if stored is not None:
            return replay(stored, wanted)
        yield from refuse_by_rules(wanted, terms)
        if locked is not None:
            debit, credit = locked
            assert isinstance(debit, Standing), "the member's base row is locked"
            yield from _refuse_beyond_lots(wanted, debit, credit, terms)
            if wanted.kind == GIVE:
                yield from _let_join(wanted, credit, terms)
            judge(wanted, debit, credit, floor_guarded=True)
            rows = yield from write_locked(wanted, debit, credit, terms)
            if rows:
                posted = created(wanted, rows[0])
                uses = yield from take(
                    debit.facts.id, posted.id, wanted.amount, policy=policy, now=terms.now, unexpired_only=True
                )
                if wanted.kind == GIVE:
                    yield from _hand_over(uses, posted, credit)
                return Posted(posted, replayed=False)
            stored = yield from find_transfer(wanted.key)
            if stored is not None:
                return replay(stored, wanted)
        # A side that we took for one that needs no lock has changed.
        terms.directory.forget(sides)
        lock_both = True
    raise kept_changing((wanted.debit, wanted.credit))


def _let_join(wanted: Intent, credit: Standing | Facts, terms: Terms) -> Plan[None]:
    """Let the receiver be a member, who may have an account already: AccountConflict where something is on it."""
    rows = yield step("points_members.find", name=wanted.credit)
    if not rows:
        assert isinstance(credit, Standing), "both members' base rows are locked"
        posted, _ = yield from _balance_of(credit)
        refuse_taken(wanted.credit, wanted.currency, posted)
        yield from member_id(wanted.credit, terms)


def _refuse_beyond_lots(wanted: Intent, debit: Standing, credit: Standing | Facts, terms: Terms) -> Plan[None]:
    """Raise where what the account has, less what is due, doesn't cover the amount."""
    posted, held = yield from _balance_of(debit)
    other = credit.facts if isinstance(credit, Standing) else credit
    lots = yield from in_lots(debit.facts.id, other_id=other.id, now=terms.now)
    if wanted.kind == SPEND and lots.other_is_members:
        raise KindNotAllowed(
            f"{wanted.credit!r} is a member: points go to a member by a gift, which keeps their expiry "
            "(ledger.points.give), and are spent on a reward that is nobody's",
            kind=wanted.kind,
            account=wanted.credit,
        )
    available = posted - held - lots.due
    if wanted.amount > available:
        waiting = f"; {lots.due} more are past their expiry and wait for the expirer" if lots.due else ""
        raise InsufficientFunds(
            f"member {wanted.debit!r} has {available} {wanted.currency} to spend{waiting}, and {wanted.amount} is needed",
            account=wanted.debit,
            currency=wanted.currency,
            needed=wanted.amount,
            available=available,
            floor=0,
            due=lots.due,
        )
    if wanted.amount > lots.points - lots.due:
        raise UnreadableRow(
            f"account {wanted.debit!r} in {wanted.currency} has {posted} posted and {lots.points} in its lots; somebody "
            "posted points past lastro.points: `lastro.testing.assert_balanced` names every such account",
            column="left_over",
        )


def _balance_of(side: Standing) -> Plan[tuple[int, int]]:
    if side.weighed:
        return side.posted, side.held
    # An account kept summed that no floor guards: a posting needn't know its balance, and points must.
    rows = yield step("locked.weigh_sides", account_ids=[side.facts.id])
    return whole(rows[0], "posted"), whole(rows[0], "held")


def _hand_over(uses: list[Use], posted: Transfer, credit: Standing | Facts) -> Plan[None]:
    """Open the receiver's lots for what was taken from the giver's, one for each earning and expiry among them."""
    assert isinstance(credit, Standing), "both members' base rows are locked"
    amounts: dict[tuple[object, object], Credit] = {}
    for use in uses:
        lot = use.lot
        part = amounts.get((lot.earned_at, lot.expires_at)) or Credit(
            credit.facts.id, posted.id, 0, lot.earned_at, lot.expires_at, part=len(amounts) + 1
        )
        amounts[lot.earned_at, lot.expires_at] = part._replace(amount=part.amount + use.amount)
    yield from open_lots(
        list(amounts.values()), posted_before=(yield from _before(posted, credit)), after_number=len(uses)
    )


def _refund(spend_key: str, wanted: Intent, terms: Terms, *, whole_rest: bool) -> Plan[Posted]:
    original = yield from find_transfer(spend_key)
    if original is None or original.kind != SPEND:
        found = "no transfer has it" if original is None else f"it names a transfer of the kind {original.kind!r}"
        raise UnknownTransfer(f"there is no spend with the key {spend_key!r} to refund: {found}", key=spend_key)
    done = yield from reverse_within(original, wanted, terms, whole_rest=whole_rest)
    if done.posted.replayed:
        return done.posted
    refunded, reward, member = done.posted.transfer, done.debit, done.credit
    assert isinstance(member, Standing), "both base rows are locked"
    back = yield from put_back(original, refunded.id, refunded.amount, already=done.already)
    yield from pay_debt(
        [use.lot._replace(left_over=use.amount) for use in back],
        refunded.id,
        posted_before=(yield from _before(refunded, member)),
        after_number=len(back),
    )
    # A reward that has become a member's account since: what it gives back goes out of its lots as well.
    assert isinstance(reward, Standing), "both base rows are locked"
    yield from take(reward.facts.id, refunded.id, refunded.amount, after_number=2 * len(back))
    return done.posted


def _before(posted: Transfer, credited: Standing) -> Plan[int]:
    """Return what the credited account had before *posted*, which was just written."""
    if posted.credit_before is not None:
        return posted.credit_before
    if credited.weighed:
        return credited.posted
    rows = yield step("locked.weigh_sides", account_ids=[credited.facts.id])
    return whole(rows[0], "posted") - posted.amount
