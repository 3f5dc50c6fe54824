"""
Reading balances and entries.
"""

from __future__ import annotations

from datetime import datetime

from lastro.model.account import Balance
from lastro.model.directory import Directory
from lastro.model.transfer import Entry
from lastro.plans.accounts import find_facts, refuse_unknown
from lastro.plans.plan import Plan, step
from lastro.plans.stored import read_balance, read_entry


def balance(name: str, currency: str, *, at: datetime | None) -> Plan[Balance]:
    """
    Return posted, held and available of one account in one snapshot; or what was posted up to the moment *at*.
    """
    if at is None:
        rows = yield step("reading.balance", name=name, currency=currency)
    else:
        rows = yield step("reading.balance_at", name=name, currency=currency, at=at)
    if not rows:
        yield from refuse_unknown(name, currency)
    return read_balance(rows[0])


def entries(name: str, currency: str, *, after: int | None, limit: int, directory: Directory) -> Plan[list[Entry]]:
    """
    Return up to *limit* entries of one account, oldest first, after the transfer id *after*.
    """
    found = yield from find_facts(directory, ((name, currency),))
    if (name, currency) not in found:
        yield from refuse_unknown(name, currency)
    facts = found[name, currency]
    rows = yield step("reading.entries", account_id=facts.id, after=after or 0, rows_max=limit)
    return [read_entry(row) for row in rows]
