"""
What was read of spreadsheets, and merged, as JSON documents with stable keys and as rows of tables.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lastro.imports import FileReport, SheetReport
    from lastro.imports.merges import Change, ImportedFile, LogLine, Preview, SheetMerge

# Where a file has no sheet to tell of, and a sheet nothing.
NONE = ""


def file_document(file: ImportedFile, log: Sequence[LogLine] | None) -> dict[str, Any]:
    """
    Return how a file stands; without `log` where it wasn't asked for.
    """
    document = {
        "file_id": file.file_id,
        "request_id": file.request_id,
        "request": file.request,
        "number": file.number,
        "file": file.file,
        "period": file.period,
        "status": file.status,
        "reason": file.reason,
        "sent_at": file.sent_at.isoformat(),
        "ended_at": None if file.ended_at is None else file.ended_at.isoformat(),
        "sheets": merges_document(file.sheets),
    }
    if log is not None:
        document["log"] = [{"line": each.line, "recorded_at": each.recorded_at.isoformat()} for each in log]
    return document


def merges_document(merges: Sequence[SheetMerge]) -> list[dict[str, Any]]:
    """
    Return what a merge did to each sheet.
    """
    return [
        {
            "sheet": done.sheet,
            "inserted": done.inserted,
            "updated": done.updated,
            "unchanged": done.unchanged,
            "deleted": done.deleted,
            "quarantined": done.quarantined,
        }
        for done in merges
    ]


def merged_rows(file: ImportedFile | Preview, *, numbered: bool = False) -> Iterator[dict[str, str]]:
    """
    Return the lines of a table for a file that was merged, or would be: one a sheet, or one where there is none.
    """
    status = getattr(file, "status", None) or ("refused" if file.reason is not None else "good")
    first = {"id": str(getattr(file, "file_id", NONE))} if numbered else {}
    head = {**first, "file": file.file, "status": status}
    if not file.sheets:
        yield head | dict.fromkeys(("sheet", "inserted", "updated", "unchanged", "deleted", "quarantined"), NONE)
    for done in file.sheets:
        yield head | {
            "sheet": done.sheet,
            "inserted": str(done.inserted),
            "updated": str(done.updated),
            "unchanged": str(done.unchanged),
            "deleted": str(done.deleted),
            "quarantined": str(done.quarantined),
        }


def change_document(change: Change) -> dict[str, Any]:
    """
    Return a change that a merge would make. Whole numbers are strings.
    """
    return {
        "sheet": change.sheet,
        "sort": change.sort,
        "row": change.row,
        "before": _values(change.before),
        "after": _values(change.after),
    }


def said_change(change: Change) -> str:
    """
    Return a change for people: all of a row that comes or goes, and of another what differs.
    """
    before, after = change.before or {}, change.after or {}
    fields = after if change.after is not None else before
    named = [name for name in fields if name not in ("row_number", "line_id", "file_id", "written_at")]
    if change.sort == "updated":
        told = [f"{name} {before[name]} → {after[name]}" for name in named if before[name] != after[name]]
    else:
        told = [f"{name} {fields[name]}" for name in named if fields[name] is not None]
    place = NONE if change.row is None else f" (row {change.row})"
    return f"{change.sheet} {change.sort}{place}: {', '.join(told)}"


def checked_rows(report: FileReport) -> Iterator[dict[str, str]]:
    """
    Return the lines of a table for a file that was only read.
    """
    if not report.sheets:
        yield {"file": report.file, "sheet": NONE, "spec": NONE, "status": report.status, "rows": "0", "rejected": "0"}
    for sheet in report.sheets:
        yield {
            "file": report.file,
            "sheet": sheet.sheet,
            "spec": sheet.spec,
            "status": "rejected" if sheet.rejected else "parsed",
            "rows": str(sheet.rows),
            "rejected": str(sheet.rejected),
        }


def report_document(report: FileReport) -> dict[str, Any]:
    """
    Return what came of reading a file.
    """
    return {
        "file": report.file,
        "status": report.status,
        "error": report.error,
        "sheets": [_sheet_document(sheet) for sheet in report.sheets],
    }


def _sheet_document(sheet: SheetReport) -> dict[str, Any]:
    return {
        "spec": sheet.spec,
        "sheet": sheet.sheet,
        "rows": sheet.rows,
        "rejected": sheet.rejected,
        "cells_rejected": sheet.cells_rejected,
        "blank": sheet.blank,
        "totals": sheet.totals,
        "hidden": sheet.hidden,
        "fields": list(sheet.fields),
        "missing": list(sheet.missing),
        "unread": list(sheet.unread),
        "notes": dict(sheet.notes),
        "rejections": [{"cell": one.cell, "value": one.value, "reason": one.reason} for one in sheet.rejections],
    }


def _values(line: Any) -> dict[str, Any] | None:
    if line is None:
        return None
    return {
        name: str(value) if isinstance(value, int) and not isinstance(value, bool) else value
        for name, value in line.items()
    }
