"""
Reading balances and entries.
"""

from __future__ import annotations

from datetime import datetime

from lastro.model.account import Balance
from lastro.model.statement import By
from lastro.model.transfer import Entry
from lastro.plans.accounts import get_account, refuse_unknown
from lastro.plans.moments import standing_at
from lastro.plans.plan import Plan, step
from lastro.plans.stored import read_balance, read_entry


def balance(name: str, currency: str, *, at: datetime | None, by: By) -> Plan[Balance]:
    """
    Return posted, held and available of one account in one snapshot; or what was posted up to the moment *at*.
    """
    if at is not None:
        then = yield from standing_at(name, currency, at=at, by=by)
        return Balance(then.account, then.currency, then.posted, 0, then.posted)
    rows = yield step("reading.balance", name=name, currency=currency)
    if not rows:
        yield from refuse_unknown(name, currency)
    return read_balance(rows[0])


def entries(name: str, currency: str, *, after: int | None, limit: int) -> Plan[list[Entry]]:
    """
    Return up to *limit* entries of one account, oldest first, after the transfer id *after*.
    """
    rows = yield step("reading.entries", name=name, currency=currency, after=after or 0, rows_max=limit)
    if not rows:
        # An account without entries, or no account.
        yield from get_account(name, currency)
    return [read_entry(row) for row in rows]
