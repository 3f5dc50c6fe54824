"""
What can be asked of a ledger about spreadsheets, checked: files to merge, sheets, and how all of it stands. For both twins.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lastro.errors import InvalidInput
from lastro.imports.declaring import declare
from lastro.imports.jobs import Sending, send
from lastro.imports.limits import FILES_LISTED_MAX, ROWS_LISTED_MAX
from lastro.imports.merges import ImportedFile, ImportRequest, LogLine, Preview, QuarantinedRow, ReplacedRow
from lastro.imports.merging import MergeTerms
from lastro.imports.reports import FileReport
from lastro.imports.sending import preview_all, sending_of
from lastro.imports.specs import SheetSpec
from lastro.imports.standing import ImportBacklog, backlog, get_file, list_files, log_of, quarantined, replaced
from lastro.ledger.asking import Ask, Asks, limit_within, whole_number
from lastro.plans.course import Course
from lastro.plans.patience import giving_way
from lastro.plans.plan import Effect
from lastro.sql.catalogue import catalogue


class ImportAsks:
    """
    The requests about spreadsheets, under the terms of one ledger.
    """

    def __init__(self, asks: Asks) -> None:
        self._asks = asks

    def terms(self) -> MergeTerms:
        """The terms that merges work under."""
        return MergeTerms(self._asks.ledger, self._asks.lock_timeout_ms, self._asks.now())

    def sending(self, file: object, folder: Path, **terms: Any) -> Sending:
        """Check what is sent and take it apart into *folder*."""
        return sending_of(file, folder, **terms)

    def declare(self, spec: object) -> Course[bool]:
        """Return the course that makes a sheet's table, and gives way to who reads it."""
        if not isinstance(spec, SheetSpec):
            raise InvalidInput(f"spec must be a SheetSpec; got {type(spec).__name__}", argument="spec")
        ledger, now = self._asks.ledger, self._asks.now()
        return giving_way(lambda: declare(spec, ledger=ledger, now=now))

    def send(self, sending: Sending) -> Ask[ImportRequest]:
        """Ask to have files merged."""
        now = self._asks.now()
        return Ask(lambda: send(sending, now=now), Effect.ONCE)

    def preview(self, sending: Sending, reports: Sequence[FileReport]) -> Ask[list[Preview]]:
        """Ask what merging would do."""
        return Ask(lambda: preview_all(sending, reports), Effect.READ)

    def file(self, file_id: object) -> Ask[ImportedFile]:
        """Ask how a file stands."""
        checked = whole_number(file_id, "file_id")
        return Ask(lambda: get_file(checked), Effect.READ)

    def files(self, *, request_id: object, before: object, limit: object) -> Ask[list[ImportedFile]]:
        """Ask how files stand."""
        request = None if request_id is None else whole_number(request_id, "request_id")
        older_than = None if before is None else whole_number(before, "before")
        checked_limit = limit_within(limit, FILES_LISTED_MAX)
        return Ask(lambda: list_files(request_id=request, before=older_than, limit=checked_limit), Effect.READ)

    def log(self, file_id: object) -> Ask[list[LogLine]]:
        """Ask for a job's log."""
        checked = whole_number(file_id, "file_id")
        return Ask(lambda: log_of(checked), Effect.READ)

    def quarantined(self, file_id: object, *, limit: object) -> Ask[list[QuarantinedRow]]:
        """Ask for the rows that were kept aside."""
        checked, checked_limit = whole_number(file_id, "file_id"), limit_within(limit, ROWS_LISTED_MAX)
        return Ask(lambda: quarantined(checked, limit=checked_limit), Effect.READ)

    def replaced(self, file_id: object, *, after: object, limit: object) -> Ask[list[ReplacedRow]]:
        """Ask for rows as they were."""
        checked, checked_limit = whole_number(file_id, "file_id"), limit_within(limit, ROWS_LISTED_MAX)
        behind = whole_number(after, "after")
        return Ask(lambda: replaced(checked, after=behind, limit=checked_limit), Effect.READ)

    def backlog(self) -> Ask[ImportBacklog]:
        """Ask how much waits."""
        now = self._asks.now()
        return Ask(lambda: backlog(now=now), Effect.READ)


def rooms(folder: str) -> tuple[Path, Path]:
    """
    Make the folders below *folder* that reading needs: one for what was sent, one for rows.
    """
    members, staged = Path(folder, "members"), Path(folder, "staged")
    members.mkdir()
    staged.mkdir()
    return members, staged


def refuse_without_imports(dialect: str) -> None:
    """
    Raise on a store that can't merge, before a file is taken apart.
    """
    why = catalogue(dialect)["imports_merging.lock"].refused
    if why is not None:
        raise InvalidInput(why, argument="file")
