"""
An .xls, read by xlrd: of the readers of this format it is the one that tells an error from an empty cell.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from lastro.imports.cells import CellRefused, FileRefused, Merge, Unreadable, Value
from lastro.imports.dates import DateSystem, of_serial
from lastro.imports.limits import BATCH_ROWS, MIB, XLS_BYTES_MAX
from lastro.imports.sheets import Batch, Listed, Sheet
from lastro.imports.specs import SheetSpec

EMPTY_TEXT: Final = "is an empty text, which is what a formula that was never calculated leaves in an .xls"


class XlsBook:
    """
    An .xls file.
    """

    def __init__(self, path: Path) -> None:
        import xlrd

        if path.stat().st_size > XLS_BYTES_MAX:
            raise FileRefused(f"has more than {XLS_BYTES_MAX // MIB} MiB")
        try:
            self._book: Any = xlrd.open_workbook(
                str(path), formatting_info=True, on_demand=True, logfile=io.StringIO(), ragged_rows=False
            )
        except xlrd.XLRDError as error:
            if "encrypted" in str(error).lower():
                raise FileRefused("is encrypted: save it without a password") from None
            raise FileRefused(f"is damaged or no .xls: {error}") from None
        except Exception as error:  # noqa: BLE001  (a damaged file makes xlrd fail in every way)
            raise FileRefused(f"is damaged: {type(error).__name__} {error}") from None
        # Only visible sheets have 0 there; 2 is a sheet that its program doesn't offer to show.
        self.sheets = [
            Listed(name, bool(hidden))
            for name, hidden in zip(self._book.sheet_names(), self._book._sheet_visibility, strict=True)  # noqa: SLF001
        ]

    def opened(self, index: int, spec: SheetSpec) -> Sheet:
        """The sheet of that index; an .xls always holds its formulas' values."""
        del spec
        try:
            return _XlsSheet(self._book, index)
        except FileRefused:
            raise
        except Exception as error:  # noqa: BLE001
            raise FileRefused(f"is damaged: {type(error).__name__} {error}") from None

    def close(self) -> None:
        """Close the file."""
        self._book.release_resources()


class _XlsSheet:
    def __init__(self, book: Any, index: int) -> None:
        self._sheet = book.sheet_by_index(index)
        self._datemode = book.datemode
        self.date_system: DateSystem = 1904 if book.datemode else 1900
        self.hidden_columns = frozenset(column for column, info in self._sheet.colinfo_map.items() if info.hidden)
        # xlrd's ends are one beyond the last.
        self.merges = [Merge(top + 1, left, bottom, right - 1) for top, bottom, left, right in self._sheet.merged_cells]
        self.notes = {"dates": f"the system of {self.date_system}"}
        self.share_read = 0.0

    def batches(self) -> Iterator[Batch]:
        """The rows, in batches."""
        rows = self._sheet.nrows
        for start in range(0, rows, BATCH_ROWS):
            stop = min(rows, start + BATCH_ROWS)
            hidden = frozenset(
                row + 1
                for row in range(start, stop)
                if row in self._sheet.rowinfo_map and self._sheet.rowinfo_map[row].hidden
            )
            yield Batch(range(start + 1, stop + 1), [self._row(row) for row in range(start, stop)], 0, hidden)
            self.share_read = stop / rows

    def _row(self, row: int) -> list[Value]:
        return [
            value if kind == _NUMBER else self._value(value, kind)
            for value, kind in zip(self._sheet.row_values(row), self._sheet.row_types(row), strict=True)
        ]

    def _value(self, value: Any, kind: int) -> Value:
        from xlrd import error_text_from_code

        if kind == _TEXT:
            return str(value) if value else Unreadable("", EMPTY_TEXT)
        if kind == _DATE:
            try:
                return of_serial(value, self.date_system)
            except CellRefused as why:
                return Unreadable(str(value), str(why))
        if kind == _BOOLEAN:
            return bool(value)
        if kind == _ERROR:
            named = error_text_from_code.get(value, "error")
            return Unreadable(named, f"is the error {named}")
        return ""


# xlrd's kinds of cells; they are part of its interface. Empty and blank cells are the others.
_TEXT: Final = 1
_NUMBER: Final = 2
_DATE: Final = 3
_BOOLEAN: Final = 4
_ERROR: Final = 5
