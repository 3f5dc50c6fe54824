"""
Consolidating: fold the tail into the base amounts, one account and one bounded batch a transaction.
"""

from __future__ import annotations

from datetime import datetime

from lastro.model.limits import CONSOLIDATION_ACCOUNTS_MAX
from lastro.plans.plan import Plan, step


def accounts_with_tail() -> Plan[list[int]]:
    """
    Return the ids of accounts that have something to fold in, a bounded number of them.
    """
    rows = yield step("consolidating.accounts_with_tail", accounts_max=CONSOLIDATION_ACCOUNTS_MAX)
    return [row["account_id"] for row in rows]


def fold(account_id: int, *, rows_max: int, now: datetime | None) -> Plan[int]:
    """
    Fold one batch of an account's tail into its base amount; return the number of rows, 0 when nothing was there.
    """
    rows = yield step("consolidating.fold", account_id=account_id, rows_max=rows_max, now=now)
    return rows[0]["rows_taken"] if rows else 0
