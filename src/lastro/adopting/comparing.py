"""
Comparing the old column with the ledger: each row and its account in one snapshot, page by page through the whole table.

A difference is looked at again a moment later and counts if nothing has moved by then; it is told apart by what has
changed on either side since both last agreed. Once the ledger is the truth, what the mirror hasn't written yet is no
difference: what it can't write is one.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

from lastro.adopting import records, tallying
from lastro.adopting.importing import import_new
from lastro.adopting.looking import Page, look
from lastro.adopting.own_table import OwnTable, Place, first_place
from lastro.adopting.tallying import AfterPage, Found
from lastro.adopting.telling_apart import Moved, Seen, cause_of, since_agreed
from lastro.adopting.values import AdoptionReport
from lastro.model.limits import DIFFERENCE_SETTLES_MS, LOOKS_MAX
from lastro.plans.course import Act, Course, Pause
from lastro.plans.plan import Effect, Plan, Row, step
from lastro.plans.transfers import Terms

# As many of an account's newest entries are looked at for one that stands there twice.
ENTRIES_LOOKED_AT_MAX = 50


class Compared(NamedTuple):
    """
    What a comparison came to. `moving`: rows that differed at each look and each time otherwise; the next comparison
    tells. `behind`: rows that the mirror has yet to write.
    """

    rows: int = 0
    differing: int = 0
    moving: int = 0
    new: int = 0
    gone: int = 0
    behind: int = 0


def compare(
    name: str, ledger: str, terms: Terms, *, settle_ms: int = DIFFERENCE_SETTLES_MS, after_page: AfterPage | None = None
) -> Course[AdoptionReport]:
    """
    Compare every row of an adoption with its account, give new rows theirs first, and note what differs.
    """
    standing: records.Standing = yield Act(partial(records.known, name), Effect.READ)
    records.refuse_unless(standing, ("shadow", "ledger"), "compare")
    imported = (yield from import_new(standing.table, terms)).imported
    through = look_through if standing.phase == "shadow" else look_behind
    done, ended = yield from through(standing.table, terms, settle_ms=settle_ms, after_page=after_page)
    figures = {"imported": imported, **done._asdict()}
    report: AdoptionReport = yield Act(
        partial(records.report, "compare", name, ledger=ledger, now=terms.now, figures=figures, done=not ended),
        Effect.READ,
    )
    return report


def look_through(
    table: OwnTable, terms: Terms, *, settle_ms: int, after_page: AfterPage | None = None
) -> Course[tuple[Compared, bool]]:
    """
    Look at every page of the table, and at last at the accounts whose rows are gone; keep the differences up to date.
    Also returns whether it was told to end before.
    """
    name = table.column.name
    tally = yield from tallying.begin(name)
    rows = moving = 0
    place: Place | None = yield Act(partial(first_place, table), Effect.READ)
    while place is not None:
        page: Page = yield Act(partial(look, table, place), Effect.READ)
        # A row without an account is a new one, for the next import; or one that the import refused, and noted.
        tallying.keep_known(tally, (one.row_key for one in page.differing if one.account_id is None))
        differing, unsettled = yield from _settled(table, page, place, settle_ms)
        found = yield from _told_apart(tally.take(differing))
        yield from tallying.note(tally, found, terms, moved=page.moved)
        for one in unsettled:
            tally.still(one.row_key)
        rows, moving, place = rows + page.rows, moving + len(unsettled), page.after
        if after_page is not None and not after_page(page.rows):
            return Compared(rows, tally.differing, moving, tally.new), True
    yield from tallying.note_lost(table, tally, terms, settle_ms=settle_ms)
    yield from tallying.end(name, tally, terms, rows=rows)
    return Compared(rows, tally.differing, moving, tally.new, len(tally.gone)), False


def look_behind(
    table: OwnTable, terms: Terms, *, settle_ms: int, after_page: AfterPage | None = None
) -> Course[tuple[Compared, bool]]:
    """
    The same once the ledger is the truth: look for what the mirror leaves alone, and count what it has yet to write.
    """
    name = table.column.name
    tally = yield from tallying.begin(name)
    rows = behind = 0
    place: Place | None = yield Act(partial(first_place, table), Effect.READ)
    while place is not None:
        page: Page = yield Act(partial(look, table, place), Effect.READ)
        tallying.keep_known(tally, (one.row_key for one in page.differing if one.account_id is None))
        strange = [one for one in page.differing if one.in_other_currency]
        yield from tallying.note(tally, [(one, "currency_differs") for one in tally.take(strange)], terms)
        late = [one for one in page.differing if one.account_id is not None and not one.in_other_currency]
        # What the column wouldn't take at the last round of the mirror stays; what it will take is no difference.
        tallying.keep_known(tally, (one.row_key for one in late))
        rows, behind, place = rows + page.rows, behind + len(late), page.after
        if after_page is not None and not after_page(page.rows):
            return Compared(rows, tally.differing, 0, tally.new, 0, behind), True
    yield from tallying.note_lost(table, tally, terms, settle_ms=settle_ms)
    yield from tallying.end(name, tally, terms)
    return Compared(rows, tally.differing, 0, tally.new, len(tally.gone), behind), False


def _settled(table: OwnTable, page: Page, place: Place, settle_ms: int) -> Course[tuple[list[Seen], list[Seen]]]:
    """Part the differences that stay as they are, from one look to the next, from those that still move."""
    settled: list[Seen] = []
    open_ones = {one.row_key: one for one in page.differing if one.account_id is not None}
    for _ in range(LOOKS_MAX):
        if not open_ones:
            break
        yield Pause(settle_ms)
        again: Page = yield Act(partial(look, table, place), Effect.READ)
        now = {one.row_key: one for one in again.differing if one.row_key in open_ones}
        settled += [one for one in now.values() if one.same_as(open_ones[one.row_key])]
        open_ones = {key: one for key, one in now.items() if not one.same_as(open_ones[key])}
    return settled, list(open_ones.values())


def _told_apart(differing: Sequence[Seen]) -> Course[list[Found]]:
    found: list[Found] = []
    for one in differing:
        newest: Sequence[Moved] = (yield Act(partial(_newest, one), Effect.READ)) if one.account_id else ()
        found.append((one, cause_of(one, newest)))
    return found


def _newest(seen: Seen) -> Plan[Sequence[Moved]]:
    rows = yield step("adopting.newest_entries", account_id=seen.account_id, rows_max=ENTRIES_LOOKED_AT_MAX)
    return since_agreed([_moved(row) for row in rows], (seen.posted or 0) - seen.agreed)


def _moved(row: Row) -> Moved:
    return Moved(row["amount"] if row["side"] == "credit" else -row["amount"], row["cause"])
