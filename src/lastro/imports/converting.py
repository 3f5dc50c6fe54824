"""
A column's cells turned into its type, many at once: the texts that COPY takes, and for each refused cell the reason.

A column of one kind of value goes the short way, by comprehensions and whole-column checks; as soon as anything in it
is not plain, every cell goes the careful way, which alone says what is right. Both must agree, and a test compares them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime
from typing import Any, Final, NamedTuple

from lastro.errors import InvalidInput
from lastro.imports.cells import CellRefused, Unreadable, Value
from lastro.imports.columns import Column
from lastro.imports.dates import (
    DateSystem,
    date_of_text,
    instant,
    moment_of_text,
    of_serial,
    safe_day,
    to_the_millisecond,
    whole_day,
)
from lastro.imports.limits import FLOAT_DIGITS_MAX, KNOWN_VALUES_MAX
from lastro.imports.numbers import bounded, text_of_number, units_of_float, units_of_text, written
from lastro.imports.staging import NOTHING, escaped
from lastro.model import currencies

_EMPTY: Final = "is empty, and its column is required"
_STR: Final = frozenset({str})
_FLOAT: Final = frozenset({float})
_DATE: Final = frozenset({date})
_DATETIME: Final = frozenset({datetime})
_BOOL: Final = frozenset({bool})
# Between the texts of a column while it is looked at as one; a cell can't hold it.
_BETWEEN: Final = "\0"
_TO_ESCAPE: Final = ("\\", "\t", "\n", "\r")


class Converted(NamedTuple):
    """
    A column after conversion: a text for each row, and why some are none, by their index.
    """

    texts: list[str]
    refused: dict[int, str]


class ColumnReader:
    """
    Turns the cells of one column into texts. `currencies` are those of the same rows, for money whose rows say theirs.
    """

    def __init__(self, column: Column, system: DateSystem) -> None:
        self._column = column
        self._system = system
        self._careful = _CAREFUL[column.type]
        self._known: dict[Value, str] = {}
        self._places: int | None = column.places
        if column.type == "integer":
            self._places = 0
        elif column.currency is not None:
            self._places = currencies.exponent(column.currency)

    def convert(self, values: Sequence[Value], currency_of: Sequence[str] | None = None) -> Converted:
        """Convert a column's cells."""
        quick = self._quick(values, currency_of)
        if quick is not None:
            return Converted(quick, {})
        texts: list[str] = []
        refused: dict[int, str] = {}
        for index, value in enumerate(values):
            try:
                texts.append(self.one(value, None if currency_of is None else currency_of[index]))
            except CellRefused as why:
                texts.append(NOTHING)
                refused[index] = str(why)
        return Converted(texts, refused)

    def one(self, value: Value, currency: str | None = None) -> str:
        """Convert one cell, the careful way; raises `CellRefused`."""
        if isinstance(value, Unreadable):
            raise CellRefused(value.reason)
        if isinstance(value, str):
            value = value.strip()
            if not value:
                if self._column.required:
                    raise CellRefused(_EMPTY)
                return NOTHING
        return self._careful(self, value, currency)

    def _quick(self, values: Sequence[Value], currency_of: Sequence[str] | None) -> list[str] | None:
        """The texts of a column that has nothing unusual; None where it has."""
        kinds = frozenset(map(type, values))
        if len(kinds) > 1:
            return None if self._column.required or str not in kinds else self._quick_filled(values, currency_of)
        kind = self._column.type
        # One kind of value only, which the checker can't know.
        alike: Any = values
        if kinds == _STR:
            if kind == "text":
                return self._quick_texts(alike)
            return self._by_value(alike) if kind in ("date", "datetime", "boolean") else None
        if kinds == _FLOAT and kind in ("integer", "decimal", "money"):
            places = self._places if currency_of is None else _one_exponent(currency_of)
            return None if places is None else self._quick_numbers(alike, places)
        if kind == "date" and kinds == _DATE:
            return self._by_value(alike)
        if kind == "datetime" and kinds in (_DATE, _DATETIME):
            return self._by_value(alike)
        if kind == "boolean" and kinds == _BOOL:
            return ["t" if value else "f" for value in alike]
        return None

    def _quick_filled(self, values: Sequence[Value], currency_of: Sequence[str] | None) -> list[str] | None:
        """The texts of a column in which some cells are empty and all others of one kind, not text."""
        filled = [index for index, value in enumerate(values) if value != ""]
        if frozenset(type(values[index]) for index in filled) & {str, Unreadable}:
            return None
        theirs = None if currency_of is None else [currency_of[index] for index in filled]
        quick = self._quick([values[index] for index in filled], theirs)
        if quick is None:
            return None
        texts = [NOTHING] * len(values)
        for index, text in zip(filled, quick, strict=True):
            texts[index] = text
        return texts

    def _quick_texts(self, values: Sequence[str]) -> list[str] | None:
        texts = [*map(str.strip, values)]
        whole = _BETWEEN.join(texts)
        if whole.count(_BETWEEN) != len(texts) - 1 or any(escape in whole for escape in _TO_ESCAPE):
            return None
        if max(map(len, texts)) > self._column.characters_max or not (whole.isascii() or _plain(whole)):
            return None
        if "" in texts:
            return None if self._column.required else [text or NOTHING for text in texts]
        return texts

    def _by_value(self, values: Sequence[Value]) -> list[str] | None:
        """Each value once: the same dates come again and again."""
        known = self._known
        if len(known) > KNOWN_VALUES_MAX:
            known.clear()
        try:
            for value in set(values).difference(known):
                known[value] = self.one(value)
        except CellRefused:
            return None
        return [known[value] for value in values]

    def _quick_numbers(self, values: Sequence[float], places: int) -> list[str] | None:
        """Exact where each number is the very float that its decimals make; see units_of_float."""
        if self._column.type == "decimal" and places:
            return _quick_decimals(values, places)
        power = 10**places
        try:
            units = [round(value * power) for value in values] if places else [*map(int, values)]
        except (ValueError, OverflowError):
            return None
        if not -(10**FLOAT_DIGITS_MAX) < min(units) <= max(units) < 10**FLOAT_DIGITS_MAX:
            return None
        return [*map(str, units)] if [one / power for one in units] == list(values) else None

    def _text(self, value: Value, _: str | None) -> str:
        if isinstance(value, bool) or not isinstance(value, str | float):
            raise CellRefused(f"is {_kind(value)} in a column of text")
        text = text_of_number(value, self._column.width) if isinstance(value, float) else value
        if len(text) > self._column.characters_max:
            raise CellRefused(f"has {len(text)} characters; its column takes {self._column.characters_max}")
        if _BETWEEN in text:
            raise CellRefused("holds a NUL character")
        if not text.isascii() and not _plain(text):
            raise CellRefused("holds half a character (a lone surrogate)")
        return escaped(text)

    def _number(self, value: Value, currency: str | None) -> str:
        if isinstance(value, bool) or not isinstance(value, str | float):
            raise CellRefused(f"is {_kind(value)} in a column of numbers")
        places = self._places if self._column.currency_from is None else _exponent(currency)
        assert places is not None, "a number's column has a scale"
        if isinstance(value, float):
            units = units_of_float(value, places)
        else:
            column = self._column
            units = units_of_text(
                value, places, decimal_mark=column.decimal_mark, thousands=column.thousands, symbol=column.symbol
            )
        if self._column.type == "decimal":
            return written(units, places)
        return str(bounded(units))

    def _date(self, value: Value, _: str | None) -> str:
        if isinstance(value, str):
            return date_of_text(value, self._column.dates).isoformat()
        if isinstance(value, datetime):
            return safe_day(whole_day(to_the_millisecond(value))).isoformat()
        if isinstance(value, date):
            return safe_day(value).isoformat()
        return whole_day(self._serial(value)).isoformat()

    def _datetime(self, value: Value, _: str | None) -> str:
        zone = self._column.zone or "UTC"
        if isinstance(value, str):
            moment = moment_of_text(value, self._column.dates, zone)
        elif isinstance(value, datetime):
            safe_day(value.date())
            moment = instant(to_the_millisecond(value), zone)
        elif isinstance(value, date):
            moment = instant(datetime(value.year, value.month, value.day), zone)  # noqa: DTZ001  (the zone is the column's)
            safe_day(value)
        else:
            moment = instant(self._serial(value), zone)
        return moment.astimezone(UTC).isoformat(sep=" ")

    def _serial(self, value: Value) -> datetime:
        if isinstance(value, bool) or not isinstance(value, float):
            raise CellRefused(f"is {_kind(value)} in a column of dates")
        if not self._column.serials:
            raise CellRefused("is a number in a column of dates: format the cell as a date, or declare serials = true")
        return of_serial(value, self._system)

    def _boolean(self, value: Value, _: str | None) -> str:
        if isinstance(value, bool):
            return "t" if value else "f"
        if isinstance(value, str | float):
            # Some programs keep a boolean as 1 or 0: those are words like others, where they are declared.
            whole = isinstance(value, float) and value.is_integer()
            word = str(int(value)) if whole else str(value).casefold()
            if word in {yes.casefold() for yes in self._column.yes}:
                return "t"
            if word in {no.casefold() for no in self._column.no}:
                return "f"
            raise CellRefused(f"is none of {', '.join((*self._column.yes, *self._column.no))}")
        raise CellRefused(f"is {_kind(value)} in a column of booleans")


_CAREFUL: Final[dict[str, Callable[[ColumnReader, Value, str | None], str]]] = {
    "text": ColumnReader._text,  # noqa: SLF001  (this module's own)
    "integer": ColumnReader._number,  # noqa: SLF001
    "decimal": ColumnReader._number,  # noqa: SLF001
    "money": ColumnReader._number,  # noqa: SLF001
    "date": ColumnReader._date,  # noqa: SLF001
    "datetime": ColumnReader._datetime,  # noqa: SLF001
    "boolean": ColumnReader._boolean,  # noqa: SLF001
}


def _exponent(currency: str | None) -> int:
    if currency is None or currency == NOTHING:
        raise CellRefused("is an amount whose row doesn't say its currency")
    try:
        return currencies.exponent(currency)
    except InvalidInput:
        raise CellRefused(f"is an amount in {currency}, which ISO 4217 doesn't know") from None


def _one_exponent(currency_of: Sequence[str]) -> int | None:
    """The decimals that the currencies of all rows have in common; None where they haven't, or one is unknown."""
    try:
        found = {_exponent(currency) for currency in set(currency_of)}
    except CellRefused:
        return None
    return found.pop() if len(found) == 1 else None


def _quick_decimals(values: Sequence[float], places: int) -> list[str] | None:
    """The texts that are read as these very floats again, where all have so few decimals."""
    most = 10.0 ** (FLOAT_DIGITS_MAX - places)
    if not -most < min(values) <= max(values) < most:
        return None
    form = f"%.{places}f"
    texts = [form % value for value in values]
    # -0.0 would keep its sign.
    return texts if [*map(float, texts)] == list(values) and form % -0.0 not in texts else None


def _plain(text: str) -> bool:
    """Whether UTF-8 can hold it: a lone surrogate is no character."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _kind(value: object) -> str:
    named = {bool: "a boolean", float: "a number", str: "text", datetime: "a date with a time", date: "a date"}
    return named.get(type(value), "a time of day or a duration")
