"""
Adjusting: one entry that lets an account's history say what is stored of it; what is stored is never changed.
"""

from __future__ import annotations

from datetime import datetime
from typing import Final

from lastro.errors import TransferConflict
from lastro.model.account import WORLD
from lastro.model.limits import ADJUSTMENT_LOCK_TIMEOUT_MS, AMOUNT_MAX
from lastro.model.text import metadata_json
from lastro.plans.comparing import look_at
from lastro.plans.drift import Look
from lastro.plans.plan import Plan, Row, step
from lastro.plans.transfers import find_transfer
from lastro.plans.waiting import patiently

KIND: Final = "adjustment"
ACTOR: Final = "reconciler"


def adjust(account_id: int, incident_id: int, *, now: datetime | None) -> Plan[bool]:
    """
    Write the adjustment of an incident, once, where the balance still differs; return whether it was written now.

    The account's base row is locked, so that the entry stands in the chain where it belongs. A balance kept summed is
    its own history: no entry can change by how much it differs. Raises TransferConflict where the key of the adjustment
    names a transfer that isn't one.
    """
    return (yield from patiently(_adjust(account_id, incident_id, now=now), ADJUSTMENT_LOCK_TIMEOUT_MS))


def _adjust(account_id: int, incident_id: int, *, now: datetime | None) -> Plan[bool]:
    locked = yield step("adjusting.lock", account_id=account_id, world=WORLD)
    if not locked:
        return False
    # In a following statement, which sees what was committed while ours waited, and reads all of the history.
    (look,) = yield from look_at([account_id], settled_id=0, full=True)
    difference = look.stored - look.history
    if look.keeping == "summed" or not 0 < abs(difference) <= AMOUNT_MAX:
        return False
    entry = _entry(look, difference, locked[0], incident_id)
    written = yield step("adjusting.write", **entry, now=now)
    if not written:
        yield from _refuse_taken(entry)
    return bool(written)


def _refuse_taken(entry: dict[str, object]) -> Plan[None]:
    stored = yield from find_transfer(str(entry["key"]))
    if stored is None:
        return
    pairs = {name: (getattr(stored, name), entry[name]) for name in ("kind", "cause", "source")}
    fields = {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}
    if fields:
        raise TransferConflict(
            f"key {stored.key!r} names a transfer that isn't the adjustment of this incident ({', '.join(fields)}): the "
            "account can't be adjusted under it; find out whose transfer that is",
            key=stored.key,
            fields=fields,
        )


def _entry(look: Look, difference: int, locked: Row, incident_id: int) -> dict[str, object]:
    credited, world_id = difference > 0, locked["world_id"]
    # Balances stand on the entries of accounts kept direct alone, as of every other transfer.
    before, after = (look.history, look.stored) if look.keeping == "direct" else (None, None)
    return {
        "key": f"{KIND}:{incident_id}",
        "debit_id": world_id if credited else look.account_id,
        "credit_id": look.account_id if credited else world_id,
        "amount": abs(difference),
        "debit_before": None if credited else before,
        "debit_after": None if credited else after,
        "credit_before": before if credited else None,
        "credit_after": after if credited else None,
        "kind": KIND,
        "cause": f"incident:{incident_id}",
        "source": "reconciliation",
        "actor": ACTOR,
        "metadata": metadata_json({"history": str(look.history), "stored": str(look.stored)}),
    }
