"""
Admitting a row that came among the declared ones after the cut-over, with a balance that the ledger never had.
"""

from __future__ import annotations

from functools import partial

from lastro.adopting import records
from lastro.adopting.accounting import Wanted, open_accounts, sorted_out, without_taken
from lastro.adopting.bringing import OPENING
from lastro.adopting.own_table import OwnTable
from lastro.adopting.values import AdoptionReport
from lastro.errors import AdoptionNotReady
from lastro.model.account import WORLD
from lastro.model.directory import Directory
from lastro.model.limits import ADOPTION_DIFFERENCES_MAX, ADOPTION_LOCK_TIMEOUT_MS
from lastro.model.transfer import intent
from lastro.plans.accounts import find_facts
from lastro.plans.course import Act, Course
from lastro.plans.patience import giving_way
from lastro.plans.plan import Effect, Plan, step
from lastro.plans.posting import post
from lastro.plans.transfers import Terms
from lastro.plans.waiting import patiently


def admit(
    name: str, ledger: str, terms: Terms, *, row: str, reason: str, actor: str, discard: bool
) -> Course[AdoptionReport]:
    """
    Post what the column of one *row* holds on top of what its account does, or *discard* it; the mirror goes on from there.
    """
    standing: records.Standing = yield Act(partial(records.known, name), Effect.READ)
    records.refuse_unless(standing, ("ledger",), "admit")
    row_key: str | None = yield Act(partial(_find, name, row), Effect.READ)
    if row_key is None:
        raise AdoptionNotReady(
            f"row {row!r} of adoption {name!r} isn't among those whose balance the ledger never had: compare first, or look "
            "at the differences",
            adoption=name,
            phase=standing.phase,
            step="admit",
        )
    make = partial(_admit, standing, terms, row_key=row_key, reason=reason, actor=actor, discard=discard)
    yield from giving_way(lambda: patiently(make(), ADOPTION_LOCK_TIMEOUT_MS))
    figures = {"admitted": int(not discard), "discarded": int(discard)}
    report: AdoptionReport = yield Act(
        partial(records.report, "admit", name, ledger=ledger, now=terms.now, figures=figures), Effect.READ
    )
    return report


def _find(name: str, row: str) -> Plan[str | None]:
    rows = yield step("adopting.differences", adoption=name, rows_max=ADOPTION_DIFFERENCES_MAX)
    keys = [one["row_key"] for one in rows if one["cause"] == "not_taken_over"]
    return next((key for key in keys if row in (key, records.shown_row(key))), None)


def _admit(
    standing: records.Standing, terms: Terms, *, row_key: str, reason: str, actor: str, discard: bool
) -> Plan[None]:
    table, name = standing.table, standing.name
    # What another transaction believed of its accounts, and took back, mustn't become the account of a row.
    terms = terms._replace(directory=Directory())
    if (yield from records.phase_of(name)) != "ledger":
        raise _not_now(standing, row_key, "the phase was changed meanwhile")
    one, account_id = yield from _hold(standing, terms, row_key=row_key)
    if one.units and not discard:
        yield from _post(table, one, terms, reason=reason, actor=actor)
    yield step(
        "adopting.put_rows",
        adoption=name,
        row_keys=[row_key],
        account_ids=[account_id],
        units=[one.units],
        now=terms.now,
    )
    yield step("adopting.drop_difference", adoption=name, row_key=row_key)
    what, detail = "discarded" if discard else "admitted", {"units": one.units, "reason": reason}
    yield records.event(name, what, row_key=row_key, detail=detail, actor=actor, now=terms.now)


def _hold(standing: records.Standing, terms: Terms, *, row_key: str) -> Plan[tuple[Wanted, int]]:
    """Hold the row, and return what it holds and the account that it gets."""
    table = standing.table
    rows = yield table.step("hold_row", **table.row(table.ids_in(row_key)), row_key=row_key)
    if (yield step("adopting.account_of", adoption=standing.name, row_key=row_key)):
        raise _not_now(standing, row_key, "it was admitted already")
    wanted, _ = sorted_out(table, rows, "ledger")
    yield from open_accounts(table.column, wanted, terms)
    facts = yield from find_facts(terms.directory, [(one.account, one.currency) for one in wanted])
    wanted, _ = yield from without_taken(wanted, facts)
    if not wanted:
        raise _not_now(standing, row_key, "it is gone, its balance or id can't be read, or another row has its account")
    (one,) = wanted
    return one, facts[one.account, one.currency].id


def _post(table: OwnTable, one: Wanted, terms: Terms, *, reason: str, actor: str) -> Plan[None]:
    # On top of what the account holds: what was posted to it since the cut-over was posted to a row that the ledger
    # didn't know.
    yield from post(
        intent(
            key=f"adopt:{table.column.name}:{one.row['row_key']}:opening",
            kind=OPENING,
            debit=WORLD if one.units > 0 else one.account,
            credit=one.account if one.units > 0 else WORLD,
            amount=abs(one.units),
            currency=one.currency,
            source=f"adopt:{table.column.name}",
            actor=actor,
            metadata={"row": records.shown_row(one.row["row_key"]), "reason": reason},
        ),
        terms,
    )


def _not_now(standing: records.Standing, row_key: str, why: str) -> AdoptionNotReady:
    return AdoptionNotReady(
        f"row {records.shown_row(row_key)!r} of adoption {standing.name!r} can't be admitted: {why}. Nothing was changed",
        adoption=standing.name,
        phase=standing.phase,
        step="admit",
    )
