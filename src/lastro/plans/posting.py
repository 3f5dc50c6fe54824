"""
Posting one transfer: the leanest statement for the two accounts first, the locked way where that wrote nothing.
"""

from __future__ import annotations

from lastro.errors import AccountClosed, CurrencyMismatch, KindNotAllowed, PeriodClosed, UnknownAccount
from lastro.model.account import WORLD, Facts
from lastro.model.limits import BALANCE_MAX, BALANCE_MIN, UNLOCKED_BASE_MAX
from lastro.model.transfer import Intent, Posted
from lastro.plans.accounts import sides_of
from lastro.plans.locked import post_locked
from lastro.plans.plan import Plan, Step, step
from lastro.plans.rules import refuse_by_rules
from lastro.plans.transfers import Terms, created, find_transfer, needs_lock, params_of, replay


def post(wanted: Intent, terms: Terms, *, floor_guarded: bool = True) -> Plan[Posted]:
    """
    Post *wanted* once; the first transfer again, marked replayed, where its key is there with the same content.

    Raises TransferConflict, InsufficientFunds, UnknownAccount, AccountClosed, CurrencyMismatch, AmountOutOfRange,
    KindNotAllowed, PeriodClosed.
    """
    try:
        yield from refuse_by_rules(wanted, terms)
        if not floor_guarded:
            return (yield from post_locked(wanted, terms, floor_guarded=False))
        return (yield from _post(wanted, terms))
    except (AccountClosed, UnknownAccount, CurrencyMismatch, KindNotAllowed, PeriodClosed):
        # Once-only is judged before all of these: a retry of what was posted before a closing is a replay.
        stored = yield from find_transfer(wanted.key)
        if stored is None:
            raise
        return replay(stored, wanted)


def _post(wanted: Intent, terms: Terms) -> Plan[Posted]:
    debit, credit = yield from sides_of(terms.directory, wanted)
    if not needs_lock(debit, wanted, "debit") and not needs_lock(credit, wanted, "credit"):
        rows = yield _one_statement(wanted, debit, credit, terms)
        if rows:
            return Posted(created(wanted, rows[0]), replayed=False)
        yield step("session.give_lock_wait_back")
        # Once-only is judged before funds, and in a following statement: the rival whose key we met has committed by
        # now, and only a new snapshot sees it.
        stored = yield from find_transfer(wanted.key)
        if stored is not None:
            return replay(stored, wanted)
        # The funds don't cover it, or the accounts changed since we learnt of them.
        terms.directory.forget((debit, credit))
    return (yield from post_locked(wanted, terms))


def _one_statement(wanted: Intent, debit: Facts, credit: Facts, terms: Terms) -> Step:
    params = params_of(wanted, debit, credit, terms.now)
    params["unlocked_base_max"] = UNLOCKED_BASE_MAX
    params["lock_timeout"] = f"{terms.lock_timeout_ms}ms"
    if debit.keeping != "direct" and credit.keeping != "direct":
        lean = debit.name == WORLD and credit.keeping == "hot"
        return Step("posting.post_to_hot" if lean else "posting.post_unlocked", params)
    params["balance_min"] = BALANCE_MIN
    params["balance_max"] = BALANCE_MAX
    return Step(_direct_statement(debit, credit), params)


def _direct_statement(debit: Facts, credit: Facts) -> str:
    if debit.name == WORLD:
        return "single.credit"
    if credit.name == WORLD:
        return "single.debit"
    match (debit.keeping, credit.keeping):
        case ("direct", "direct"):
            return "direct.post_both"
        case ("direct", _):
            return "direct.post_debit"
        case _:
            return "direct.post_credit"
