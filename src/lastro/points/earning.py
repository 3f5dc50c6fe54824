"""
Earning: an activity is recorded once, and every rule for its kind gives what its cap still allows.
"""

from __future__ import annotations

from typing import NamedTuple

from lastro.errors import AccountClosed, CurrencyMismatch, UnknownAccount
from lastro.model.limits import LOOKS_MAX
from lastro.plans.accounts import AccountKey, kept_changing
from lastro.plans.plan import Plan, Row, step
from lastro.plans.standing import Standing
from lastro.plans.transfers import Terms
from lastro.plans.waiting import patiently, undone_when_refused
from lastro.points.activities import Doing, Earned, Movement, earnings, find_activity, read_activity, refuse_other
from lastro.points.allowance import take_room
from lastro.points.defining import rules_for
from lastro.points.holding import ISSUED, hold, open_counterpart, opened_since
from lastro.points.members import accounts_ready, member_id, refuse_taken
from lastro.points.moving import Source, give_points
from lastro.points.rules import Rule, points_asked

KIND = "earn"


class _Judged(NamedTuple):
    """The rules that speak, and how the accounts stand that they may credit."""

    rules: list[Rule]
    held: dict[AccountKey, Standing]


def earn(asked: Doing, terms: Terms) -> Plan[Earned]:
    """
    Record an activity once and post what it earns; the activity as it stands, marked replayed, where its key is there.

    The rules are read under the lock of the member's accounts, so that no earning goes by a rule that a rebuild of that
    member has already put aside. Raises ActivityConflict, CapExceeded,
    AmountOutOfRange; AccountConflict where the name is that of an account with a balance which is no member's.
    """
    return (yield from patiently(undone_when_refused(_earn(asked, terms)), terms.lock_timeout_ms))


def _earn(asked: Doing, terms: Terms) -> Plan[Earned]:
    try:
        judged = yield from _hold_what_rules_credit(asked, terms)
    except AccountClosed:
        # Once-only is judged before the accounts: a retry of what was earned before a closing is a replay.
        if (replayed := (yield from _replay(asked))) is None:
            raise
        return replayed
    noted = yield from _note(asked, judged.held, terms)
    if noted is None:
        replayed = yield from _replay(asked)
        assert replayed is not None, "whoever held the key has committed, and activity is never deleted"
        return replayed
    activity = read_activity({**noted, "key": asked.key, "kind": asked.kind, "member": asked.member,
                              "units": asked.units, "cancelled_at": None}, ())  # fmt: skip
    source = Source(noted["id"], activity, KIND, asked.actor)
    moved: list[Movement] = []
    for rule in judged.rules:
        account = judged.held[asked.member, rule.currency]
        granted = yield from take_room(
            rule,
            points_asked(rule, asked.units),
            activity.occurred_at,
            account_id=account.facts.id,
            member_id=noted["member_id"],
        )
        if granted:
            moved.append((yield from give_points(source, rule, granted, number=1, to=account, terms=terms)))
    return Earned(activity._replace(earnings=earnings(moved)), replayed=False)


def _replay(asked: Doing) -> Plan[Earned | None]:
    """
    Return the activity that holds the key as it stands; None where nobody holds it. ActivityConflict.
    """
    stored = yield from find_activity(asked.key)
    if stored is None:
        return None
    refuse_other(stored.activity, asked)
    return Earned(stored.activity, replayed=True)


def _hold_what_rules_credit(asked: Doing, terms: Terms) -> Plan[_Judged]:
    """
    Hold the member's account in every currency that a rule gives, and return the rules as they are under those locks.
    """
    for _ in range(LOOKS_MAX):
        rules = yield from rules_for(asked.kind)
        currencies = sorted({rule.currency for rule in rules})
        for currency in currencies:
            yield from open_counterpart(ISSUED, currency, terms)
            yield from accounts_ready([asked.member], currency, terms)
        try:
            held = yield from hold([(asked.member, currency) for currency in currencies], terms)
        except (UnknownAccount, CurrencyMismatch) as unknown:
            raise opened_since(asked.member, unknown.currency) from unknown
        if held is None:
            continue
        rules = yield from rules_for(asked.kind)
        if all((asked.member, rule.currency) in held for rule in rules):
            return _Judged(rules, held)
    raise kept_changing((asked.member,))


def _note(asked: Doing, held: dict[AccountKey, Standing], terms: Terms) -> Plan[Row | None]:
    """
    Write the activity; None where its key is taken.
    """
    wanted = step(
        "points_earning.note_activity",
        key=asked.key,
        kind=asked.kind,
        member=asked.member,
        units=asked.units,
        occurred_at=asked.occurred_at,
        now=terms.now,
    )
    rows = yield wanted
    if not rows and (yield from find_activity(asked.key)) is None:
        # A member whose activity no rule has given anything for yet; or an account that was somebody's before.
        for (name, currency), standing in held.items():
            refuse_taken(name, currency, standing.posted)
        yield from member_id(asked.member, terms)
        rows = yield wanted
    return rows[0] if rows else None
