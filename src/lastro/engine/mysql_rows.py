"""
What MySQL and MariaDB give back, as rows of Python values: text from its bytes, moments with their time zone.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

from lastro.errors import InvalidInput, LockTimeout
from lastro.plans.plan import Rows


class Answer(NamedTuple):
    """
    The result of one statement that returns rows.
    """

    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]


def as_rows(answers: Sequence[Answer]) -> Rows:
    """
    Return the rows of the last answer. Raises where a statement says that the server is unfit or a named lock taken.
    """
    rows: Rows = []
    for answer in answers:
        rows = [
            {column: _value(column, value) for column, value in zip(answer.columns, row, strict=True)}
            for row in answer.rows
        ]
        for row in rows:
            _check(row)
    return rows


def _check(row: Any) -> None:
    if row.get("unfit") is not None:
        raise InvalidInput(f"this server isn't fit for a ledger: {row['unfit']}", argument="url")
    if row.get("granted", 1) == 0 or ("granted" in row and row["granted"] is None):
        raise LockTimeout("somebody else does this work now, or watches the server's transactions; try again")


def _value(column: str, value: Any) -> Any:
    if isinstance(value, bytes | bytearray):
        try:
            value = bytes(value).decode()
        except UnicodeDecodeError:
            # Left as it is, for the reader to refuse.
            return bytes(value)
    elif isinstance(value, datetime) and value.tzinfo is None:
        return value.replace(tzinfo=UTC)
    return sorted(json.loads(value)) if column == "ids" and value is not None else value
