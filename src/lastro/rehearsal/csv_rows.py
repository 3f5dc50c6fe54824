"""
Rows of a CSV as text: the named columns of each, in whatever order the file has them.
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path

import lastro

ROWS_MAX = 1_000_000


def read_csv(path: Path, columns: Sequence[str], *, of: str) -> list[list[str]]:
    """
    Return the values of *columns* in each row; none may be empty. `of` says in messages what the rows are.

    Raises InvalidInput with the line.
    """
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file, strict=True)
            missing = [column for column in columns if column not in (reader.fieldnames or ())]
            if missing:
                raise lastro.InvalidInput(f"{path} has no column {', '.join(missing)}; the first line names them")
            rows = [_row(path, reader.line_num, said, columns) for said in reader]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise lastro.InvalidInput(f"{path} can't be read as a CSV of {of}: {error}") from error
    if not 1 <= len(rows) <= ROWS_MAX:
        raise lastro.InvalidInput(f"{path} has {len(rows)} rows; expected 1 … {ROWS_MAX}")
    return rows


def _row(path: Path, line: int, said: dict[str, str | None], columns: Sequence[str]) -> list[str]:
    texts = [said[column] for column in columns]
    if None in said or not all(texts):
        raise lastro.InvalidInput(f"{path}, line {line}: expected a value for each of {', '.join(columns)}")
    return [text or "" for text in texts]
