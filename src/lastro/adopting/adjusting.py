"""
Adjusting: bringing the ledger to the old column, row by row, while that column is the truth; each with its reason.
"""

from __future__ import annotations

from functools import partial

from lastro.adopting import records
from lastro.adopting.bringing import ADJUSTMENT, bring
from lastro.adopting.own_table import OwnTable
from lastro.adopting.values import AdoptionReport
from lastro.adopting.words import Cause
from lastro.errors import AdoptionNotReady
from lastro.model.limits import ADOPTION_DIFFERENCES_MAX, ADOPTION_LOCK_TIMEOUT_MS
from lastro.plans.course import Act, Course
from lastro.plans.patience import giving_way
from lastro.plans.plan import Effect, Plan, step
from lastro.plans.transfers import Terms
from lastro.plans.waiting import patiently


def adjust(name: str, ledger: str, terms: Terms, *, row: str | None, reason: str, actor: str) -> Course[AdoptionReport]:
    """
    Post what brings each account with an open difference (or that of one *row*) to what its row holds now.
    """
    standing: records.Standing = yield Act(partial(records.known, name), Effect.READ)
    records.refuse_unless(standing, ("shadow",), "adjust")
    causes: dict[str, Cause] = yield Act(partial(_open, name), Effect.READ)
    wanted = [key for key in causes if row in (None, key, records.shown_row(key))]
    if row is not None and not wanted:
        raise AdoptionNotReady(
            f"row {row!r} of adoption {name!r} has no open difference: compare first, or look at the ones that there are",
            adoption=name,
            phase=standing.phase,
            step="adjust",
        )
    adjusted = 0
    for key in wanted:
        gone = causes[key] == "account_without_row"
        make = partial(_patiently_adjust, standing.table, terms, row_key=key, gone=gone, reason=reason, actor=actor)
        adjusted += yield from giving_way(make)
    figures = {"adjusted": adjusted, "remaining": len(wanted) - adjusted}
    problems = ("rows without an account or a readable balance, or with a refused posting, can't be adjusted",)
    report: AdoptionReport = yield Act(
        partial(
            records.report,
            "adjust",
            name,
            ledger=ledger,
            now=terms.now,
            figures=figures,
            problems=problems if figures["remaining"] else (),
            done=bool(adjusted),
        ),
        Effect.READ,
    )
    return report


def _open(name: str) -> Plan[dict[str, Cause]]:
    rows = yield step("adopting.differences", adoption=name, rows_max=ADOPTION_DIFFERENCES_MAX)
    return {row["row_key"]: row["cause"] for row in rows}


def _patiently_adjust(
    table: OwnTable, terms: Terms, *, row_key: str, gone: bool, reason: str, actor: str
) -> Plan[bool]:
    plan = _adjust(table, terms, row_key=row_key, gone=gone, reason=reason, actor=actor)
    return (yield from patiently(plan, ADOPTION_LOCK_TIMEOUT_MS))


def _adjust(table: OwnTable, terms: Terms, *, row_key: str, gone: bool, reason: str, actor: str) -> Plan[bool]:
    name = table.column.name
    if (yield from records.phase_of(name)) != "shadow":
        # Somebody cut over meanwhile: the ledger is the truth.
        return False
    bringing = bring(table, terms, row_key=row_key, kind=ADJUSTMENT, gone=gone, reason=reason, actor=actor)
    if not (yield from bringing):
        return False
    yield step("adopting.drop_difference", adoption=name, row_key=row_key)
    yield records.event(name, "adjusted", row_key=row_key, detail={"reason": reason}, actor=actor, now=terms.now)
    return True
