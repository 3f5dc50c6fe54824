"""
One sheet through its spec: the header found, each row judged, good rows staged, rejected ones kept aside with reasons.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import compress
from pathlib import Path
from typing import Any, Final, NamedTuple
from zoneinfo import ZoneInfo

from lastro.imports.cells import FileRefused, Unreadable, Value, address, shown
from lastro.imports.columns import Column, folded
from lastro.imports.converting import ColumnReader, Converted
from lastro.imports.limits import REJECTIONS_SHOWN_MAX
from lastro.imports.merging_cells import MergedCells
from lastro.imports.reports import Rejection, SheetReport
from lastro.imports.sheets import Batch, Sheet
from lastro.imports.specs import SheetSpec
from lastro.imports.staging import NOTHING, Staged

HIDDEN_SHOWN_MAX: Final = 5


class Place(NamedTuple):
    """
    Which sheet is read, for whom, and where its rows go.
    """

    file: str
    sheet: str
    staged: Path
    aside: Path


class _Rows(NamedTuple):
    """Rows with their cells by column: `columns[i][j]` is the cell of field i in row `numbers[j]`."""

    numbers: list[int]
    columns: list[Sequence[Value]]


def read_sheet(
    sheet: Sheet, spec: SheetSpec, place: Place, *, period: str | None, on_rows: Callable[[int, float], None]
) -> SheetReport:
    """
    Read *sheet* as *spec* says and return the report. *on_rows* hears of rows read so far, and of the share of the whole.

    Raises `FileRefused` for what makes the whole sheet unfit: no such header, hidden rows, no row at all.
    """
    reading = _SheetReading(sheet, spec, place, period)
    try:
        for batch in sheet.batches():
            reading.take(batch)
            on_rows(reading.rows + reading.rejected, sheet.share_read)
        return reading.report()
    finally:
        reading.close()


class _SheetReading:
    def __init__(self, sheet: Sheet, spec: SheetSpec, place: Place, period: str | None) -> None:
        self._sheet, self._spec, self._place, self._period = sheet, spec, place, period
        self._header: dict[str, int] | None = None
        self._missing: tuple[str, ...] = ()
        self._unread: tuple[str, ...] = ()
        self._columns: list[Column] = []
        self._readers: list[ColumnReader] = []
        self._merged: MergedCells | None = None
        self._staged = Staged(place.staged, place.aside)
        self._rejections: list[Rejection] = []
        self._cells_rejected = self._blank = self._totals = self._hidden = 0
        self._above = 0
        self.rows = self.rejected = 0

    def take(self, batch: Batch) -> None:
        """Read one batch."""
        if self._header is None and not self._find_header(batch):
            return
        rows = self._data(batch)
        if not rows.numbers:
            return
        converted = self._convert(rows)
        faults: dict[int, list[tuple[int | None, str]]] = {}
        for field, (_, refused) in enumerate(converted):
            for index, reason in refused.items():
                faults.setdefault(index, []).append((field, reason))
        for index, reason in self._outside(rows, converted):
            faults.setdefault(index, []).append((self._field(self._spec.period), reason))
        if batch.faults:
            for index, number in enumerate(rows.numbers):
                if number in batch.faults:
                    faults[index] = [(None, batch.faults[number])]
        texts: list[Sequence[str]] = [column.texts for column in converted]
        if faults:
            self._reject(rows, faults)
            good = [index not in faults for index in range(len(rows.numbers))]
            texts = [list(compress(column, good)) for column in texts]
            rows = _Rows(list(compress(rows.numbers, good)), [])
        self.rows += len(rows.numbers)
        self._staged.write(rows.numbers, texts)

    def report(self) -> SheetReport:
        """The report, when all batches have been taken."""
        if self._header is None:
            raise FileRefused(f"has no row {self._spec.header_row}, where its header should be")
        if not self.rows + self.rejected:
            raise FileRefused("has a header and no row below it: an empty sheet is taken for a mistake")
        return SheetReport(
            spec=self._spec.name,
            sheet=self._place.sheet,
            rows=self.rows,
            rejected=self.rejected,
            cells_rejected=self._cells_rejected,
            blank=self._blank,
            totals=self._totals,
            hidden=self._hidden,
            fields=tuple(column.name for column in self._columns),
            missing=self._missing,
            unread=self._unread,
            staged=self._place.staged,
            aside=self._place.aside,
            rejections=tuple(self._rejections),
            notes=dict(self._sheet.notes),
        )

    def close(self) -> None:
        """Close the files."""
        self._staged.close()

    def _find_header(self, batch: Batch) -> bool:
        at = self._spec.header_row
        for index, number in enumerate(batch.numbers):
            if number == at:
                self._read_header(batch.rows[index], batch.offset)
                return True
            if number > at:
                break
        if batch.numbers[-1] > at:
            raise FileRefused(f"has nothing in row {at}, where its header should be")
        return False

    def _read_header(self, row: Sequence[Value], offset: int) -> None:
        found: dict[str, int] = {}
        wanted = {header: column.name for column in self._spec.columns for header in column.accepted}
        unread = []
        for index, value in enumerate(row):
            header = value if isinstance(value, str) else shown(value)
            if not header.strip():
                continue
            name = wanted.get(folded(header))
            if name is None:
                unread.append(shown(header))
            elif name in found:
                raise FileRefused(
                    f"has two columns for {name}: {address(self._spec.header_row, found[name])} and "
                    f"{address(self._spec.header_row, index + offset)}"
                )
            else:
                found[name] = index + offset
        self._columns = [column for column in self._spec.columns if column.name in found]
        missing = [column for column in self._spec.columns if column.name not in found]
        needed = [column.name for column in missing if column.required or self._pays(column)]
        if needed:
            raise FileRefused(
                f"has no column for {', '.join(needed)} in row {self._spec.header_row}; its headers are "
                f"{', '.join(map(repr, (*found, *unread))) or 'none'}"
            )
        if self._spec.hidden == "refuse":
            hidden = [name for name, column in found.items() if column in self._sheet.hidden_columns]
            if hidden:
                raise FileRefused(f'has hidden columns ({", ".join(hidden)}): show them, or declare hidden = "read"')
        self._header, self._unread = found, tuple(unread)
        self._missing = tuple(column.name for column in missing)
        self._readers = [ColumnReader(column, self._sheet.date_system) for column in self._columns]
        self._merged = MergedCells(self._columns, [found[column.name] for column in self._columns])

    def _pays(self, column: Column) -> bool:
        """Whether amounts that are there need this column, which says their currency."""
        return any(other.currency_from == column.name for other in self._columns)

    def _data(self, batch: Batch) -> _Rows:
        """The rows below the header that hold data, by column."""
        assert self._header is not None, "the header was found"
        rows = _below(batch, self._spec.header_row)
        cells = list(zip(*rows.rows, strict=True))
        empty: Sequence[Value] = [""] * len(rows.numbers)
        columns = [
            cells[at - batch.offset] if 0 <= at - batch.offset < len(cells) else empty
            for at in (self._header[column.name] for column in self._columns)
        ]
        numbers = list(rows.numbers)
        if not numbers:
            return _Rows([], columns)
        assert self._merged is not None, "made with the header"
        columns = self._merged.applied(self._sheet.merges, numbers, columns)
        kept = self._kept(numbers, columns, batch)
        if kept is None:
            return _Rows(numbers, columns)
        return _Rows(list(compress(numbers, kept)), [list(compress(column, kept)) for column in columns])

    def _kept(self, numbers: list[int], columns: list[Sequence[Value]], batch: Batch) -> list[bool] | None:
        """Which rows are data; None where all are."""
        kept = [True] * len(numbers)
        dropped = False
        # A required column without an empty cell says that no row is blank.
        if not any(column.required and "" not in cells for column, cells in zip(self._columns, columns, strict=True)):
            for index, row in enumerate(zip(*columns, strict=True)):
                if all(isinstance(value, str) and not value.strip() for value in row):
                    kept[index], dropped = False, True
                    self._blank += 1
        if self._spec.totals is not None:
            at = self._field(self._spec.totals.column)
            words = tuple(text.strip().casefold() for text in self._spec.totals.texts)
            for index, value in enumerate(columns[at] if at is not None else ()):
                if isinstance(value, str) and value.strip().casefold().startswith(words):
                    kept[index], dropped = False, True
                    self._totals += 1
        if batch.hidden:
            dropped |= self._hide(numbers, kept, batch.hidden)
        return kept if dropped else None

    def _hide(self, numbers: list[int], kept: list[bool], hidden: frozenset[int]) -> bool:
        found = [index for index, number in enumerate(numbers) if kept[index] and number in hidden]
        self._hidden += len(found)
        if found and self._spec.hidden == "refuse":
            first = ", ".join(str(numbers[index]) for index in found[:HIDDEN_SHOWN_MAX])
            raise FileRefused(
                f"has hidden rows with data (row {first}{', …' if len(found) > HIDDEN_SHOWN_MAX else ''}): "
                'show them, or declare hidden = "read" or "skip"'
            )
        if self._spec.hidden == "skip":
            for index in found:
                kept[index] = False
            return bool(found)
        return False

    def _convert(self, rows: _Rows) -> list[Converted]:
        converted: list[Converted | None] = [None] * len(self._columns)
        # Amounts come last, when the currencies of their rows are known.
        for index in sorted(
            range(len(self._columns)), key=lambda index: self._columns[index].currency_from is not None
        ):
            said = self._columns[index].currency_from
            theirs = converted[self._field(said) or 0] if said is not None else None
            currency_of = None if theirs is None else theirs.texts
            converted[index] = self._readers[index].convert(rows.columns[index], currency_of)
        return [column for column in converted if column is not None]

    def _outside(self, rows: _Rows, converted: list[Converted]) -> Iterator[tuple[int, str]]:
        """The rows outside the declared period, by index."""
        at = self._field(self._spec.period)
        if self._period is None or at is None:
            return
        texts, refused = converted[at]
        months = {text: _month(text, self._columns[at].zone) for text in set(texts) if text != NOTHING}
        for index, text in enumerate(texts):
            if index not in refused and months[text] != self._period:
                yield index, f"lies outside the period {self._period}"

    def _field(self, name: str | None) -> int | None:
        return next((index for index, column in enumerate(self._columns) if column.name == name), None)

    def _reject(self, rows: _Rows, faults: Mapping[int, list[tuple[int | None, str]]]) -> None:
        assert self._header is not None, "the header was found"
        for index in sorted(faults):
            number = rows.numbers[index]
            cells = {column.name: _raw(rows.columns[field][index]) for field, column in enumerate(self._columns)}
            reasons: list[dict[str, Any]] = []
            for field, reason in faults[index]:
                name = None if field is None else self._columns[field].name
                cell = f"row {number}" if name is None else address(number, self._header[name])
                value = "" if field is None else shown(rows.columns[field][index])
                reasons.append({"cell": cell, "field": name, "value": value, "reason": reason})
                self._cells_rejected += 1
                if len(self._rejections) < REJECTIONS_SHOWN_MAX:
                    self._rejections.append(
                        Rejection(file=self._place.file, sheet=self._place.sheet, cell=cell, value=value, reason=reason)
                    )
            self._staged.put_aside(number, cells, reasons)
        self.rejected += len(faults)


def _below(batch: Batch, header_row: int) -> Batch:
    """The rows of a batch below the header."""
    if batch.numbers[0] > header_row:
        return batch
    first = next((index for index, number in enumerate(batch.numbers) if number > header_row), len(batch.numbers))
    return batch._replace(numbers=batch.numbers[first:], rows=batch.rows[first:])


def _raw(value: Value) -> str | float | bool:
    if isinstance(value, Unreadable):
        return value.shown
    return value if isinstance(value, str | float | bool) else str(value)


def _month(text: str, zone: str | None) -> str:
    """The month of a converted date; of an instant it is the month that the clocks of its column's zone showed."""
    local = text if zone is None else datetime.fromisoformat(text).astimezone(ZoneInfo(zone)).isoformat()
    return local[: len("2026-11")]
