"""
What merging gives back, and what it refuses: counts by sheet, differences that a dry run shows, how a file stands.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Literal, TypeAlias

JobStatus: TypeAlias = Literal["waiting", "reading", "merging", "merged", "error"]
Sort: TypeAlias = Literal["inserted", "updated", "deleted"]
ENDED: Final[tuple[JobStatus, ...]] = ("merged", "error")


@dataclass(frozen=True, kw_only=True)
class SheetMerge:
    """
    What a merge did to one sheet, in rows. An unchanged row wasn't written; quarantined ones were rejected, and kept aside.
    """

    sheet: str
    inserted: int
    updated: int
    unchanged: int
    deleted: int
    quarantined: int = 0


@dataclass(frozen=True, kw_only=True)
class Change:
    """
    A row as it is stored, and as a file has it; one of them is None where it is inserted or deleted.
    """

    sheet: str
    sort: Sort
    row: int | None
    before: Mapping[str, Any] | None
    after: Mapping[str, Any] | None


@dataclass(frozen=True, kw_only=True)
class Preview:
    """
    What merging a file would do now. `reason` says why it would be refused; `changes` are a few of each sort.
    """

    file: str
    reason: str | None = None
    sheets: tuple[SheetMerge, ...] = ()
    changes: tuple[Change, ...] = ()


@dataclass(frozen=True, kw_only=True)
class ImportedFile:
    """
    How a file stands. `status` is "waiting", "reading", "merging", or its end: "merged", or "error" with its `reason`.
    """

    file_id: int
    request_id: int
    request: str
    number: int
    file: str
    period: str | None
    status: JobStatus
    reason: str | None
    attempts: int
    sent_at: datetime
    ended_at: datetime | None
    sheets: tuple[SheetMerge, ...] = ()


@dataclass(frozen=True, kw_only=True)
class LogLine:
    """
    A line of a job's own log.
    """

    line: str
    recorded_at: datetime


@dataclass(frozen=True, kw_only=True)
class QuarantinedRow:
    """
    A row that was rejected and kept aside: its cells as they stood in the file, and the reasons.
    """

    sheet: str
    row: int
    cells: Mapping[str, Any]
    reasons: tuple[Mapping[str, Any], ...]


@dataclass(frozen=True, kw_only=True)
class ReplacedRow:
    """
    A row as it was before a file changed or deleted it.
    """

    replaced_id: int
    sheet: str
    is_deleted: bool
    line: Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class ImportRequest:
    """
    What was sent: its number, its files' numbers in their order, and the names of what was passed over in a zip.
    """

    request_id: int
    file_ids: tuple[int, ...]
    passed_over: tuple[str, ...] = ()
