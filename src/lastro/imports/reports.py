"""
What came of reading: each file's status, the reasons, every rejected cell, and where its rows were staged.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeAlias

# "parsed": every row is good. "rejected": some rows are not; the others are staged. "error": the file can't be read.
Status: TypeAlias = Literal["parsed", "rejected", "error"]


@dataclass(frozen=True, kw_only=True)
class Rejection:
    """
    A rejected cell, or a rejected row where `cell` names a row alone: `row 7`.
    """

    file: str
    sheet: str
    cell: str
    value: str
    reason: str


@dataclass(frozen=True, kw_only=True)
class SheetReport:
    """
    What came of one sheet.

    `rows` are good and staged, in `staged`: a line each, the row's number and the `fields` in their order. `rejected`
    rows are in `aside`, as JSON; `rejections` names the first of their cells, of `cells_rejected` in all. `missing` are
    fields that the sheet has no column for (they are not among `fields`), `unread` headers that no field is read from.
    """

    spec: str
    sheet: str
    rows: int
    rejected: int
    cells_rejected: int
    blank: int
    totals: int
    hidden: int
    fields: tuple[str, ...]
    missing: tuple[str, ...]
    unread: tuple[str, ...]
    staged: Path
    aside: Path
    rejections: tuple[Rejection, ...] = ()
    notes: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class FileReport:
    """
    What came of one file. `error` says why it couldn't be read; then nothing of it is staged.
    """

    file: str
    status: Status
    error: str | None = None
    sheets: tuple[SheetReport, ...] = ()

    @property
    def rows(self) -> int:
        """Good rows, in all its sheets."""
        return sum(sheet.rows for sheet in self.sheets)

    @property
    def rejected(self) -> int:
        """Rejected rows, in all its sheets."""
        return sum(sheet.rejected for sheet in self.sheets)


def failed(file: str, reason: str) -> FileReport:
    """
    Return the report of a file that can't be read.
    """
    return FileReport(file=file, status="error", error=reason)


def document_of_report(report: FileReport) -> dict[str, Any]:
    """
    Return a report as plain values, for JSON.
    """
    document = asdict(report)
    for sheet in document["sheets"]:
        sheet["staged"], sheet["aside"] = str(sheet["staged"]), str(sheet["aside"])
    return document


def report_of(document: Mapping[str, Any]) -> FileReport:
    """
    Return the report that `document_of_report` wrote.
    """
    sheets = tuple(_sheet(sheet) for sheet in document["sheets"])
    return FileReport(file=document["file"], status=document["status"], error=document["error"], sheets=sheets)


def _sheet(document: Mapping[str, Any]) -> SheetReport:
    lists = {name: tuple(document[name]) for name in ("fields", "missing", "unread")}
    paths = {name: Path(document[name]) for name in ("staged", "aside")}
    rejections = tuple(Rejection(**rejection) for rejection in document["rejections"])
    return SheetReport(**{**document, **lists, **paths, "rejections": rejections})
