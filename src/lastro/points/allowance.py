"""
Room under a cap: how much of it one member has used up in one period, kept as a sum under the lock of the account.
"""

from __future__ import annotations

from datetime import datetime

from lastro.errors import CapExceeded
from lastro.model.periods import Stretch
from lastro.plans.plan import Plan, step
from lastro.plans.stored import whole
from lastro.points.periods import period_around
from lastro.points.rules import Rule


def take_room(rule: Rule, asked: int, occurred_at: datetime, *, account_id: int, member_id: int) -> Plan[int]:
    """
    Return how many of the points *asked* for the cap allows, and use that much of it up.

    CapExceeded where they don't all fit and the rule refuses what doesn't. One row is read and one written, however
    much the member did before; the first use in a period, or of a new version of the rule, adds that period up once.
    """
    if rule.cap is None:
        return asked
    period = period_around(occurred_at, rule.period, rule.time_zone)
    used = yield from _used(rule, period, account_id=account_id, member_id=member_id)
    granted = rule.fitting(asked, used)
    if granted < asked and rule.beyond_cap == "refuse":
        raise CapExceeded(
            f"rule {rule.name!r} gives at most {rule.cap} {rule.currency} "
            + ("in all" if rule.period == "ever" else f"a {rule.period}")
            + f"; {used} are used, and {asked} were asked for: nothing was written",
            rule=rule.name,
            cap=rule.cap,
            used=used,
            asked=asked,
        )
    if granted:
        yield from keep_room(rule, period, used + granted, account_id=account_id)
    return granted


def keep_room(rule: Rule, period: Stretch, used: int, *, account_id: int) -> Plan[None]:
    """
    Keep that *used* points of the rule's cap are taken in *period*.
    """
    yield step(
        "points_earning.keep_room",
        account_id=account_id,
        rule=rule.name,
        version=rule.version,
        period_start=period.start,
        used=used,
    )


def give_room_back(rule: Rule, amount: int, occurred_at: datetime, *, account_id: int) -> Plan[None]:
    """
    Give back what an activity took of the cap in the period in which it happened.
    """
    if rule.cap is None:
        return
    yield step(
        "points_earning.give_room_back",
        account_id=account_id,
        rule=rule.name,
        version=rule.version,
        period_start=period_around(occurred_at, rule.period, rule.time_zone).start,
        amount=amount,
    )


def _used(rule: Rule, period: Stretch, *, account_id: int, member_id: int) -> Plan[int]:
    rows = yield step(
        "points_earning.room",
        account_id=account_id,
        rule=rule.name,
        version=rule.version,
        period_start=period.start,
    )
    if not rows:
        rows = yield step(
            "points_earning.earned_in_period",
            member_id=member_id,
            kind=rule.activity,
            rule=rule.name,
            period_start=period.start,
            period_end=period.end,
        )
    return whole(rows[0], "used")
