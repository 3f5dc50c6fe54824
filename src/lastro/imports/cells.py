"""
Cells: where one stands (`B7`), what it may hold, and how what can't be read of it is told.
"""

from __future__ import annotations

from datetime import date, datetime, time, timedelta
from typing import Final, NamedTuple, TypeAlias

from lastro.imports.limits import SHOWN_CHARACTERS_MAX

LETTERS: Final = 26


class Unreadable:
    """
    Stands in the place of a value that must not be taken for one: an error, a formula without its result.
    """

    __slots__ = ("reason", "shown")

    def __init__(self, shown: str, reason: str) -> None:
        self.shown = shown
        self.reason = reason

    def __repr__(self) -> str:
        return self.shown


# What readers of all formats give: an empty cell is "", a number is a float, whatever it looked like.
Value: TypeAlias = str | float | bool | date | datetime | time | timedelta | Unreadable


class Merge(NamedTuple):
    """
    Cells merged into one, from its first row and column to its last; rows count from 1, columns from 0.
    """

    first_row: int
    first_column: int
    last_row: int
    last_column: int

    def __str__(self) -> str:
        return f"{address(self.first_row, self.first_column)}:{address(self.last_row, self.last_column)}"


class FileRefused(Exception):
    """
    A file, a member or a sheet can't be read at all; the message is the reason, for the person who sent it.
    """


class CellRefused(Exception):
    """
    A cell is not what its column is declared to be; the message says why.
    """


def letters(column: int) -> str:
    """
    Return a column's letters: `A` for 0, `AA` for 26.
    """
    named = ""
    column += 1
    while column:
        column, letter = divmod(column - 1, LETTERS)
        named = chr(ord("A") + letter) + named
    return named


def column_of(letters: str) -> int:
    """
    Return the column that the letters name, counted from 0.
    """
    column = 0
    for letter in letters:
        column = column * LETTERS + ord(letter) - ord("A") + 1
    return column - 1


def address(row: int, column: int) -> str:
    """
    Return a cell's address: `B7` for row 7 and column 1.
    """
    return f"{letters(column)}{row}"


def shown(value: object) -> str:
    """
    Return a cell's value as it may stand in a message or a report: short, and on one line.
    """
    text = value if isinstance(value, str) else str(value)
    cut = text[:SHOWN_CHARACTERS_MAX]
    plain = "".join(character if character.isprintable() else f"\\u{ord(character):04x}" for character in cut)
    return plain + "…" if len(text) > SHOWN_CHARACTERS_MAX else plain
