"""
Adjusting: bringing the ledger to the old column, row by row, while that column is the truth; each with its reason.
"""

from __future__ import annotations

from functools import partial

from lastro.adopting import records
from lastro.adopting.importing import ACTOR
from lastro.adopting.own_table import SEPARATOR, OwnTable
from lastro.adopting.telling_apart import read_units
from lastro.adopting.values import AdoptionReport
from lastro.errors import AdoptionNotReady
from lastro.model.account import WORLD
from lastro.model.limits import ADOPTION_DIFFERENCES_MAX, ADOPTION_LOCK_TIMEOUT_MS
from lastro.model.transfer import intent
from lastro.plans.course import Act, Course
from lastro.plans.patience import giving_way
from lastro.plans.plan import Effect, Plan, step
from lastro.plans.posting import post
from lastro.plans.transfers import Terms
from lastro.plans.waiting import patiently

ADJUSTMENT = "adjustment"


def adjust(name: str, ledger: str, terms: Terms, *, row: str | None, reason: str, actor: str) -> Course[AdoptionReport]:
    """
    Post what brings each account with an open difference (or that of one *row*) to what its row holds now.
    """
    standing: records.Standing = yield Act(partial(records.known, name), Effect.READ)
    records.refuse_unless(standing, ("importing", "shadow"), "adjust")
    keys: list[str] = yield Act(partial(_open, name), Effect.READ)
    wanted = [key for key in keys if row in (None, key, records.shown_row(key))]
    if row is not None and not wanted:
        raise AdoptionNotReady(
            f"row {row!r} of adoption {name!r} has no open difference: compare first, or look at the ones that there are",
            adoption=name,
            phase=standing.phase,
            step="adjust",
        )
    adjusted = 0
    for key in wanted:
        make = partial(_patiently_adjust, standing.table, terms, row_key=key, reason=reason, actor=actor)
        adjusted += yield from giving_way(make)
    figures = {"adjusted": adjusted, "left": len(wanted) - adjusted}
    problems = ("rows without an account, or without a readable balance, can't be adjusted",)
    report: AdoptionReport = yield Act(
        partial(
            records.report,
            "adjust",
            name,
            ledger=ledger,
            now=terms.now,
            figures=figures,
            problems=problems if figures["left"] else (),
            done=bool(adjusted),
        ),
        Effect.READ,
    )
    return report


def _open(name: str) -> Plan[list[str]]:
    rows = yield step("adopting.differences", adoption=name, rows_max=ADOPTION_DIFFERENCES_MAX)
    return [row["row_key"] for row in rows]


def _patiently_adjust(table: OwnTable, terms: Terms, *, row_key: str, reason: str, actor: str) -> Plan[int]:
    return (
        yield from patiently(
            _adjust(table, terms, row_key=row_key, reason=reason, actor=actor), ADOPTION_LOCK_TIMEOUT_MS
        )
    )


def _adjust(table: OwnTable, terms: Terms, *, row_key: str, reason: str, actor: str) -> Plan[int]:
    name = table.column.name
    rows = yield table.step("hold_row", **table.row(table.ids_in(row_key)))
    accounts = yield step("adopting.account_of", adoption=name, row_key=row_key)
    # A row that is gone holds nothing.
    units = read_units(rows[0]["units"]) if rows else 0
    if not accounts or units is None or (rows and rows[0]["currency"] != accounts[0]["currency"]):
        return 0
    account = accounts[0]
    change = units - int(account["posted"])
    if change:
        # The newest entry that the account had makes the key one of its own, and the same if this is tried again.
        newest = yield step("adopting.newest_entries", account_id=account["account_id"], rows_max=1)
        after = newest[0]["transfer_id"] if newest else 0
        wanted = intent(
            key=f"adopt:{name}:{row_key}:adjustment:{after}",
            kind=ADJUSTMENT,
            debit=WORLD if change > 0 else account["account"],
            credit=account["account"] if change > 0 else WORLD,
            amount=abs(change),
            currency=account["currency"],
            source=f"adopt:{name}",
            actor=actor or ACTOR,
            metadata={"reason": reason, "row": row_key.replace(SEPARATOR, "/")},
        )
        yield from post(wanted, terms)
    yield step(
        "adopting.put_rows",
        adoption=name,
        row_keys=[row_key],
        account_ids=[account["account_id"]],
        units=[units],
        now=terms.now,
    )
    yield step("adopting.drop_difference", adoption=name, row_key=row_key)
    detail = {"reason": reason, "by": change}
    yield records.event(name, "adjusted", row_key=row_key, detail=detail, actor=actor, now=terms.now)
    return 1
