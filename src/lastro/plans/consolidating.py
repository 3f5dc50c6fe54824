"""
Consolidating: fold the tail into the base amounts, one account and one bounded batch a transaction.
"""

from __future__ import annotations

from datetime import datetime

from lastro.model.limits import CONSOLIDATION_ACCOUNTS_MAX, CONSOLIDATION_LOCK_TIMEOUT_MS
from lastro.plans.plan import Plan, step
from lastro.plans.waiting import patiently


def accounts_with_tail(*, after_id: int = 0) -> Plan[list[int]]:
    """
    Return the ids of accounts above *after_id* that have something to fold in, in order, a bounded number of them.
    """
    rows = yield step("consolidating.accounts_with_tail", after_id=after_id, accounts_max=CONSOLIDATION_ACCOUNTS_MAX)
    return [row["account_id"] for row in rows]


def fold(account_id: int, *, rows_max: int, now: datetime | None) -> Plan[int]:
    """
    Fold one batch of an account's tail into its base amount; return the number of rows, 0 when nothing was there.

    Raises LockTimeout when somebody holds the base row: a debit left open must not hold up the other accounts.
    """
    return (yield from patiently(_fold(account_id, rows_max, now), CONSOLIDATION_LOCK_TIMEOUT_MS))


def _fold(account_id: int, rows_max: int, now: datetime | None) -> Plan[int]:
    rows = yield step("consolidating.fold", account_id=account_id, rows_max=rows_max, now=now)
    return rows[0]["rows_taken"] if rows else 0
