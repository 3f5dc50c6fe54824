"""
Rows on their way to the database: a file in the text format of PostgreSQL's COPY, and beside it the rows kept aside.

A row is its number in the sheet, then the fields; tabs between, `\\N` for nothing. Rows that were rejected are written
as JSON, one a line, with what stood in every cell.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any, Final

NOTHING: Final = "\\N"

# What COPY's text format must not hold bare.
_ESCAPES: Final = str.maketrans({"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"})
_ESCAPED: Final = re.compile(r"\\(.)")
_MEANT: Final = {"t": "\t", "n": "\n", "r": "\r"}


class Staged:
    """
    The two files of one sheet while they are written.
    """

    def __init__(self, rows: Path, aside: Path) -> None:
        self._rows: IO[str] = rows.open("w", encoding="utf-8", newline="")
        self._aside: IO[str] = aside.open("w", encoding="utf-8", newline="")

    def write(self, numbers: Iterable[int], columns: Sequence[Sequence[str]]) -> None:
        """Write good rows: their numbers, and each field's texts as COPY takes them."""
        lines = "\n".join(map("\t".join, zip(map(str, numbers), *columns, strict=True)))
        if lines:
            self._rows.write(lines + "\n")

    def put_aside(self, row: int, cells: Mapping[str, Any], reasons: Sequence[Mapping[str, Any]]) -> None:
        """Write a rejected row: what its cells hold, and why it was rejected."""
        line = {"row": row, "cells": cells, "reasons": reasons}
        self._aside.write(json.dumps(line, ensure_ascii=False) + "\n")

    def close(self) -> None:
        """Close both files."""
        self._rows.close()
        self._aside.close()


def escaped(text: str) -> str:
    """
    Return *text* as it stands in COPY's text format.
    """
    return text.translate(_ESCAPES)


def staged_rows(path: Path) -> Iterator[tuple[int, list[str | None]]]:
    """
    Read a staged file again: each row's number and fields. The database reads it by COPY; this is for everybody else.
    """
    with path.open(encoding="utf-8", newline="\n") as file:
        for line in file:
            number, *fields = line.removesuffix("\n").split("\t")
            yield int(number), [None if field == NOTHING else _unescaped(field) for field in fields]


def _unescaped(field: str) -> str:
    return _ESCAPED.sub(lambda found: _MEANT.get(found[1], found[1]), field) if "\\" in field else field
