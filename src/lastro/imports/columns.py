"""
A column as it is declared: which headers it stands under, what it holds, how numbers and dates are written in it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, Literal, NoReturn, TypeAlias, get_args
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from lastro.errors import InvalidInput
from lastro.imports.dates import DateOrder
from lastro.imports.limits import (
    CELL_CHARACTERS_MAX,
    FIELD_CHARACTERS_MAX,
    FLOAT_DIGITS_MAX,
    HEADERS_MAX,
    NAME_CHARACTERS_MAX,
    PLACES_MAX,
    TEXT_CHARACTERS_MAX,
)
from lastro.model import currencies
from lastro.model.text import shown

ColumnType: TypeAlias = Literal["text", "integer", "decimal", "money", "date", "datetime", "boolean"]
Merged: TypeAlias = Literal["refuse", "fill"]

FIELD: Final = re.compile(r"[a-z][a-z0-9_]*")
DECIMAL_MARKS: Final = (".", ",")
THOUSANDS: Final = ("", ".", ",", " ", "'", "\N{NO-BREAK SPACE}", "\N{NARROW NO-BREAK SPACE}")
# A sheet's row number is staged under this name, before the fields.
ROW_FIELD: Final = "row"
YES: Final = ("true",)
NO: Final = ("false",)


@dataclass(frozen=True, kw_only=True)
class Column:
    """
    A column of a sheet, and the field that it becomes.

    `headers` are the names that it may have in a file (compared without case and outer blanks; its own name where none
    is given). A `required` column must be there, and filled in every row. `places` are the decimals of a `decimal`,
    `width` the digits to which a number in a `text` column is filled up with zeros. `money` is staged in minor units of
    its `currency`, or of the one that another column, `currency_from`, says in the same row. A `datetime` needs a
    `zone`. `serials` takes numbers without a date's format for dates. `yes` and `no` are the words of a `boolean`.
    Cells merged downwards are refused, or filled with their first one where `merged` is "fill".

    Raises `InvalidInput` for anything else.
    """

    name: str
    type: ColumnType
    headers: tuple[str, ...] = ()
    required: bool = False
    characters_max: int = TEXT_CHARACTERS_MAX
    width: int = 0
    places: int | None = None
    currency: str | None = None
    currency_from: str | None = None
    decimal_mark: str = "."
    thousands: str = ""
    symbol: str = ""
    dates: DateOrder = "iso"
    zone: str | None = None
    serials: bool = False
    yes: tuple[str, ...] = YES
    no: tuple[str, ...] = NO
    merged: Merged = "refuse"

    def __post_init__(self) -> None:
        _field_name(self.name)
        _one_of(self, "type", get_args(ColumnType))
        _one_of(self, "dates", get_args(DateOrder))
        _one_of(self, "merged", get_args(Merged))
        _one_of(self, "decimal_mark", DECIMAL_MARKS)
        _one_of(self, "thousands", THOUSANDS)
        if self.thousands == self.decimal_mark:
            self.refuse("thousands", f"is the decimal mark {self.decimal_mark!r} as well")
        _texts(self, "headers", HEADERS_MAX)
        _texts(self, "yes", HEADERS_MAX)
        _texts(self, "no", HEADERS_MAX)
        _flag(self, "required")
        _flag(self, "serials")
        _whole(self, "characters_max", 1, CELL_CHARACTERS_MAX)
        _whole(self, "width", 0, FLOAT_DIGITS_MAX)
        self._check_scale()
        self._check_zone()
        if {word.casefold() for word in self.yes} & {word.casefold() for word in self.no}:
            self.refuse("yes", "and no have a word in common")

    @property
    def accepted(self) -> frozenset[str]:
        """The headers of this column, as they are compared."""
        return frozenset(folded(header) for header in self.headers or (self.name,))

    def refuse(self, setting: str, why: str) -> NoReturn:
        """Raise InvalidInput that names the column's setting."""
        raise InvalidInput(f"column {shown(self.name)}: {setting} {why}", argument=f"{self.name}.{setting}")

    def _check_scale(self) -> None:
        if (self.places is None) == (self.type == "decimal"):
            self.refuse("places", "are the decimals of a decimal column, and of no other")
        if self.places is not None:
            _whole(self, "places", 0, PLACES_MAX)
        named = [name for name in (self.currency, self.currency_from) if name is not None]
        if len(named) != (self.type == "money"):
            self.refuse("currency", "or currency_from, one of them, belongs to a money column, and to no other")
        if self.currency is not None:
            currencies.exponent(self.currency)
        if self.currency_from is not None:
            _field_name(self.currency_from)
        if not isinstance(self.symbol, str) or len(self.symbol) > FIELD_CHARACTERS_MAX:
            self.refuse("symbol", "must be a short text")

    def _check_zone(self) -> None:
        if (self.zone is None) == (self.type == "datetime"):
            self.refuse("zone", "belongs to a datetime column, and to no other: the name of a time zone, like UTC")
        if self.zone is not None:
            try:
                ZoneInfo(self.zone)
            except (ZoneInfoNotFoundError, ValueError, OSError, TypeError):
                self.refuse("zone", f"names no time zone: {shown(self.zone)}")


def folded(header: str) -> str:
    """
    Return a header as headers are compared: without case, and with single blanks.
    """
    return " ".join(header.split()).casefold()


def _field_name(name: object) -> None:
    if not isinstance(name, str) or not FIELD.fullmatch(name) or len(name) > FIELD_CHARACTERS_MAX:
        raise InvalidInput(
            f"a field is named by small letters, digits and _, at most {FIELD_CHARACTERS_MAX}; got {shown(name)}",
            argument="name",
        )
    if name == ROW_FIELD:
        raise InvalidInput(f"no field can be called {ROW_FIELD!r}: the sheet's row number is", argument="name")


def _one_of(column: Column, setting: str, words: tuple[str, ...]) -> None:
    given = getattr(column, setting)
    if given not in words:
        column.refuse(setting, f"is one of {', '.join(map(repr, words))}; got {shown(given)}")


def _texts(column: Column, setting: str, most: int) -> None:
    given = getattr(column, setting)
    good = isinstance(given, tuple) and len(given) <= most
    if not good or not all(isinstance(text, str) and 0 < len(text.strip()) <= NAME_CHARACTERS_MAX for text in given):
        column.refuse(setting, f"are up to {most} texts, none of them blank")


def _flag(column: Column, setting: str) -> None:
    if not isinstance(getattr(column, setting), bool):
        column.refuse(setting, "is true or false")


def _whole(column: Column, setting: str, least: int, most: int) -> None:
    given = getattr(column, setting)
    if isinstance(given, bool) or not isinstance(given, int) or not least <= given <= most:
        column.refuse(setting, f"is a whole number from {least} to {most}; got {shown(given)}")
