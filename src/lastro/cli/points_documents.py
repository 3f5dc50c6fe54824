"""
Points as JSON documents with stable keys: every number of points is a string, every moment ISO 8601 in UTC.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from lastro.points.activities import Activity, Earning
from lastro.points.lots import Lot
from lastro.points.rebuilding import Rebuilt
from lastro.points.rules import Rule


def rule_document(rule: Rule) -> dict[str, Any]:
    """
    Return a rule in one version; `cap` and `lot_days` are null where there is none.
    """
    return {
        "name": rule.name,
        "version": rule.version,
        "activity": rule.activity,
        "points": str(rule.points),
        "currency": rule.currency,
        "cap": None if rule.cap is None else str(rule.cap),
        "period": rule.period,
        "time_zone": rule.time_zone,
        "priority": rule.priority,
        "beyond_cap": rule.beyond_cap,
        "lot_days": rule.lot_days,
        "defined_at": rule.defined_at.isoformat(),
    }


def activity_document(activity: Activity) -> dict[str, Any]:
    """
    Return an activity with what it has earned by which rule.
    """
    return {
        "key": activity.key,
        "activity": activity.kind,
        "member": activity.member,
        "units": activity.units,
        "occurred_at": activity.occurred_at.isoformat(),
        "recorded_at": activity.recorded_at.isoformat(),
        "cancelled_at": _moment(activity.cancelled_at),
        "earnings": [earning_document(earning) for earning in activity.earnings],
    }


def earning_document(earning: Earning) -> dict[str, Any]:
    """
    Return what an activity has earned by one rule.
    """
    return {
        "rule": earning.rule,
        "version": earning.version,
        "amount": str(earning.amount),
        "currency": earning.currency,
    }


def rebuilt_document(rebuilt: Rebuilt) -> dict[str, Any]:
    """
    Return what a rebuild did, or would do.
    """
    return {
        "rule": rebuilt.rule,
        "version": rebuilt.version,
        "since": rebuilt.since.isoformat(),
        "until": rebuilt.until.isoformat(),
        "members": rebuilt.members,
        "changes": rebuilt.changes,
        "given": str(rebuilt.given),
        "taken": str(rebuilt.taken),
        "dry_run": rebuilt.dry_run,
    }


def lot_document(lot: Lot) -> dict[str, Any]:
    """
    Return a lot that still holds points; `expires_at` is null where it never expires.
    """
    return {
        "transfer_id": lot.transfer_id,
        "part": lot.part,
        "left_over": str(lot.left_over),
        "earned_at": lot.earned_at.isoformat(),
        "expires_at": _moment(lot.expires_at),
    }


def _moment(moment: datetime | None) -> str | None:
    return None if moment is None else moment.isoformat()
