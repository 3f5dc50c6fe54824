"""
Looking at accounts: what is stored of them beside what their history says, in one snapshot.
"""

from __future__ import annotations

from collections.abc import Sequence

from lastro.plans.drift import Look, read_look
from lastro.plans.plan import TOGETHER, Plan, step


def look_at(account_ids: Sequence[int], *, settled_id: int, full: bool) -> Plan[list[Look]]:
    """
    Look at some accounts by one statement: on from where their sums were noted, or in *full* at all of their history.
    """
    yield TOGETHER
    yield step("reconciling.prefer_indexes")
    rows = yield step("reconciling.compare", account_ids=list(account_ids), settled_id=settled_id, full_pass=full)
    return [read_look(row) for row in rows]
