"""Reading one file in this process, and the spec that most tests read by."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import date, datetime
from pathlib import Path
from typing import Any

import pytest

from lastro import Ledger
from lastro.imports import FileReport, SheetSpec, specs_of, staged_rows
from lastro.imports.files import read_file
from lastro.imports.merges import ImportedFile
from tests.imports.months import MONTH, InProcess, Line, billing, zipped
from tests.support.fixtures import observer, session
from tests.support.stores import store, store_url

__all__ = ["observer", "session", "store", "store_url"]

Read = Callable[..., "Outcome"]

HEADER = ["Reference", "Amount", "Rate", "Paid on", "At", "Done", "Count", "Note"]
SPEC: dict[str, Any] = {
    "key": ["reference"],
    "columns": {
        "reference": {"type": "text", "required": True},
        "amount": {"type": "money", "currency": "BRL"},
        "rate": {"type": "decimal", "places": 4},
        "paid_on": {"type": "date", "headers": ["Paid on"]},
        "at": {"type": "datetime", "zone": "UTC"},
        "done": {"type": "boolean"},
        "count": {"type": "integer"},
        "note": {"type": "text"},
    },
}
# One table as people have it, and as it is staged. A spreadsheet's times have no zone.
ROWS: list[list[Any]] = [
    ["A-1", 12.34, 0.0625, date(2026, 11, 30), datetime(2026, 11, 30, 18, 5, 9), True, 7, "first"],  # noqa: DTZ001
    ["00123", -0.01, 1.5, date(2024, 2, 29), datetime(2024, 2, 29, 0, 0, 1), False, 0, None],  # noqa: DTZ001
    ["B\u00e7-3", 1234567.89, 0, date(1999, 12, 31), datetime(1999, 12, 31, 23, 59, 59), True, -5, "a \u2192 b"],  # noqa: DTZ001
]
STAGED: list[list[str | None]] = [
    ["A-1", "1234", "0.0625", "2026-11-30", "2026-11-30 18:05:09+00:00", "t", "7", "first"],
    ["00123", "-1", "1.5000", "2024-02-29", "2024-02-29 00:00:01+00:00", "f", "0", None],
    ["B\u00e7-3", "123456789", "0.0000", "1999-12-31", "1999-12-31 23:59:59+00:00", "t", "-5", "a \u2192 b"],
]


class Outcome:
    """What came of reading a file by one spec."""

    def __init__(self, report: FileReport) -> None:
        self.report = report

    @property
    def error(self) -> str:
        """Why the file couldn't be read."""
        assert self.report.status == "error", self.report
        return str(self.report.error)

    @property
    def rows(self) -> list[list[str | None]]:
        """The staged rows' fields."""
        return [fields for _, fields in self.numbered]

    @property
    def numbered(self) -> list[tuple[int, list[str | None]]]:
        """The staged rows' numbers and fields."""
        assert self.report.error is None, self.report.error
        (sheet,) = self.report.sheets
        staged = list(staged_rows(sheet.staged))
        assert len(staged) == sheet.rows
        return staged

    @property
    def rejected(self) -> list[tuple[str, str, str]]:
        """Each rejected cell: where, what stood there, why."""
        assert self.report.error is None, self.report.error
        return [(one.cell, one.value, one.reason) for sheet in self.report.sheets for one in sheet.rejections]


def spec(**settings: Any) -> SheetSpec:
    """The spec that most tests read by, with other settings; columns are replaced by name."""
    columns = {**SPEC["columns"], **settings.pop("columns", {})}
    (made,) = specs_of({"payments": {**SPEC, **settings, "columns": columns}})
    return made


def narrow(kind: str, **settings: Any) -> SheetSpec:
    """A spec of two columns: the key, and `value` of a type."""
    sheet = {name: settings.pop(name) for name in list(settings) if name in SheetSpec.__dataclass_fields__}
    columns = {"reference": {"type": "text", "required": True}, "value": {"type": kind, **settings}}
    (made,) = specs_of({"payments": {"key": ["reference"], "columns": columns, **sheet}})
    return made


@pytest.fixture
def read(tmp_path: Path) -> Read:
    """Read a file by a spec, in this process: `read(path, spec())`."""
    count = 0

    def read(path: Path, *specs: SheetSpec, name: str | None = None, period: str | None = None) -> Outcome:
        nonlocal count
        count += 1
        folder = tmp_path / f"staged-{count}"
        folder.mkdir()
        return Outcome(read_file(name or path.name, path, specs or (spec(),), folder=folder, period=period))

    return read


@pytest.fixture
def in_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have files read in this process."""
    monkeypatch.setattr("lastro.imports.working.ParserProcess", InProcess)
    monkeypatch.setattr("lastro.imports.parsing.ParserProcess", InProcess)


class Importing:
    """Sends files to a ledger and merges them; most tests need no more than one file's outcome."""

    def __init__(self, ledger: Ledger, folder: Path) -> None:
        self.ledger, self.folder = ledger, folder

    def run(self, month: str | None = MONTH, /, *, terms: Mapping[str, Any] | None = None, **files: str | bytes) -> Any:
        """Merge a zip of csv files, and return how they stand, by name without ending."""
        path = zipped(self.folder / "sent.zip", **files)
        done = self.ledger.imports.run(path, period=month, **(terms or {}))
        return {each.file.removesuffix(".csv"): each for each in done}

    def billing(self, *lines: Line, month: str | None = MONTH, name: str = "billing", **terms: Any) -> ImportedFile:
        """Merge one file of billing."""
        (done,) = self.run(month, terms=terms, **{name: billing(*lines)}).values()
        assert isinstance(done, ImportedFile)
        return done

    def merged(self, *lines: Line, **settings: Any) -> tuple[int, int, int, int]:
        """Merge one file of billing, which must be good: rows inserted, updated, unchanged and deleted."""
        done = self.billing(*lines, **settings)
        assert done.status == "merged", done.reason
        (sheet,) = done.sheets
        return sheet.inserted, sheet.updated, sheet.unchanged, sheet.deleted

    def refused(self, *lines: Line, **settings: Any) -> str:
        """Merge one file of billing, which must be refused: why."""
        done = self.billing(*lines, **settings)
        assert done.status == "error", done
        assert done.sheets == ()
        return str(done.reason)

    def log(self, done: ImportedFile) -> list[str]:
        """The log of a file's job."""
        return [each.line for each in self.ledger.imports.log(done.file_id)]


@pytest.fixture
def importing(ledger: Ledger, tmp_path: Path, in_process: None) -> Importing:
    """Merge files into this test's ledger, read in this process."""
    return Importing(ledger, tmp_path)
