"""
A sheet as it is declared: where it stands, its columns, what names a row, and what is done with what isn't plain data.
"""

from __future__ import annotations

import codecs
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Final, Literal, NoReturn, TypeAlias, get_args

from lastro.errors import InvalidInput
from lastro.imports.columns import FIELD, Column
from lastro.imports.dates import DateSystem
from lastro.imports.limits import (
    FIELD_CHARACTERS_MAX,
    HEADER_ROW_MAX,
    HEADERS_MAX,
    NAME_CHARACTERS_MAX,
    SHEETS_MAX,
    SPEC_COLUMNS_MAX,
    SPECS_MAX,
)
from lastro.model.text import shown

Hidden: TypeAlias = Literal["refuse", "read", "skip"]
Uncalculated: TypeAlias = Literal["refuse", "read"]

# The encoding of a csv file is found out by a stated rule, unless it is declared.
DETECT: Final = "detect"
ENCODINGS: Final = frozenset(
    {"utf-8", "utf-16", "utf-16-le", "utf-16-be", "cp1252", "iso8859-1", "iso8859-15", "cp850", "cp437", "ascii"}
)
DELIMITERS: Final = (",", ";", "\t", "|")


@dataclass(frozen=True, kw_only=True)
class Totals:
    """
    Which rows are totals and no data: those whose `column` begins with one of the `texts`, without case.
    """

    column: str
    texts: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class SheetSpec:
    """
    What a sheet must be.

    `name` is also that of what its rows become. `sheet` names it, or counts from 1; a csv file is one sheet, and is
    meant by the spec whose `files` pattern its name fits (or by the only one). `header_row` counts from 1. The fields
    of `key` together name a row, and are required; `period` is the field whose date says to which period a row belongs.

    `hidden` says what is done with hidden rows, columns and sheets, `uncalculated` with the formulas of a workbook that
    its program left to be calculated by the next one, `totals` which rows are none. `date_system` insists on the
    workbook's. `encoding` and `delimiter` are a csv file's, found out by a stated rule where they aren't declared.

    Raises `InvalidInput` for anything else.
    """

    name: str
    columns: tuple[Column, ...]
    key: tuple[str, ...]
    sheet: str | int = 1
    files: str | None = None
    header_row: int = 1
    period: str | None = None
    hidden: Hidden = "refuse"
    uncalculated: Uncalculated = "refuse"
    totals: Totals | None = None
    date_system: DateSystem | None = None
    encoding: str = DETECT
    delimiter: str | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not FIELD.fullmatch(self.name) or len(self.name) > FIELD_CHARACTERS_MAX:
            raise InvalidInput(
                f"a spec is named by small letters, digits and _; got {shown(self.name)}", argument="name"
            )
        self._check_columns()
        self._check_fields()
        self._check_place()
        for setting, words in (("hidden", get_args(Hidden)), ("uncalculated", get_args(Uncalculated))):
            if getattr(self, setting) not in words:
                self.refuse(setting, f"is one of {', '.join(words)}; got {shown(getattr(self, setting))}")
        if self.date_system not in (None, *get_args(DateSystem)):
            self.refuse("date_system", "is 1900 or 1904")
        if self.delimiter not in (None, *DELIMITERS):
            self.refuse("delimiter", f"is one of {', '.join(map(repr, DELIMITERS))}")
        if self.encoding != DETECT and _codec(self.encoding) not in ENCODINGS:
            self.refuse("encoding", f"is {DETECT!r} or one of {', '.join(sorted(ENCODINGS))}")

    @property
    def fields(self) -> tuple[str, ...]:
        """The names of its columns, in their order."""
        return tuple(column.name for column in self.columns)

    def column(self, name: str) -> Column:
        """The column of that name, which there must be."""
        return next(column for column in self.columns if column.name == name)

    def fits(self, file: str) -> bool:
        """Whether a file's name says that its one sheet is meant by this spec."""
        return self.files is not None and fnmatchcase(file.casefold(), self.files.casefold())

    def refuse(self, setting: str, why: str) -> NoReturn:
        """Raise InvalidInput that names the spec's setting."""
        raise InvalidInput(f"spec {shown(self.name)}: {setting} {why}", argument=f"{self.name}.{setting}")

    def _check_columns(self) -> None:
        if not isinstance(self.columns, tuple) or not 0 < len(self.columns) <= SPEC_COLUMNS_MAX:
            self.refuse("columns", f"are 1 to {SPEC_COLUMNS_MAX}")
        if not all(isinstance(column, Column) for column in self.columns):
            self.refuse("columns", "must be Columns")
        twice = [name for name, times in Counter(self.fields).items() if times > 1]
        if twice:
            self.refuse("columns", f"name {', '.join(twice)} twice")
        headers = Counter(header for column in self.columns for header in column.accepted)
        shared = [header for header, times in headers.items() if times > 1]
        if shared:
            self.refuse("columns", f"share the header {', '.join(map(repr, shared))}")

    def _check_fields(self) -> None:
        if not isinstance(self.key, tuple) or not self.key or len(set(self.key)) < len(self.key):
            self.refuse("key", "names the fields that together name a row, each once")
        for name in self.key:
            self._known(name, "key")
            if not self.column(name).required:
                self.refuse("key", f"names {name}, which isn't required")
        if self.period is not None:
            self._known(self.period, "period")
            dated = self.column(self.period)
            if dated.type not in ("date", "datetime") or not dated.required:
                self.refuse("period", "must be a required column of dates")
        for column in self.columns:
            if column.currency_from is not None:
                self._known(column.currency_from, f"columns.{column.name}.currency_from")
                if self.column(column.currency_from).type != "text":
                    self.refuse(f"columns.{column.name}.currency_from", "must be a column of text")
        if self.totals is not None:
            self._check_totals(self.totals)

    def _check_totals(self, totals: Totals) -> None:
        self._known(totals.column, "totals.column")
        texts = totals.texts
        good = isinstance(texts, tuple) and 0 < len(texts) <= HEADERS_MAX
        if not good or not all(isinstance(text, str) and text.strip() for text in texts):
            self.refuse("totals.texts", "are what a row of totals begins with, at least one")

    def _check_place(self) -> None:
        counted = isinstance(self.sheet, int) and not isinstance(self.sheet, bool) and 0 < self.sheet <= SHEETS_MAX
        if not counted and not (isinstance(self.sheet, str) and 0 < len(self.sheet.strip()) <= NAME_CHARACTERS_MAX):
            self.refuse("sheet", f"is a sheet's name, or its number from 1 to {SHEETS_MAX}; got {shown(self.sheet)}")
        if self.files is not None and not (isinstance(self.files, str) and 0 < len(self.files) <= NAME_CHARACTERS_MAX):
            self.refuse("files", "is a pattern for names, like '*billing*.csv'")
        row = self.header_row
        if isinstance(row, bool) or not isinstance(row, int) or not 0 < row <= HEADER_ROW_MAX:
            self.refuse("header_row", f"is a row's number from 1 to {HEADER_ROW_MAX}; got {shown(row)}")

    def _known(self, name: object, setting: str) -> None:
        if name not in self.fields:
            self.refuse(setting, f"names {shown(name)}, which is no column of it")


def checked(specs: Sequence[SheetSpec]) -> tuple[SheetSpec, ...]:
    """
    Return the *specs* of one import, which must have names of their own.
    """
    if not 0 < len(specs) <= SPECS_MAX:
        raise InvalidInput(f"an import needs 1 to {SPECS_MAX} specs; got {len(specs)}", argument="specs")
    twice = [name for name, times in Counter(spec.name for spec in specs).items() if times > 1]
    if twice:
        raise InvalidInput(f"two specs are called {', '.join(twice)}", argument="specs")
    return tuple(specs)


def _codec(name: object) -> str | None:
    try:
        return codecs.lookup(name).name if isinstance(name, str) else None
    except LookupError:
        return None
