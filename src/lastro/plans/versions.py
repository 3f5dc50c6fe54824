"""
The schema's version: reading what was applied, and refusing what this code can't serve.
"""

from __future__ import annotations

from lastro.errors import SchemaOutdated
from lastro.plans.plan import Plan, step


def applied_migrations() -> Plan[dict[int, str]]:
    """
    Return the checksums of the migrations that were applied, by number; empty where there is no ledger yet.
    """
    rows = yield step("schema.exists")
    if not rows[0]["found"]:
        return {}
    rows = yield step("schema.applied")
    return {row["number"]: row["checksum"] for row in rows}


def check_version(ledger: str, expected: int) -> Plan[None]:
    """
    Raise SchemaOutdated where the ledger is missing, older than this code, or too new for it.
    """
    rows = yield step("schema.exists")
    if not rows[0]["found"]:
        raise SchemaOutdated(
            f"there is no ledger {ledger!r} in this database: run `lastro migrate` (or ledger.migrate())",
            found=None,
            expected=expected,
        )
    rows = yield step("schema.applied")
    found = max((row["number"] for row in rows), default=0)
    if found < expected:
        raise SchemaOutdated(
            f"ledger {ledger!r} is at version {found} and this code needs {expected}: "
            "run `lastro migrate` (or ledger.migrate())",
            found=found,
            expected=expected,
        )
    oldest_served = max((row["serves_from"] for row in rows), default=0)
    if oldest_served > expected:
        raise SchemaOutdated(
            f"ledger {ledger!r} is at version {found}, which serves code from version {oldest_served} on; "
            f"this code is of version {expected}: install a newer lastro",
            found=found,
            expected=expected,
        )
