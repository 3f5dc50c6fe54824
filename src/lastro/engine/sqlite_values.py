"""
Values on their way into SQLite and out of it: moments as microseconds, lists as JSON, sums in halves.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any

from lastro.errors import AmountOutOfRange

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)
NANOSECONDS_IN_A_MICROSECOND = 1_000
# A batch has one moment of recording, and its transfers few of occurring.
MOMENTS_CACHED_MAX = 256


def moment() -> int:
    """
    Return the moment of a transaction. Taken once and under the write lock, so that moments are in the order of the
    commits; the machine's clock is SQLite's own, which would tell it in milliseconds and by one more statement.
    """
    return time.time_ns() // NANOSECONDS_IN_A_MICROSECOND


def microseconds(when: datetime) -> int:
    """
    Return *when* as whole microseconds since 1970 in UTC, exactly.
    """
    return (when - EPOCH) // MICROSECOND


def adapted(params: Mapping[str, Any], now: int) -> dict[str, Any]:
    """
    Return *params* as SQLite takes them, with the transaction's moment as `now` where no clock was set.
    """
    bound = {name: _adapted(value) for name, value in params.items()}
    if bound.get("now") is None:
        bound["now"] = now
    return bound


def _adapted(value: Any) -> Any:
    if isinstance(value, datetime):
        return microseconds(value)
    return json.dumps(value, ensure_ascii=False, default=microseconds) if type(value) is list else value


def copied(names: Sequence[str], rows: Iterable[Sequence[Any]]) -> Iterator[dict[str, Any]]:
    """
    Return the *rows* of a bulk load as parameters called *names*; moments may come as text.
    """
    moments = [name for name in names if name.endswith("_at")]
    for row in rows:
        bound = dict(zip(names, row, strict=True))
        for name in moments:
            value = bound[name]
            bound[name] = _parsed(value) if isinstance(value, str) else microseconds(value)
        yield bound


@lru_cache(maxsize=MOMENTS_CACHED_MAX)
def _parsed(text: str) -> int:
    return microseconds(datetime.fromisoformat(text))


def as_rows(columns: Sequence[str], found: Iterable[Sequence[Any]]) -> list[dict[str, Any]]:
    """
    Return what was found as rows by column, decoded by the columns' names.

    What can't be decoded stays as it is, for the reader to refuse. A REAL is a sum that left 64 bits, since no column
    of the ledger holds any: AmountOutOfRange.
    """
    rows = [dict(zip(columns, row, strict=True)) for row in found]
    decoders = [(column, decode) for column in columns if (decode := _decoder(column))]
    for row in rows:
        for column, value in row.items():
            if type(value) is float:
                raise AmountOutOfRange(f"the sum in {column} leaves the 64-bit range", column=column)
        for column, decode in decoders:
            row[column] = decode(row[column])
    return rows


def _decoder(column: str) -> Callable[[Any], Any] | None:
    return _moment if column.endswith("_at") else {"ids": _list, "value": _halves}.get(column)


def _moment(value: Any) -> Any:
    try:
        return EPOCH + value * MICROSECOND if type(value) is int else value
    except OverflowError:
        return value


def _list(value: Any) -> Any:
    return json.loads(value) if isinstance(value, str) else value


def _halves(value: Any) -> Any:
    high, low = json.loads(value)
    return (high << 32) + low
