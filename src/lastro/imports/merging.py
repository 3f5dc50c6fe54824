"""
Merging one file's staged rows into its sheets, in one transaction: compared first, then only what differs is written.

Two defences keep merges from deadlocks, and both are needed. The lock, taken first, lets one merge of a ledger through
at a time: a merge writes rows and then deletes others, which no order of either could save from another merge. The
order of the natural key keeps it in step with everybody else who writes those rows.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Final, NamedTuple

from lastro.errors import ImportRefused, NotInTransaction
from lastro.imports.limits import (
    COPY_READ_BYTES,
    MERGE_LOCK_TIMEOUT_MS,
    MERGE_WAIT_TOLD_MS,
    MERGE_WORK_MIB,
    SAMPLES_MAX,
    SHRINK_MANY_PERCENT_MAX,
    SHRINK_PERCENT_MAX,
    SHRINK_ROWS_FREE,
    TWICE_ROWS_SHOWN_MAX,
    TWICE_SHOWN_MAX,
)
from lastro.imports.merges import Change, Preview, SheetMerge
from lastro.imports.reports import FileReport, SheetReport
from lastro.imports.sheet_tables import Bounds, bounds, names_of
from lastro.imports.specs import SheetSpec
from lastro.plans.plan import TOGETHER, OwnNames, Plan, Row, Rows, Step, step
from lastro.plans.stored import whole

PERCENT: Final = 100


class MergeTerms(NamedTuple):
    """
    What a merge works under: which ledger, how long it waits for a row, whose moment counts.
    """

    ledger: str
    lock_timeout_ms: int
    now: datetime | None = None


class MergedFile(NamedTuple):
    """
    The file that is merged. `part` is its name where it is a part of its month, None where it is all of it.
    """

    file_id: int
    request_id: int
    name: str
    period: str | None
    part: str | None
    allow_shrink: bool


@dataclass
class LockWait:
    """
    A wait for the lock of merging in several tries, each a transaction of its own; and what the job's log says of it.
    """

    try_ms: int = MERGE_LOCK_TIMEOUT_MS
    before_ms: int = 0
    is_over: bool = False
    lines: list[str] = field(default_factory=list)


class _Sheet(NamedTuple):
    """One sheet of the file on its way: what it is declared as, what was read of it, its names in statements."""

    spec: SheetSpec
    report: SheetReport
    names: OwnNames
    month: Bounds | None


def take_lock(terms: MergeTerms, wait: LockWait) -> Plan[None]:
    """
    Wait for the lock of merging, first of all in the transaction under way; note in *wait* that it came, and how late.

    Raises NotInTransaction where there is none: the lock would be let go of at once, and in silence. LockTimeout once
    this try is over.
    """
    rows = yield step("imports_merging.lock", ledger=terms.ledger, lock_timeout=f"{wait.try_ms}ms")
    wait.is_over = True
    waited_ms, age_ms = wait.before_ms + whole(rows[0], "waited_ms"), rows[0]["holder_age_ms"]
    still = yield step(
        "imports_merging.still_locked",
        ledger=terms.ledger,
        lock_timeout=f"{terms.lock_timeout_ms}ms",
        work_mem=f"{MERGE_WORK_MIB}MB",
    )
    if not still[0]["held"]:
        raise NotInTransaction(
            "the lock of merging was let go of as soon as it was taken, for there is no transaction: begin one first"
        )
    wait.lines = []
    if waited_ms > MERGE_WAIT_TOLD_MS:
        last = "the last try" if wait.before_ms else "the wait"
        unseen = f"gone when {last} began, or of an age that this role may not see"
        holder = unseen if age_ms is None else f"{age_ms} ms old when {last} began"
        wait.lines = [f"waited {waited_ms} ms for the lock of merging; its holder's transaction was {holder}"]


def merge(
    file: MergedFile, report: FileReport, specs: Sequence[SheetSpec], terms: MergeTerms
) -> Plan[list[SheetMerge]]:
    """
    Merge what was read of a file into its sheets, under the lock of merging and in its transaction.

    All is compared and judged before anything is written. Raises ImportRefused.
    """
    sheets = _sheets(report, specs, file.period)
    weights = []
    for sheet in sheets:
        yield from _stage(sheet, file.part)
        weight = yield from _weight(sheet, file.part)
        yield from _refuse_overtaken(sheet, weight, file)
        yield from _judge(sheet, weight, file)
        weights.append(weight)
    written = []
    for sheet in sheets:
        rows = yield _on(
            sheet,
            "upsert",
            file_id=file.file_id,
            sheet=sheet.spec.name,
            part=file.part if sheet.month else None,
            now=terms.now,
        )
        written.append(rows[0])
    deleted = []
    for sheet, weight in zip(sheets, weights, strict=True):
        deleted.append((yield from _delete_missing(sheet, file)) if whole(weight, "missing") else 0)
        yield _on(sheet, "unstage")
    return [
        SheetMerge(
            sheet=sheet.spec.name,
            inserted=whole(rows, "inserted"),
            updated=whole(rows, "updated"),
            unchanged=whole(weight, "staged") - whole(rows, "inserted") - whole(rows, "updated"),
            deleted=gone,
            quarantined=sheet.report.rejected,
        )
        for sheet, weight, rows, gone in zip(sheets, weights, written, deleted, strict=True)
    ]


def preview(file: MergedFile, report: FileReport, specs: Sequence[SheetSpec]) -> Plan[Preview]:
    """
    Return what merging a file would do now, without the lock of merging: nothing but temporary tables is written.
    """
    yield TOGETHER
    sheets = _sheets(report, specs, file.period)
    merges, changes = [], []
    reason: str | None = None
    for sheet in sheets:
        yield from _stage(sheet, file.part)
        yield _on(sheet, "find_elsewhere")
        weight = yield from _weight(sheet, file.part)
        try:
            yield from _judge(sheet, weight, file)
        except ImportRefused as refused:
            reason = reason or str(refused)
        staged, missing, fresh, differ = (whole(weight, name) for name in ("staged", "missing", "fresh", "changes"))
        merges.append(
            SheetMerge(
                sheet=sheet.spec.name,
                inserted=fresh,
                updated=differ - fresh - missing,
                unchanged=staged - (differ - missing),
                deleted=missing,
                quarantined=sheet.report.rejected,
            )
        )
        samples: Rows = yield _on(sheet, "samples", rows_max=SAMPLES_MAX)
        changes += [_change(sheet.spec.name, sample) for sample in samples]
        yield _on(sheet, "unstage")
    return Preview(file=file.name, reason=reason, sheets=tuple(merges), changes=tuple(changes))


def shrinks(*, missing: int, present: int) -> bool:
    """
    Whether a file lacks so many of the rows *present* that it is rather not whole.
    """
    share = PERCENT * missing
    many = missing > SHRINK_ROWS_FREE and share > SHRINK_MANY_PERCENT_MAX * present
    return many or share > SHRINK_PERCENT_MAX * present


def _sheets(report: FileReport, specs: Sequence[SheetSpec], period: str | None) -> list[_Sheet]:
    # Always in one order, and so are their rows.
    by_name = {spec.name: spec for spec in specs}
    found = sorted(report.sheets, key=lambda sheet: sheet.spec)
    return [
        # A row that was rejected isn't lacking: nobody can say which one it is, so that nothing is deleted.
        _Sheet(
            spec,
            sheet,
            names_of(spec, sheet.fields, place=place),
            None if sheet.rejected else bounds(spec, period),
        )
        for place, sheet in enumerate(found, start=1)
        for spec in (by_name[sheet.spec],)
    ]


def _on(on: _Sheet, statement: str, /, **params: object) -> Step:
    return Step(f"imports_merging.{statement}", params, its=on.names)


def _stage(sheet: _Sheet, part: str | None) -> Plan[None]:
    yield _on(sheet, "stage")
    yield _on(sheet, "copy")._replace(written=_blocks(sheet.report.staged))
    if sheet.month is None:
        yield _on(sheet, "compare_all")
    else:
        yield _on(sheet, "compare", period_from=sheet.month.first, period_to=sheet.month.behind, part=part)


def _blocks(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while block := file.read(COPY_READ_BYTES):
            yield block


def _judge(sheet: _Sheet, weight: Row, file: MergedFile) -> Plan[None]:
    """Refuse what may not be written, before it is."""
    if not _is_one_to_one(sheet, file, weight):
        yield from _refuse_twice(sheet, file)
    if file.part is not None and sheet.month is not None:
        yield from _refuse_taken(sheet, file)
    missing, present = whole(weight, "missing"), whole(weight, "present")
    if shrinks(missing=missing, present=present) and not file.allow_shrink:
        raise ImportRefused(
            f"{sheet.spec.name} lacks {missing} of the {present} rows that {file.period} has by now, and they would be "
            "deleted: is the file whole? If they are to go, send it with --allow-shrink (allow_shrink=True)",
            file=file.name,
            sheet=sheet.spec.name,
            missing=missing,
            present=present,
        )


def _is_one_to_one(sheet: _Sheet, file: MergedFile, weight: Row) -> bool:
    """
    Whether each row of the file stands for one of the month's: then no key is there twice, and none need be counted.
    """
    if sheet.month is None or file.part is not None or whole(weight, "fresh"):
        return False
    return whole(weight, "staged") == whole(weight, "present") - whole(weight, "missing")


def _weight(sheet: _Sheet, part: str | None) -> Plan[Row]:
    if sheet.month is None:
        rows = yield _on(sheet, "weigh_all")
    else:
        rows = yield _on(sheet, "weigh", period_from=sheet.month.first, period_to=sheet.month.behind, part=part)
    return rows[0]


def _refuse_twice(sheet: _Sheet, file: MergedFile) -> Plan[None]:
    found = yield _on(sheet, "twice", keys_max=TWICE_SHOWN_MAX, rows_max=TWICE_ROWS_SHOWN_MAX)
    if found:
        told = "; ".join(f"{row['key']} in the rows {', '.join(map(str, row['row_numbers']))}" for row in found)
        more = " and more" if len(found) == TWICE_SHOWN_MAX else ""
        raise ImportRefused(
            f"{sheet.report.sheet} has keys more than once ({', '.join(sheet.spec.key)}): {told}{more}",
            file=file.name,
            sheet=sheet.spec.name,
            rows=[list(row["row_numbers"]) for row in found],
        )


def _refuse_taken(sheet: _Sheet, file: MergedFile) -> Plan[None]:
    found = yield _on(sheet, "taken_from", file_id=file.file_id, request_id=file.request_id, rows_max=TWICE_SHOWN_MAX)
    if found:
        told = "; ".join(
            f"{row['key']} in row {row['row_number']}, and in {row['file']}, row {row['its_row']}" for row in found
        )
        raise ImportRefused(
            f"{sheet.report.sheet} has keys that another file sent with it has too: {told}",
            file=file.name,
            sheet=sheet.spec.name,
            rows=[[row["row_number"], row["its_row"]] for row in found],
        )


def _refuse_overtaken(sheet: _Sheet, weight: Row, file: MergedFile) -> Plan[None]:
    """Refuse a file that would undo what a later request has merged. One that says the same again undoes nothing."""
    if not whole(weight, "changes"):
        return
    found = yield step(
        "imports.overtaken",
        file_id=file.file_id,
        request_id=file.request_id,
        sheets=[sheet.spec.name],
        period=file.period,
        part=file.part,
        files_max=1,
    )
    # Months alone don't tell: a file may have none, and a row may come from another one, or from another part.
    found = found or (yield _on(sheet, "overtaken_by", file_id=file.file_id, request_id=file.request_id, files_max=1))
    if found:
        raise ImportRefused(
            f"{found[0]['name']}, which was sent later, is merged already, and this file would bring back what it "
            "replaced: if that is meant, send it again",
            file=file.name,
        )


def _delete_missing(sheet: _Sheet, file: MergedFile) -> Plan[int]:
    assert sheet.month is not None, "nothing is missing without one"
    rows = yield _on(
        sheet,
        "delete_missing",
        file_id=file.file_id,
        sheet=sheet.spec.name,
        period_from=sheet.month.first,
        period_to=sheet.month.behind,
    )
    return whole(rows[0], "deleted")


def _change(sheet: str, row: Row) -> Change:
    return Change(
        sheet=sheet,
        sort=row["sort"],
        row=row["row_number"],
        before=None if row["before"] is None else json.loads(row["before"]),
        after=None if row["after"] is None else json.loads(row["after"]),
    )
