"""
Sliced counters: a count that many transactions add to at once without waiting for each other.
"""

from __future__ import annotations

from lastro.model.limits import COUNTER_SLICES
from lastro.plans.plan import Plan, step
from lastro.plans.stored import whole


def bump(name: str, change: int, *, lock_timeout_ms: int) -> Plan[None]:
    """
    Add *change* to a counter in the surrounding transaction.
    """
    yield step("counting.bump", name=name, change=change, slices=COUNTER_SLICES, lock_timeout=f"{lock_timeout_ms}ms")


def count(name: str) -> Plan[int]:
    """
    Return a counter's value: the sum of its slices, 0 where it was never bumped.
    """
    rows = yield step("counting.count", name=name)
    return whole(rows[0], "value")
