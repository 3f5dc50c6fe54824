"""
Tables for people: drawn by Rich on a terminal, lines of tab-separated values under a header line anywhere else.

Nothing is cut off: where a terminal is narrow, values go on below in their column, and where that won't do, each value
gets a line of its own.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Final

# Columns whose values are lined up at the right.
NUMBERS: Final = frozenset(
    {"amount", "balance", "posted", "held", "available", "floor", "id", "transfer", "from", "to", "transfers (about)"}
)


# Below this width a column is no longer readable, and Rich would begin to drop what doesn't fit.
COLUMN_CHARACTERS_MIN: Final = 10
# A blank on either side.
PADDING_CHARACTERS: Final = 2


def print_table(rows: Sequence[Mapping[str, str]], *, goes_on: bool = False) -> None:
    """
    Print *rows*, whose keys are the columns. Nothing at all for no rows. A table that *goes_on* has had its header line.
    """
    if not rows:
        return
    if sys.stdout.isatty():
        _draw(rows)
        return
    if not goes_on:
        print("\t".join(rows[0]))
    for row in rows:
        print("\t".join(_one_line(value) for value in row.values()))


def _draw(rows: Sequence[Mapping[str, str]]) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console()
    if _least_width(rows) > console.width:
        for row in rows:
            for column, value in row.items():
                print(f"{column}: {_one_line(value)}")
            print()
        return
    table = Table(box=SIMPLE_HEAD)
    for column in rows[0]:
        table.add_column(column, justify="right" if column in NUMBERS else "left", overflow="fold")
    for row in rows:
        # Text, not str: an account may well be called "[red]".
        table.add_row(*(Text(_one_line(value)) for value in row.values()))
    console.print(table)


def _least_width(rows: Sequence[Mapping[str, str]]) -> int:
    from rich.cells import cell_len

    widest = {column: max(cell_len(column), *(cell_len(_one_line(row[column])) for row in rows)) for column in rows[0]}
    return sum(min(width, COLUMN_CHARACTERS_MIN) + PADDING_CHARACTERS for width in widest.values()) + PADDING_CHARACTERS


def _one_line(value: str) -> str:
    return "".join(character if character.isprintable() else f"\\u{ord(character):04x}" for character in value)
