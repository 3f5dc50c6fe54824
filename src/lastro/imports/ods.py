"""
An .ods, read by expat as a stream: rows as they come, whatever the size of the sheet.

python-calamine reads this format as well, but whole, and it gives an empty text for an error and for a formula without
a result.
"""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from datetime import date, datetime
from pathlib import Path
from typing import Any, Final
from xml.parsers.expat import ExpatError, ParserCreate

from lastro.imports.cells import FileRefused, Merge, Unreadable, Value, shown
from lastro.imports.dates import DateSystem
from lastro.imports.limits import (
    BATCH_ROWS,
    CELL_CHARACTERS_MAX,
    COLUMNS_MAX,
    MERGES_MAX,
    MIB,
    PARTS_MAX,
    ROWS_MAX,
    SHEET_BYTES_MAX,
    SHEETS_MAX,
)
from lastro.imports.sheets import Batch, Listed, Sheet
from lastro.imports.specs import SheetSpec
from lastro.imports.unpacking import DAMAGE, Unpacked
from lastro.imports.xlsx_pieces import UNCALCULATED

CONTENT: Final = "content.xml"
MANIFEST: Final = "META-INF/manifest.xml"
BLOCK_BYTES: Final = 256 * 1024

_TABLE: Final = "urn:oasis:names:tc:opendocument:xmlns:table:1.0 "
_OFFICE: Final = "urn:oasis:names:tc:opendocument:xmlns:office:1.0 "
_STYLE: Final = "urn:oasis:names:tc:opendocument:xmlns:style:1.0 "
_TEXT: Final = "urn:oasis:names:tc:opendocument:xmlns:text:1.0 "
_EXTENDED: Final = "urn:org:documentfoundation:names:experimental:calc:xmlns:calcext:1.0 "
_CELLS: Final = frozenset({_TABLE + "table-cell", _TABLE + "covered-table-cell"})
_BREAKS: Final = {_TEXT + "tab": "\t", _TEXT + "line-break": "\n"}
_NUMBERS: Final = frozenset({"float", "percentage", "currency"})
_HIDING: Final = frozenset({"collapse", "filter"})


class OdsBook:
    """
    An .ods file. Its content is one stream, read once for the list of sheets and once for each sheet.
    """

    def __init__(self, path: Path) -> None:
        try:
            self._archive = zipfile.ZipFile(path)
            names = self._archive.namelist()
            manifest = self._archive.open(MANIFEST).read(MIB) if MANIFEST in names else b""
        except DAMAGE as error:
            raise FileRefused(f"is damaged: {error}") from None
        if len(names) > PARTS_MAX:
            raise FileRefused(f"holds more than {PARTS_MAX} parts")
        if b"encryption-data" in manifest:
            raise FileRefused("is encrypted: save it without a password")
        listing = _Content(wanted=None)
        for _ in listing.read(self._archive):
            pass
        self.sheets = [Listed(name, style in listing.hiding_styles) for name, style in listing.tables]
        if len(self.sheets) > SHEETS_MAX:
            raise FileRefused(f"has {len(self.sheets)} sheets; at most {SHEETS_MAX} are read")

    def opened(self, index: int, spec: SheetSpec) -> Sheet:
        """The sheet of that index."""
        del spec
        return _OdsSheet(self._archive, index)

    def close(self) -> None:
        """Close the archive."""
        self._archive.close()


class _OdsSheet:
    def __init__(self, archive: zipfile.ZipFile, index: int) -> None:
        self._archive = archive
        self._content = _Content(wanted=index)
        self.date_system: DateSystem = 1900
        self.merges = self._content.merges
        self.notes = {"dates": "as ISO 8601"}

    @property
    def hidden_columns(self) -> frozenset[int]:
        """The hidden columns: they are said before the rows."""
        return frozenset(self._content.hidden_columns)

    @property
    def share_read(self) -> float:
        """How much of the content has been read."""
        return self._content.share_read

    def batches(self) -> Iterator[Batch]:
        """The rows, in batches."""
        yield from self._content.read(self._archive)


class _Content:
    """
    The content of an .ods while expat reads it: the tables' names, and the rows of the wanted one.
    """

    def __init__(self, wanted: int | None) -> None:
        self._wanted = wanted
        self.tables: list[tuple[str, str]] = []
        self.hiding_styles: set[str] = set()
        self.hidden_columns: set[int] = set()
        self.merges: list[Merge] = []
        self.share_read = 0.0
        self._style = ""
        self._depth = 0
        self._columns = 0
        self._number = 0
        self._times = 1
        self._row_hidden = False
        self._row: list[Value] | None = None
        self._cell: dict[str, str] | None = None
        self._said: list[str] = []
        self._paragraphs = self._noted = 0
        self._rows: list[tuple[int, list[Value], bool]] = []

    def read(self, archive: zipfile.ZipFile) -> Iterator[Batch]:
        """Read the content, and give the wanted table's rows in batches."""
        parser = ParserCreate(namespace_separator=" ")
        parser.buffer_text = True
        parser.StartElementHandler = self._opened
        parser.EndElementHandler = self._closed
        parser.CharacterDataHandler = self._text
        parser.StartDoctypeDeclHandler = _refuse_doctype
        try:
            info = archive.getinfo(CONTENT)
            with archive.open(info) as packed:
                source = Unpacked(
                    packed, packed_bytes=info.compress_size, bytes_max=SHEET_BYTES_MAX, what="its content"
                )
                while block := source.read(BLOCK_BYTES):
                    parser.Parse(block)
                    self.share_read = min(1.0, source.bytes_read / (info.file_size or 1))
                    # A row may be repeated up to the end of the sheet.
                    while len(self._rows) >= BATCH_ROWS:
                        yield self._batch()
            parser.Parse(b"", True)  # noqa: FBT003  (expat takes it by position only)
        except (ExpatError, KeyError, *DAMAGE) as error:
            raise FileRefused(f"is damaged: {error}") from None
        if self._rows:
            yield self._batch()

    def _batch(self) -> Batch:
        rows, self._rows = self._rows[:BATCH_ROWS], self._rows[BATCH_ROWS:]
        width = max(len(row) for _, row, _ in rows)
        blank: list[Value] = [""]
        return Batch(
            [number for number, _, _ in rows],
            [row + blank * (width - len(row)) for _, row, _ in rows],
            0,
            frozenset(number for number, _, hidden in rows if hidden),
        )

    def _opened(self, tag: str, attributes: dict[str, str]) -> None:
        if tag == _STYLE + "style":
            self._style = attributes.get(_STYLE + "name", "")
        elif tag == _STYLE + "table-properties" and attributes.get(_TABLE + "display") == "false":
            self.hiding_styles.add(self._style)
        elif tag == _TABLE + "table":
            self._depth += 1
            # A table within a cell is no sheet.
            if self._depth == 1:
                self.tables.append((attributes.get(_TABLE + "name", ""), attributes.get(_TABLE + "style-name", "")))
        elif self._depth == 1 and len(self.tables) - 1 == self._wanted:
            self._within(tag, attributes)

    def _within(self, tag: str, attributes: dict[str, str]) -> None:
        if tag in _CELLS:
            self._cell, self._said, self._paragraphs = attributes, [], 0
        elif tag == _TABLE + "table-row":
            self._times = _repeated(attributes, "number-rows-repeated", ROWS_MAX)
            self._row_hidden = attributes.get(_TABLE + "visibility") in _HIDING
            self._row = []
        elif tag == _TABLE + "table-column":
            times = _repeated(attributes, "number-columns-repeated", ROWS_MAX)
            if attributes.get(_TABLE + "visibility") in _HIDING:
                self.hidden_columns.update(range(self._columns, min(self._columns + times, COLUMNS_MAX)))
            self._columns += times
        elif self._cell is not None:
            self._within_cell(tag, attributes)

    def _within_cell(self, tag: str, attributes: dict[str, str]) -> None:
        if tag == _OFFICE + "annotation":
            self._noted += 1
        elif tag == _TEXT + "p" and not self._noted:
            self._said += ["\n"] if self._paragraphs else []
            self._paragraphs += 1
        elif tag == _TEXT + "s":
            self._text(" " * min(CELL_CHARACTERS_MAX, int(attributes.get(_TEXT + "c", "1"))))
        elif tag in _BREAKS:
            self._text(_BREAKS[tag])

    def _text(self, text: str) -> None:
        if self._cell is not None and self._paragraphs and not self._noted:
            self._said.append(text)

    def _closed(self, tag: str) -> None:
        if tag == _TABLE + "table":
            self._depth -= 1
        elif tag in _CELLS and self._cell is not None and self._depth == 1:
            self._end_cell(self._cell, covered=tag.endswith("covered-table-cell"))
            self._cell = None
        elif tag == _OFFICE + "annotation" and self._noted:
            self._noted -= 1
        elif tag == _TABLE + "table-row" and self._row is not None and self._depth == 1:
            self._end_row(self._row)
            self._row = None

    def _end_cell(self, cell: dict[str, str], *, covered: bool) -> None:
        assert self._row is not None, "a cell stands in a row"
        times = _repeated(cell, "number-columns-repeated", ROWS_MAX)
        down, across = (int(cell.get(_TABLE + f"number-{what}-spanned", "1")) for what in ("rows", "columns"))
        if (down > 1 or across > 1) and len(self.merges) < MERGES_MAX:
            top, left = self._number + 1, len(self._row)
            self.merges.append(Merge(top, left, top + down - 1, left + across - 1))
        # What a merge covers may hold an old value that nobody sees.
        value: Value = "" if covered else _value(cell, "".join(self._said))
        if isinstance(value, str) and not value and len(self._row) + times > COLUMNS_MAX:
            times = max(0, COLUMNS_MAX - len(self._row))
        if len(self._row) + times > COLUMNS_MAX:
            raise FileRefused(f"has cells beyond the {COLUMNS_MAX} columns that are read")
        self._row += [value] * times

    def _end_row(self, row: list[Value]) -> None:
        while row and isinstance(row[-1], str) and not row[-1]:
            row.pop()
        if row:
            if self._number + self._times > ROWS_MAX:
                raise FileRefused(f"has more than {ROWS_MAX} rows")
            self._rows += [(self._number + 1 + more, row, self._row_hidden) for more in range(self._times)]
        self._number += self._times


def _value(cell: dict[str, str], said: str) -> Value:
    kind = cell.get(_OFFICE + "value-type")
    formula = _TABLE + "formula" in cell
    if cell.get(_EXTENDED + "value-type") == "error" or (formula and said.startswith(("#", "Err:"))):
        return Unreadable(shown(said), f"is the error {shown(said)}")
    if kind is None:
        return Unreadable("formula", UNCALCULATED) if formula else ""
    if kind in _NUMBERS:
        number = cell.get(_OFFICE + "value")
        return float(number) if number is not None else Unreadable(shown(said), UNCALCULATED)
    if kind == "string":
        text = cell.get(_OFFICE + "string-value", said)
        return text[: CELL_CHARACTERS_MAX + 1]
    if kind == "boolean":
        return cell.get(_OFFICE + "boolean-value") == "true"
    if kind == "date":
        return _date(cell.get(_OFFICE + "date-value", ""))
    return Unreadable(shown(said), "is a time of day or a duration")


def _date(text: str) -> Value:
    try:
        return date.fromisoformat(text) if "T" not in text else datetime.fromisoformat(text)
    except ValueError:
        return Unreadable(shown(text), "is no date of the calendar")


def _repeated(attributes: dict[str, str], what: str, most: int) -> int:
    return min(most + 1, max(1, int(attributes.get(_TABLE + what, "1"))))


def _refuse_doctype(*_: Any) -> None:
    raise FileRefused("is refused: its content declares a document type")
