"""
Mirroring: writing the ledger's balances into the old column, which from the cut-over on nobody else writes.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from functools import partial
from typing import NamedTuple, TypeAlias

from lastro.adopting import records
from lastro.adopting.importing import import_new
from lastro.adopting.own_table import OwnTable, Place, first_place
from lastro.adopting.telling_apart import Seen, read_seen
from lastro.adopting.values import AdoptionReport
from lastro.model.limits import ADOPTION_LOCK_TIMEOUT_MS, ADOPTION_MIRROR_ROWS_MAX
from lastro.plans.course import Act, Course
from lastro.plans.patience import giving_way
from lastro.plans.plan import Effect, Plan, step
from lastro.plans.transfers import Terms
from lastro.plans.waiting import patiently

AfterPage: TypeAlias = Callable[[int], bool]


class Mirrored(NamedTuple):
    """
    What one transaction looked at and wrote, and where the next begins.
    """

    rows: int
    written: int
    after: Place | None


def mirror(name: str, ledger: str, terms: Terms, *, after_page: AfterPage | None = None) -> Course[AdoptionReport]:
    """
    Write each balance that has changed into the old column, page by page, each page a transaction.
    """
    standing: records.Standing = yield Act(partial(records.known, name), Effect.READ)
    records.refuse_unless(standing, ("ledger",), "mirror")
    yield from import_new(standing.table, terms)
    rows, written, _ = yield from write_through(standing.table, terms, after_page=after_page)
    figures = {"rows": rows, "written": written}
    report: AdoptionReport = yield Act(
        partial(records.report, "mirror", name, ledger=ledger, now=terms.now, figures=figures, done=bool(written)),
        Effect.READ,
    )
    return report


def write_through(table: OwnTable, terms: Terms, *, after_page: AfterPage | None = None) -> Course[Mirrored]:
    """
    Bring the whole column to the ledger, page by page, while the phase is `ledger`.
    """
    rows = written = 0
    place: Place | None = yield Act(partial(first_place, table), Effect.READ)
    while place is not None:
        page: Mirrored = yield from giving_way(partial(write_page, table, terms, place=place))
        rows, written, place = rows + page.rows, written + page.written, page.after
        if after_page is not None and not after_page(page.written):
            break
    return Mirrored(rows, written, None)


def write_page(table: OwnTable, terms: Terms, *, place: Place) -> Plan[Mirrored]:
    """
    Write what has changed on one page, in one transaction.
    """
    return (yield from patiently(_write_page(table, terms, place=place), ADOPTION_LOCK_TIMEOUT_MS))


def _write_page(table: OwnTable, terms: Terms, *, place: Place) -> Plan[Mirrored]:
    if (yield from records.phase_of(table.column.name)) != "ledger":
        # Somebody rolled back meanwhile: the column is the truth again.
        return Mirrored(0, 0, None)
    yield step("adopting.begin_mirroring", adoption=table.column.name)
    page = yield from write_rows(table, terms, place=place)
    yield step("adopting.end_mirroring", adoption=table.column.name)
    return page


def write_rows(table: OwnTable, terms: Terms, *, place: Place) -> Plan[Mirrored]:
    """
    Write what has changed on one page. The transaction mirrors.
    """
    # Read after any other mirror is done: an older balance never comes over a newer one.
    found = yield table.step("compare", **table.within(place), rows_max=ADOPTION_MIRROR_ROWS_MAX)
    if not found:
        return Mirrored(0, 0, None)
    seen = [read_seen(row, table.ids_of(row)) for row in found]
    changed = [one for one in seen if one.posted is not None and (one.units != one.posted or one.agreed != one.posted)]
    for one in changed:
        if one.units != one.posted:
            yield table.step("write_row", **table.row(one.ids), row_key=one.row_key, written=_as_written(table, one))
    if changed:
        yield step(
            "adopting.put_rows",
            adoption=table.column.name,
            row_keys=[one.row_key for one in changed],
            account_ids=[one.account_id for one in changed],
            units=[one.posted for one in changed],
            now=terms.now,
        )
    rows = int(found[-1]["place"])
    after = Place(table.ids_of(found[-1]), inclusive=False) if rows == ADOPTION_MIRROR_ROWS_MAX else None
    return Mirrored(rows, sum(one.units != one.posted for one in changed), after)


def _as_written(table: OwnTable, seen: Seen) -> str:
    assert seen.posted is not None, "only rows with an account are written"
    return (
        format(Decimal(seen.posted).scaleb(-table.column.decimals), "f") if table.column.decimals else str(seen.posted)
    )
