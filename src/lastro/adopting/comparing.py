"""
Comparing the old column with the ledger: each row and its account in one snapshot, page by page through the whole table.

A difference is looked at again a moment later and counts if nothing has moved by then; it is told apart by what has
changed on either side since both last agreed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import NamedTuple, TypeAlias

from lastro.adopting import records
from lastro.adopting.importing import import_new
from lastro.adopting.looking import Page, look
from lastro.adopting.own_table import OwnTable, Place, first_place
from lastro.adopting.telling_apart import Moved, Seen, cause_of, since_agreed
from lastro.adopting.values import AdoptionReport, Cause
from lastro.model.limits import (
    ADOPTION_DIFFERENCES_MAX,
    DIFFERENCE_SETTLES_MS,
    LOOKS_MAX,
)
from lastro.plans.course import Act, Course, Pause
from lastro.plans.plan import TOGETHER, Effect, Plan, Row, step
from lastro.plans.transfers import Terms

# As many of an account's newest entries are looked at for one that stands there twice.
ENTRIES_LOOKED_AT_MAX = 50
# Told how many rows each page had; False ends the comparison there.
AfterPage: TypeAlias = Callable[[int], bool]


class Compared(NamedTuple):
    """
    What a comparison came to. `moving`: rows that differed at each look and each time otherwise; the next comparison tells.
    """

    rows: int
    differing: int
    moving: int
    new: int
    gone: int
    ended: bool


def compare(
    name: str, ledger: str, terms: Terms, *, settle_ms: int = DIFFERENCE_SETTLES_MS, after_page: AfterPage | None = None
) -> Course[AdoptionReport]:
    """
    Compare every row of an adoption with its account, give new rows theirs first, and note what differs.
    """
    standing: records.Standing = yield Act(partial(records.known, name), Effect.READ)
    records.refuse_unless(standing, ("shadow",), "compare")
    imported = (yield from import_new(standing.table, terms)).imported
    done = yield from look_through(standing.table, terms, settle_ms=settle_ms, after_page=after_page)
    figures = {"imported": imported, **{field: getattr(done, field) for field in Compared._fields[:-1]}}
    report: AdoptionReport = yield Act(
        partial(records.report, "compare", name, ledger=ledger, now=terms.now, figures=figures, done=not done.ended),
        Effect.READ,
    )
    return report


def look_through(
    table: OwnTable, terms: Terms, *, settle_ms: int, after_page: AfterPage | None = None
) -> Course[Compared]:
    """
    Look at every page of the table, and at last at the accounts whose rows are gone; keep the differences up to date.
    """
    name = table.column.name
    before: set[str] = yield Act(partial(_row_keys_known, name), Effect.READ)
    seen: set[str] = set()
    rows = moving = new = 0
    place: Place | None = yield Act(partial(first_place, table), Effect.READ)
    while place is not None:
        page: Page = yield Act(partial(look, table, place), Effect.READ)
        # A row without an account is a new one, for the next import; or one that the import refused, and noted.
        seen |= {one.row_key for one in page.differing if one.account_id is None and one.row_key in before}
        differing, unsettled = yield from _settled(table, page, place, settle_ms)
        noted = yield from _note(name, page, differing, terms, before=before, room=ADOPTION_DIFFERENCES_MAX - len(seen))
        seen |= {one.row_key for one in differing} | {one.row_key for one in unsettled}
        rows, moving, new, place = rows + page.rows, moving + len(unsettled), new + noted, page.after
        if after_page is not None and not after_page(page.rows):
            return Compared(rows, len(seen), moving, new, 0, ended=True)
    lost = yield from _settled_lost(table, settle_ms)
    new += yield from _note_lost(name, lost, terms, before=before)
    seen |= {one.row_key for one in lost}
    gone = sorted(before - seen)
    yield Act(lambda: _finish(name, gone, rows, len(seen), terms))
    return Compared(rows, len(seen), moving, new, len(gone), ended=False)


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


def _settled_lost(table: OwnTable, settle_ms: int) -> Course[list[Seen]]:
    lost: list[Seen] = yield Act(partial(_lost, table), Effect.READ)
    if not lost:
        return []
    yield Pause(settle_ms)
    again: list[Seen] = yield Act(partial(_lost, table), Effect.READ)
    before = {one.row_key: one for one in lost}
    return [one for one in again if one.row_key in before and one.same_as(before[one.row_key])]


def _lost(table: OwnTable) -> Plan[list[Seen]]:
    rows = yield table.step("lost", rows_max=ADOPTION_DIFFERENCES_MAX)
    return [
        Seen(
            row_key=row["row_key"],
            ids=(),
            currency=row["account_currency"],
            raw=None,
            units=None,
            account_id=row["account_id"],
            agreed=int(row["agreed"]),
            account=row["account"],
            account_currency=row["account_currency"],
            posted=int(row["posted"]),
        )
        for row in rows
    ]


def _note(
    name: str, page: Page, differing: Sequence[Seen], terms: Terms, *, before: set[str], room: int
) -> Course[int]:
    """Write down what a page came to; return how many of its differences are new."""
    if not differing and not page.moved:
        return 0
    kept = differing[: max(0, room)]
    causes: list[Cause] = []
    for one in kept:
        newest: Sequence[Moved] = (yield Act(partial(_newest, one), Effect.READ)) if one.account_id else ()
        causes.append(cause_of(one, newest))
    yield Act(lambda: _write(name, page.moved, list(zip(kept, causes, strict=True)), terms, before=before))
    return sum(one.row_key not in before for one in kept)


def _note_lost(name: str, lost: Sequence[Seen], terms: Terms, *, before: set[str]) -> Course[int]:
    if lost:
        found: list[tuple[Seen, Cause]] = [(one, "account_without_row") for one in lost]
        yield Act(lambda: _write(name, (), found, terms, before=before))
    return sum(one.row_key not in before for one in lost)


def _newest(seen: Seen) -> Plan[Sequence[Moved]]:
    rows = yield step("adopting.newest_entries", account_id=seen.account_id, rows_max=ENTRIES_LOOKED_AT_MAX)
    return since_agreed([_moved(row) for row in rows], (seen.posted or 0) - seen.agreed)


def _moved(row: Row) -> Moved:
    return Moved(row["amount"] if row["side"] == "credit" else -row["amount"], row["cause"])


def _write(
    name: str, moved: Sequence[Seen], found: Iterable[tuple[Seen, Cause]], terms: Terms, *, before: set[str]
) -> Plan[None]:
    yield TOGETHER
    if moved:
        yield step(
            "adopting.put_rows",
            adoption=name,
            row_keys=[one.row_key for one in moved],
            account_ids=[one.account_id for one in moved],
            units=[one.units for one in moved],
            now=terms.now,
        )
    for one, cause in found:
        yield records.put_difference(name, one, cause, now=terms.now)
        if one.row_key not in before:
            detail = {"cause": cause, "account": one.account, "expected": one.expected, "found": one.posted}
            yield records.event(name, "difference", row_key=one.row_key, detail=detail, now=terms.now)


def _finish(name: str, gone: Sequence[str], rows: int, differing: int, terms: Terms) -> Plan[None]:
    yield TOGETHER
    for row_key in gone:
        yield step("adopting.drop_difference", adoption=name, row_key=row_key)
        yield records.event(name, "agreed again", row_key=row_key, now=terms.now)
    yield step("adopting.note_look", adoption=name, rows_seen=rows, differences=differing, now=terms.now)


def _row_keys_known(name: str) -> Plan[set[str]]:
    rows = yield step("adopting.differences", adoption=name, rows_max=ADOPTION_DIFFERENCES_MAX)
    return {row["row_key"] for row in rows}
