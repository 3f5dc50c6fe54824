"""
Mirroring: writing the ledger's balances into the old column, which from the cut-over on nobody else writes.

A row whose column doesn't take the balance, or that names another currency, is left as it is and noted: what it shows is
old, and the ledger is right. It stops nobody else's.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from functools import partial
from typing import NamedTuple

from lastro.adopting import records, tallying
from lastro.adopting.importing import import_new
from lastro.adopting.own_table import OwnTable, Place, first_place
from lastro.adopting.tallying import AfterPage, Found
from lastro.adopting.telling_apart import Seen, read_seen
from lastro.adopting.values import AdoptionReport
from lastro.errors import InvalidInput
from lastro.model.limits import (
    ADOPTION_LOCK_TIMEOUT_MS,
    ADOPTION_MIRROR_ROWS_MAX,
    DIFFERENCE_SETTLES_MS,
)
from lastro.plans.course import Act, Course
from lastro.plans.patience import giving_way
from lastro.plans.plan import Effect, Plan, step
from lastro.plans.transfers import Terms
from lastro.plans.waiting import patiently

# As many of the rows that stand in the way are named.
ROWS_NAMED_MAX = 10


class Mirrored(NamedTuple):
    """
    What one transaction looked at and wrote, which rows name another currency than their accounts or have none, and where
    the next begins.
    """

    rows: int
    written: int
    strange: tuple[Seen, ...] = ()
    without_account: tuple[str, ...] = ()
    after: Place | None = None


class Through(NamedTuple):
    """
    What a round came to; `problems` are the rows that the column didn't take, in words. `ended`: it was told to end.
    """

    rows: int
    written: int
    problems: tuple[str, ...]
    ended: bool


class _Tried(NamedTuple):
    page: Mirrored
    found: tuple[Found, ...]
    problems: tuple[str, ...]


def mirror(name: str, ledger: str, terms: Terms, *, after_page: AfterPage | None = None) -> Course[AdoptionReport]:
    """
    Write each balance that has changed into the old column, page by page, each page a transaction.
    """
    standing: records.Standing = yield Act(partial(records.known, name), Effect.READ)
    records.refuse_unless(standing, ("ledger",), "mirror")
    yield from import_new(standing.table, terms)
    done = yield from write_through(standing.table, terms, after_page=after_page)
    figures = {"rows": done.rows, "written": done.written}
    report: AdoptionReport = yield Act(
        partial(
            records.report,
            "mirror",
            name,
            ledger=ledger,
            now=terms.now,
            figures=figures,
            problems=done.problems,
            done=bool(done.written),
        ),
        Effect.READ,
    )
    return report


def write_through(table: OwnTable, terms: Terms, *, after_page: AfterPage | None = None) -> Course[Through]:
    """
    Bring the whole column to the ledger, page by page, while the phase is `ledger`; keep the differences up to date.
    """
    rows = written = 0
    problems: list[str] = []
    tally = yield from tallying.begin(table.column.name)
    place: Place | None = yield Act(partial(first_place, table), Effect.READ)
    while place is not None:
        tried = yield from _try_page(table, terms, place)
        found = [*((one, "currency_differs") for one in tried.page.strange), *tried.found]
        kept = {one.row_key for one in tally.take([one for one, _ in found])}
        yield from tallying.note(tally, [(one, cause) for one, cause in found if one.row_key in kept], terms)
        tallying.keep_known(tally, tried.page.without_account)
        problems += tried.problems[: ROWS_NAMED_MAX - len(problems)]
        rows, written, place = rows + tried.page.rows, written + tried.page.written, tried.page.after
        if after_page is not None and not after_page(tried.page.written):
            return Through(rows, written, tuple(problems), ended=True)
    yield from tallying.note_lost(table, tally, terms, settle_ms=DIFFERENCE_SETTLES_MS)
    yield from tallying.end(table.column.name, tally, terms)
    return Through(rows, written, tuple(problems), ended=False)


def _try_page(table: OwnTable, terms: Terms, place: Place) -> Course[_Tried]:
    try:
        page: Mirrored = yield from giving_way(partial(write_page, table, terms, place=place))
    except InvalidInput as error:
        if error.__cause__ is None:
            raise
        # The database refused one of the rows, and took the others back with it: each alone, then.
        return (yield from _row_by_row(table, terms, place))
    return _Tried(page, (), ())


def _row_by_row(table: OwnTable, terms: Terms, place: Place) -> Course[_Tried]:
    page, changed = yield Act(partial(_look_for_changed, table, place), Effect.READ)
    written = 0
    found: list[Found] = []
    problems: list[str] = []
    for one in changed:
        alone = partial(write_page, table, terms, place=Place(one.ids, inclusive=True), alone=True)
        try:
            written += (yield from giving_way(alone)).written
        except InvalidInput as error:
            if error.__cause__ is None:
                raise
            found.append((one, "unwritable_balance"))
            problems.append(unwritable(table, one, error.__cause__))
    return _Tried(page._replace(written=written), tuple(found), tuple(problems))


def _look_for_changed(table: OwnTable, place: Place) -> Plan[tuple[Mirrored, Sequence[Seen]]]:
    page, seen = yield from _page_of(table, place, ADOPTION_MIRROR_ROWS_MAX)
    return page, [one for one in seen if one.units != one.posted]


def write_page(table: OwnTable, terms: Terms, *, place: Place, alone: bool = False) -> Plan[Mirrored]:
    """
    Write what has changed on one page, or in its first row *alone*, in one transaction.
    """
    return (yield from patiently(_write_page(table, terms, place=place, alone=alone), ADOPTION_LOCK_TIMEOUT_MS))


def _write_page(table: OwnTable, terms: Terms, *, place: Place, alone: bool) -> Plan[Mirrored]:
    if (yield from records.phase_of(table.column.name)) != "ledger":
        # Somebody rolled back meanwhile: the column is the truth again.
        return Mirrored(0, 0)
    yield step("adopting.begin_mirroring", adoption=table.column.name)
    page = yield from write_rows(table, terms, place=place, alone=alone)
    yield step("adopting.end_mirroring", adoption=table.column.name)
    return page


def write_rows(table: OwnTable, terms: Terms, *, place: Place, alone: bool = False) -> Plan[Mirrored]:
    """
    Write what has changed on one page, or in its first row *alone*. The transaction mirrors.
    """
    # Read after any other mirror is done: an older balance never comes over a newer one.
    page, changed = yield from _page_of(table, place, 1 if alone else ADOPTION_MIRROR_ROWS_MAX)
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
    return page._replace(written=sum(one.units != one.posted for one in changed))


def _page_of(table: OwnTable, place: Place, rows_max: int) -> Plan[tuple[Mirrored, Sequence[Seen]]]:
    """Return a page of which nothing is written yet, and those of its rows that are not as they were."""
    found = yield table.step("compare", **table.within(place), rows_max=rows_max)
    if not found:
        return Mirrored(0, 0), ()
    seen = [read_seen(row, table.ids_of(row)) for row in found]
    rows = int(found[-1]["place"])
    after = Place(table.ids_of(found[-1]), inclusive=False) if rows == rows_max else None
    page = Mirrored(
        rows,
        0,
        tuple(one for one in seen if one.in_other_currency),
        tuple(one.row_key for one in seen if one.account_id is None),
        after,
    )
    ours = [one for one in seen if one.posted is not None and not one.in_other_currency]
    return page, [one for one in ours if one.units != one.posted or one.agreed != one.posted]


def unwritable(table: OwnTable, seen: Seen, why: BaseException) -> str:
    """
    Say that the column doesn't take what an account holds, and what the database says of it.
    """
    said = why.args[-1] if why.args else why
    return (
        f"row {records.shown_row(seen.row_key)!r}: account {seen.account!r} holds {_as_written(table, seen)} "
        f"{seen.account_currency}, which column {table.column.balance!r} doesn't take "
        f"({str(said).strip().splitlines()[0]}); widen it, and mirror again"
    )


def _as_written(table: OwnTable, seen: Seen) -> str:
    assert seen.posted is not None, "only rows with an account are written"
    return (
        format(Decimal(seen.posted).scaleb(-table.column.decimals), "f") if table.column.decimals else str(seen.posted)
    )
