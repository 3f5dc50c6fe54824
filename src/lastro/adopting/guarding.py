"""
The triggers on the old column, which refuse its writing once the ledger is the truth: making them, and taking them away.
"""

from __future__ import annotations

from lastro.adopting import records
from lastro.adopting.own_table import OwnTable
from lastro.adopting.words import ENDED
from lastro.model.limits import ADOPTION_LOCK_TIMEOUT_MS
from lastro.plans.plan import TOGETHER, Plan, Step, step


def put_guard(table: OwnTable, ledger: str) -> Plan[None]:
    """
    Put the triggers on the table, where they aren't there. They let everything pass until the phase is `ledger`.
    """
    yield from _alone(ledger)
    if (yield from records.phase_of(table.column.name)) in ENDED:
        # Abandoned meanwhile: the cut-over itself says so.
        return
    rows = yield step("adopting.compose_guard", **records.guard_terms(table.column, ledger))
    if rows[0]["script"]:
        yield Step("script", {}, script=rows[0]["script"])


def remove_guard(table: OwnTable, ledger: str) -> Plan[bool]:
    """
    Take the triggers away, unless the phase is `ledger`; say whether there were any.
    """
    given = records.guard_terms(table.column, ledger)
    yield from _alone(ledger)
    if (yield from records.phase_of(table.column.name)) == "ledger":
        # Somebody cut over again meanwhile.
        return False
    if not (yield step("adopting.guards", **given))[0]["guards"]:
        return False
    rows = yield step("adopting.compose_removal", **given)
    yield Step("script", {}, script=rows[0]["script"])
    return True


def guarded(table: OwnTable, ledger: str) -> Plan[bool]:
    """
    Say whether all the triggers are there, and let nobody take them away until the transaction ends.
    """
    yield step("schema.lock", ledger=ledger)
    # In a following statement, which sees what was dropped while ours waited.
    rows = yield step("adopting.guards", **records.guard_terms(table.column, ledger))
    return bool(rows[0]["guarded"])


def _alone(ledger: str) -> Plan[None]:
    # Under the lock of the schema, which a cut-over takes as well: on MariaDB making and dropping a trigger commits, so
    # the lock on the phase is gone by then, and the phase might be another one.
    yield TOGETHER
    yield step("schema.limit_lock_wait", lock_timeout=f"{ADOPTION_LOCK_TIMEOUT_MS}ms")
    yield step("schema.lock", ledger=ledger)
