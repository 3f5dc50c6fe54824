"""
An .xlsx, read by python-calamine: one sheet as a workbook of pieces, so that no more than two pieces are in memory.

The shared texts are read once for all pieces. While Python works on the rows of one piece, a thread has calamine read
the next: its parser doesn't hold the interpreter.
"""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Final, NamedTuple

from lastro.imports.cells import FileRefused, Merge, Unreadable, Value
from lastro.imports.dates import DateSystem
from lastro.imports.limits import COLUMNS_MAX, MIB, SHEET_BYTES_MAX, STRINGS_BYTES_MAX, STYLES_BYTES_MAX
from lastro.imports.sheets import Batch, Listed, Sheet
from lastro.imports.specs import SheetSpec
from lastro.imports.unpacking import DAMAGE, Source
from lastro.imports.xlsx_package import DECLARATION, Package, Workbook
from lastro.imports.xlsx_pieces import DECLARED, SheetXml, workbook_of_pieces

PIECES_FILE: Final = "pieces.xlsx"
NO_STYLES: Final = b'<styleSheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"/>'
# Of the time that a sheet takes: splitting it up, then reading its pieces.
SPLIT_SHARE: Final = 0.25


class _Seen(NamedTuple):
    """What is kept of a piece once it is on disk."""

    first_row: int
    last_row: int
    hidden: frozenset[int]
    marks: dict[tuple[int, int], Unreadable]


class XlsxBook:
    """
    An .xlsx file. *folder* is where the pieces of the sheet that is being read lie meanwhile.
    """

    def __init__(self, path: Path, folder: Path) -> None:
        self._folder = folder
        try:
            self._archive = zipfile.ZipFile(path)
        except DAMAGE as error:
            raise FileRefused(f"is damaged: {error}") from None
        self._package = Package(self._archive)
        self._workbook = self._package.workbook()
        self.sheets = [Listed(sheet.name, sheet.hidden) for sheet in self._workbook.sheets]

    def opened(self, index: int, spec: SheetSpec) -> Sheet:
        """The sheet of that index."""
        at_risk = self._workbook.uncalculated and spec.uncalculated == "refuse"
        return _XlsxSheet(self._package, self._workbook, index, self._folder, at_risk=at_risk)

    def close(self) -> None:
        """Close the archive."""
        self._archive.close()


class _Ahead:
    """A source whose next block is being unpacked while this one is looked at."""

    def __init__(self, source: Source, unpacking: ThreadPoolExecutor) -> None:
        self._source, self._unpacking = source, unpacking
        self._next: Future[bytes] | None = None

    def read(self, size: int) -> bytes:
        """The next block; every call must ask for the same size."""
        block = self._source.read(size) if self._next is None else self._next.result()
        self._next = self._unpacking.submit(self._source.read, size) if block else None
        return block


class _XlsxSheet:
    def __init__(self, package: Package, workbook: Workbook, index: int, folder: Path, *, at_risk: bool) -> None:
        self._package = package
        self._workbook = workbook
        self._part = workbook.sheets[index].part
        self._path = folder / PIECES_FILE
        self._at_risk = at_risk
        self.date_system: DateSystem = self._workbook.date_system
        self.hidden_columns: frozenset[int] = frozenset()
        self.merges: list[Merge] = []
        self.notes = {"dates": f"the system of {self.date_system}"}
        self.share_read = 0.0

    def batches(self) -> Iterator[Batch]:
        """The rows, piece by piece."""
        try:
            pieces = self._split()
            if pieces:
                yield from self._read(pieces)
        finally:
            self._path.unlink(missing_ok=True)

    def _split(self) -> list[_Seen]:
        """Write the sheet's pieces as the sheets of a workbook that isn't packed; return what was seen in each."""
        seen: list[_Seen] = []
        size = self._package.size(self._part) or 1
        # Unpacking, looking through and writing go on side by side: zlib and the disk leave the interpreter free.
        with (
            self._package.opened(self._part, bytes_max=SHEET_BYTES_MAX) as source,
            zipfile.ZipFile(self._path, "w", zipfile.ZIP_STORED) as made,
            ThreadPoolExecutor(1) as unpacking,
            ThreadPoolExecutor(1) as writing,
        ):
            xml = SheetXml(_Ahead(source, unpacking), at_risk=self._at_risk)
            written: Future[None] | None = None
            for piece in xml.pieces():
                if written is not None:
                    written.result()
                written = writing.submit(_write, made, len(seen) + 1, piece.xml)
                seen.append(_Seen(piece.first_row, piece.last_row, piece.hidden, piece.marks))
                self.share_read = min(1.0, source.bytes_read / size) * SPLIT_SHARE
            if written is not None:
                written.result()
            self._write_rest(made, len(seen))
        self.hidden_columns, self.merges = xml.hidden_columns, xml.merges
        return seen

    def _write_rest(self, made: zipfile.ZipFile, pieces: int) -> None:
        strings = self._workbook.strings
        if strings is not None:
            self._copied(made, strings, "xl/sharedStrings.xml", STRINGS_BYTES_MAX)
        if self._workbook.styles is None:
            made.writestr("xl/styles.xml", NO_STYLES)
        else:
            self._copied(made, self._workbook.styles, "xl/styles.xml", STYLES_BYTES_MAX)
        parts = workbook_of_pieces(range(pieces), date_system=self.date_system, strings=strings is not None)
        for name, part in parts.items():
            made.writestr(name, part)

    def _copied(self, made: zipfile.ZipFile, part: str, name: str, bytes_max: int) -> None:
        with self._package.opened(part, bytes_max=bytes_max) as source, made.open(name, "w") as target:
            while block := source.read(MIB):
                if b"!" in block and DECLARATION in block:
                    raise FileRefused(DECLARED)
                target.write(block)

    def _read(self, pieces: list[_Seen]) -> Iterator[Batch]:
        from python_calamine import CalamineError, CalamineSheet, CalamineWorkbook

        def sheet(number: int) -> CalamineSheet:
            return workbook.get_sheet_by_index(number)

        try:
            workbook = CalamineWorkbook.from_path(self._path)
            with ThreadPoolExecutor(1) as ahead:
                following = ahead.submit(sheet, 0)
                for number, piece in enumerate(pieces):
                    current = following.result()
                    if number + 1 < len(pieces):
                        following = ahead.submit(sheet, number + 1)
                    batch = _batch(current, piece)
                    del current
                    if batch is not None:
                        yield batch
                    self.share_read = SPLIT_SHARE + (1 - SPLIT_SHARE) * (number + 1) / len(pieces)
        except CalamineError as error:
            raise FileRefused(f"is damaged: {error}") from None


def _batch(sheet: object, piece: _Seen) -> Batch | None:
    """The rows of a piece, with what was seen in it in its place."""
    start, end = sheet.start, sheet.end  # type: ignore[attr-defined]
    if start is None or end is None:
        rows: list[list[Value]] = []
        top, left, width = piece.first_row, 0, 0
    else:
        top, left, width = start[0] + 1, start[1], end[1] - start[1] + 1
        if top < piece.first_row or end[0] + 1 > piece.last_row:
            raise FileRefused(f"is damaged: row {piece.first_row} or one below it holds cells of other rows")
        if end[1] >= COLUMNS_MAX:
            raise FileRefused(f"has cells beyond the {COLUMNS_MAX} columns that are read")
        rows = sheet.to_python()  # type: ignore[attr-defined]
    if piece.marks:
        top, left, rows = _with_marks(rows, top, left, width, piece.marks)
    if not rows:
        return None
    return Batch(range(top, top + len(rows)), rows, left, piece.hidden)


def _with_marks(
    rows: list[list[Value]], top: int, left: int, width: int, marks: dict[tuple[int, int], Unreadable]
) -> tuple[int, int, list[list[Value]]]:
    """Put the marks where they stand, and make room where the reader saw nothing at all."""
    numbers, columns = {row for row, _ in marks}, {column for _, column in marks}
    if not rows:
        top, left = min(numbers), min(columns)
    first, last = min(top, *numbers), max(top + len(rows) - 1, *numbers)
    west, east = min(left, *columns), max(left + width - 1, *columns)
    blank: list[Value] = [""]
    above, below = range(first, top), range(top + len(rows), last + 1)
    padded = [blank * (east - west + 1) for _ in above]
    padded += [[*blank * (left - west), *row, *blank * (east - left - width + 1)] for row in rows]
    padded += [blank * (east - west + 1) for _ in below]
    for (row, column), mark in marks.items():
        padded[row - first][column - west] = mark
    return first, west, padded


def _write(made: zipfile.ZipFile, number: int, parts: list[bytes]) -> None:
    with made.open(f"xl/worksheets/sheet{number}.xml", "w") as target:
        for part in parts:
            target.write(part)
