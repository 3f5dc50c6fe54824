"""
Readings of work that waits, as ages: the tail, settlement by market, the outbox by topic, holds, drift.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from lastro.doctor.probe import ROWS_MAX, SLOWLY_S, Look, Probe, named
from lastro.doctor.readings import Reading
from lastro.plans.plan import Row, Rows

# Oldest first, so what lies beyond is younger.
SCANNED_MAX: Final = 1_000
TAIL_ACCOUNTS_MAX: Final = 100
INCIDENTS_TOLD_MAX: Final = 20


def tail(rows: Rows, _: Look) -> Iterable[Reading]:
    """How long the oldest entry of each account has waited to be folded in."""
    return _ages("tail_age", rows, lambda row: named(row["account"], row["currency"]), ())


def settlement(rows: Rows, _: Look) -> Iterable[Reading]:
    """How long each market's result has waited to be settled through."""
    return _ages("settlement_age", rows, lambda row: row["market"], ("version", "bets"))


def outbox(rows: Rows, _: Look) -> Iterable[Reading]:
    """How long the oldest event of each topic has waited to be acknowledged."""
    return _ages("outbox_age", rows, lambda row: row["topic"], ("events",))


def imports(rows: Rows, _: Look) -> Iterable[Reading]:
    """How long the oldest file of each status has waited to be merged."""
    return _ages("imports_age", rows, lambda row: row["status"], ("files",))


def holds(rows: Rows, _: Look) -> Iterable[Reading]:
    """How far past their deadlines holds are."""
    yield Reading("holds_overdue_age", rows[0]["age_s"], "s", detail={"holds": rows[0]["holds"]})


def incidents(rows: Rows, _: Look) -> Iterable[Reading]:
    """Drift that nobody has explained."""
    told = [
        {
            "id": row["id"],
            "account": row["account"],
            "currency": row["currency"],
            "rule": row["rule"],
            "expected": row["expected"],
            "found": row["found"],
            "opened_at": row["opened_at"].isoformat(),
        }
        for row in rows
    ]
    yield Reading(
        "open_incidents", len(told), "incidents", detail={"incidents": told, "counted_max": INCIDENTS_TOLD_MAX}
    )


def _ages(name: str, rows: Rows, subject: Callable[[Row], str], more: Iterable[str]) -> Iterable[Reading]:
    # The oldest of all comes first and has no subject; 0 where nothing waits, so that its line never breaks off.
    yield Reading(name, max((row["age_s"] or 0.0 for row in rows), default=0.0), "s")
    for row in rows:
        yield Reading(name, row["age_s"], "s", subject(row), {key: row[key] for key in more})


PROBES: Final = (
    Probe("tail", "doctor_backlogs.tail", tail, {"rows_max": TAIL_ACCOUNTS_MAX}, of_ledger=True),
    Probe("settlement", "doctor_backlogs.settlement", settlement, {"rows_max": ROWS_MAX}, of_ledger=True),
    Probe("outbox", "doctor_backlogs.outbox", outbox, {"scanned_max": SCANNED_MAX}, of_ledger=True),
    Probe("imports", "doctor_backlogs.imports", imports, {"scanned_max": SCANNED_MAX}, of_ledger=True),
    Probe("holds", "doctor_backlogs.holds", holds, {"scanned_max": SCANNED_MAX}, of_ledger=True),
    Probe(
        "incidents",
        "doctor_backlogs.incidents",
        incidents,
        {"rows_max": INCIDENTS_TOLD_MAX},
        every_s=SLOWLY_S,
        of_ledger=True,
    ),
)
