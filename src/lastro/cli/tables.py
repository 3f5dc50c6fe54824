"""
Tables for people: drawn by Rich on a terminal, lines of tab-separated values under a header line anywhere else.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Final

# Columns whose values are lined up at the right.
NUMBERS: Final = frozenset(
    {"amount", "balance", "posted", "held", "available", "floor", "id", "transfer", "from", "to", "transfers (about)"}
)


def print_table(rows: Sequence[Mapping[str, str]]) -> None:
    """
    Print *rows*, whose keys are the columns. Nothing at all for no rows.
    """
    if not rows:
        return
    if sys.stdout.isatty():
        _draw(rows)
        return
    print("\t".join(rows[0]))
    for row in rows:
        print("\t".join(_one_line(value) for value in row.values()))


def _draw(rows: Sequence[Mapping[str, str]]) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=SIMPLE_HEAD)
    for column in rows[0]:
        table.add_column(column, justify="right" if column in NUMBERS else "left", overflow="fold")
    for row in rows:
        # Text, not str: an account may well be called "[red]".
        table.add_row(*(Text(_one_line(value)) for value in row.values()))
    Console().print(table)


def _one_line(value: str) -> str:
    return "".join(character if character.isprintable() else f"\\u{ord(character):04x}" for character in value)
