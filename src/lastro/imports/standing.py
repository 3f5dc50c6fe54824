"""
Reading how imports stand: files with their counts, logs, what was kept aside, what was replaced.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import NamedTuple

from lastro.errors import UnknownImport
from lastro.imports.limits import LOG_LINES_MAX
from lastro.imports.merges import ImportedFile, LogLine, QuarantinedRow, ReplacedRow, SheetMerge
from lastro.plans.plan import Plan, Row, Rows, step
from lastro.plans.stored import whole


class ImportBacklog(NamedTuple):
    """
    Files that wait or are worked on, and how long ago the oldest was sent.
    """

    waiting: int
    age_ms: int


def get_file(file_id: int) -> Plan[ImportedFile]:
    """
    Return how a file stands. Raises UnknownImport.
    """
    rows = yield step("imports.file", file_id=file_id)
    if not rows:
        raise UnknownImport(f"no file {file_id} was sent to be merged into this ledger", file_id=file_id)
    return (yield from _with_merges(rows))[0]


def list_files(*, request_id: int | None, before: int | None, limit: int) -> Plan[list[ImportedFile]]:
    """
    Return the files of a request in their order; or all, the newest first, those sent before the one numbered *before*.
    """
    rows = yield step("imports.files", request_id=request_id, before=before, rows_max=limit)
    return (yield from _with_merges(rows))


def log_of(file_id: int) -> Plan[list[LogLine]]:
    """
    Return a job's own log.
    """
    yield from get_file(file_id)
    rows = yield step("imports.log_of", file_id=file_id, rows_max=LOG_LINES_MAX)
    return [LogLine(line=row["line"], recorded_at=row["recorded_at"].astimezone(UTC)) for row in rows]


def quarantined(file_id: int, *, limit: int) -> Plan[list[QuarantinedRow]]:
    """
    Return rows of a file that were rejected and kept aside.
    """
    rows = yield step("imports.quarantined", file_id=file_id, rows_max=limit)
    return [
        QuarantinedRow(
            sheet=row["sheet"],
            row=row["row_number"],
            cells=json.loads(row["cells"]),
            reasons=tuple(json.loads(row["reasons"])),
        )
        for row in rows
    ]


def replaced(file_id: int, *, after: int, limit: int) -> Plan[list[ReplacedRow]]:
    """
    Return rows as they were before a file changed or deleted them.
    """
    rows = yield step("imports.replaced", file_id=file_id, after=after, rows_max=limit)
    return [
        ReplacedRow(
            replaced_id=row["replaced_id"],
            sheet=row["sheet"],
            is_deleted=row["is_deleted"],
            line=json.loads(row["line"]),
        )
        for row in rows
    ]


def backlog(*, now: datetime | None) -> Plan[ImportBacklog]:
    """
    Return how much waits, and for how long.
    """
    rows = yield step("imports.backlog", now=now)
    return ImportBacklog(whole(rows[0], "waiting"), int(rows[0]["age_ms"] or 0))


def _with_merges(rows: Rows) -> Plan[list[ImportedFile]]:
    merges: dict[int, list[SheetMerge]] = {}
    if rows:
        for row in (yield step("imports.merges", file_ids=[row["file_id"] for row in rows])):
            counts = {name: whole(row, name) for name in ("inserted", "updated", "unchanged", "deleted", "quarantined")}
            merges.setdefault(row["file_id"], []).append(SheetMerge(sheet=row["sheet"], **counts))
    return [_file(row, merges.get(row["file_id"], [])) for row in rows]


def _file(row: Row, merges: list[SheetMerge]) -> ImportedFile:
    return ImportedFile(
        file_id=row["file_id"],
        request_id=row["request_id"],
        request=row["request"],
        number=row["number"],
        file=row["file"],
        period=row["period"],
        status=row["status"],
        reason=row["reason"],
        attempts=row["attempts"],
        sent_at=row["sent_at"].astimezone(UTC),
        ended_at=_moment(row["ended_at"]),
        sheets=tuple(merges),
    )


def _moment(value: datetime | None) -> datetime | None:
    return None if value is None else value.astimezone(UTC)
