"""
A .csv: its encoding and delimiter by a stated rule, strict quotes, and every cell as the text that it is.

The encoding is the declared one; or what the byte order mark says; or UTF-8 where all of the file is; or else cp1252,
where every byte of it is a character there. The report says which.
"""

from __future__ import annotations

import codecs
import csv
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from lastro.imports.cells import FileRefused, Merge, Value
from lastro.imports.columns import folded
from lastro.imports.dates import DateSystem
from lastro.imports.limits import BATCH_ROWS, CELL_CHARACTERS_MAX, COLUMNS_MAX, MIB, ROWS_MAX
from lastro.imports.sheets import Batch, Listed, Sheet
from lastro.imports.specs import DELIMITERS, DETECT, SheetSpec

MARKS: Final = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
FALLBACK: Final = "cp1252"


class CsvBook:
    """
    A .csv file: a book of one sheet, called as the file.
    """

    def __init__(self, path: Path, name: str) -> None:
        self._path = path
        self.sheets = [Listed(name, hidden=False)]

    def opened(self, index: int, spec: SheetSpec) -> Sheet:
        """The only sheet."""
        assert index == 0, "a csv file is one sheet"
        encoding = _encoding(self._path, spec.encoding)
        delimiter = spec.delimiter or _delimiter(self._path, encoding, spec)
        return _CsvSheet(self._path, encoding, delimiter, spec)

    def close(self) -> None:
        """Nothing stays open."""


class _CsvSheet:
    def __init__(self, path: Path, encoding: str, delimiter: str, spec: SheetSpec) -> None:
        self._path, self._encoding, self._delimiter, self._spec = path, encoding, delimiter, spec
        self._bytes = path.stat().st_size or 1
        self.date_system: DateSystem = spec.date_system or 1900
        self.hidden_columns: frozenset[int] = frozenset()
        self.merges: list[Merge] = []
        self.notes = {"encoding": encoding, "delimiter": repr(delimiter)}
        self.share_read = 0.0

    def batches(self) -> Iterator[Batch]:
        """The rows, in batches; a row is numbered as a record, which may have several lines."""
        width: int | None = None
        numbers: list[int] = []
        rows: list[list[Value]] = []
        faults: dict[int, str] = {}
        for number, row in self._records():
            if number < self._spec.header_row or not row:
                continue
            if width is None:
                width = len(row)
                if width > COLUMNS_MAX:
                    raise FileRefused(f"has {width} columns; at most {COLUMNS_MAX} are read")
            if len(row) != width:
                faults[number] = f"has {len(row)} cells, its header has {width}"
            numbers.append(number)
            rows.append([*row[:width], *[""] * (width - len(row))])
            if len(rows) == BATCH_ROWS:
                yield Batch(numbers, rows, faults=faults)
                numbers, rows, faults = [], [], {}
        if rows:
            yield Batch(numbers, rows, faults=faults)
        self.share_read = 1.0

    def _records(self) -> Iterator[tuple[int, list[str]]]:
        csv.field_size_limit(CELL_CHARACTERS_MAX)
        number = 0
        try:
            with self._path.open("rb") as raw, io.TextIOWrapper(raw, self._encoding, newline="") as file:
                for row in csv.reader(file, delimiter=self._delimiter, strict=True):
                    number += 1
                    if number > ROWS_MAX:
                        raise FileRefused(f"has more than {ROWS_MAX} rows")
                    if not number % BATCH_ROWS:
                        self.share_read = min(1.0, raw.tell() / self._bytes)
                    yield number, row
        except csv.Error as error:
            raise FileRefused(f"isn't csv below row {number}: {error}") from None
        except UnicodeError:
            raise FileRefused(f"isn't text in {self._encoding} below row {number}: declare its encoding") from None


def _encoding(path: Path, declared: str) -> str:
    with path.open("rb") as file:
        head = file.read(len(codecs.BOM_UTF8))
    marked = next((name for mark, name in MARKS if head.startswith(mark)), None)
    if declared != DETECT:
        # A mark that agrees with the declaration is no part of the first header.
        agrees = marked is not None and codecs.lookup(declared).name.startswith(marked.removesuffix("-sig"))
        return marked if agrees and marked is not None else declared
    if marked is not None:
        return marked
    for encoding in ("utf-8", FALLBACK):
        if _decodes(path, encoding):
            return encoding
    raise FileRefused(f"is text in neither UTF-8 nor {FALLBACK}: declare its encoding")


def _decodes(path: Path, encoding: str) -> bool:
    decoder = codecs.getincrementaldecoder(encoding)()
    try:
        with path.open("rb") as file:
            while block := file.read(MIB):
                if b"\0" in block:
                    raise FileRefused("isn't text: it holds NUL bytes (UTF-16 without its mark must be declared)")
                decoder.decode(block)
            decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return False
    return True


def _delimiter(path: Path, encoding: str, spec: SheetSpec) -> str:
    """The delimiter that makes the header row hold every required header; refused unless it is exactly one."""
    fitting = []
    wanted = [column.accepted for column in spec.columns if column.required]
    for delimiter in DELIMITERS:
        header = _header(path, encoding, delimiter, spec.header_row)
        if header is not None and all(accepted & header for accepted in wanted):
            fitting.append(delimiter)
    if len(fitting) == 1:
        return fitting[0]
    names = ", ".join(column.name for column in spec.columns if column.required)
    raise FileRefused(
        f"has no header for {names} in row {spec.header_row}, whichever delimiter separates its cells"
        if not fitting
        else "has a header that several delimiters fit: declare its delimiter"
    )


def _header(path: Path, encoding: str, delimiter: str, header_row: int) -> set[str] | None:
    csv.field_size_limit(CELL_CHARACTERS_MAX)
    try:
        with path.open(encoding=encoding, newline="") as file:
            for number, row in enumerate(csv.reader(file, delimiter=delimiter, strict=True), start=1):
                if number == header_row:
                    return {folded(header) for header in row}
    except csv.Error:
        return None
    except UnicodeError:
        raise FileRefused(f"isn't text in {encoding}: declare its encoding") from None
    return None
