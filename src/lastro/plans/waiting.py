"""
Bounding what a plan of several statements waits and writes: the lock timeout, and the savepoint it undoes itself to.
"""

from __future__ import annotations

from typing import TypeVar

from lastro.errors import LastroError
from lastro.plans.plan import TOGETHER, Plan, step

T = TypeVar("T")


def patiently(plan: Plan[T], lock_timeout_ms: int) -> Plan[T]:
    """
    Run *plan* in one transaction with a limit on every wait for a lock; a limit of the caller's own stands.

    The caller's setting is given back at the end, also when the plan itself raises. A database's error never comes here
    and needs no giving back: its transaction is over.
    """
    yield TOGETHER
    rows = yield step("session.limit_lock_wait", lock_timeout=f"{lock_timeout_ms}ms")
    callers = rows[0]["callers"]
    try:
        result = yield from plan
    except LastroError:
        yield step("session.restore_lock_wait", lock_timeout=callers)
        raise
    yield step("session.restore_lock_wait", lock_timeout=callers)
    return result


def undone_when_refused(plan: Plan[T]) -> Plan[T]:
    """
    Run *plan* under a savepoint: a refusal takes back what the plan wrote and locked, and nothing else.
    """
    yield step("session.savepoint")
    try:
        result = yield from plan
    except LastroError:
        yield step("session.rollback_to_savepoint")
        yield step("session.release_savepoint")
        raise
    yield step("session.release_savepoint")
    return result
