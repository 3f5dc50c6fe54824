"""
Values on their way into any database and out of it: moments as microseconds, digests, ids drawn from the clock.
"""

from __future__ import annotations

import hashlib
import secrets
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)

# An id is the millisecond in which it was drawn, counted from 2020 on, and below it chance: 41 bits of time reach to
# 2089, and of two ids drawn in the same millisecond one in four million is drawn twice.
ID_EPOCH_MS = 1_577_836_800_000
ID_CHANCE_BITS = 22
ACCOUNT_ID_BITS = 63
# How far an id jumps above one that is newer than the clock, so that two who do so at once don't meet.
ID_GAP_MAX = 1 << 16

ESCAPE = "!"
# What auditing shows, whatever kind of value it is.
_SHOWN = ("subject", "expected", "found")


def microseconds(moment: datetime) -> int:
    """
    Return *moment* as whole microseconds since 1970 in UTC, exactly.
    """
    return (moment - EPOCH) // MICROSECOND


def digest(*parts: str) -> str:
    """
    Return the SHA-256 of texts, kept apart by a character that none of them can hold.
    """
    return hashlib.sha256("\0".join(parts).encode("utf-8")).hexdigest()


def fresh_account_id() -> int:
    """
    Return a new id for an account: chance alone, so that two processes needn't agree.
    """
    return secrets.randbits(ACCOUNT_ID_BITS)


class Ids:
    """
    The ids that this process draws for its transfers: each above the one before, also where the clock stands or goes back.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._newest = 0

    def drawn(self, count: int = 1, *, above: int = 0) -> list[int]:
        """Return *count* ascending ids, all above *above*."""
        with self._lock:
            by_the_clock = (time.time_ns() // 1_000_000 - ID_EPOCH_MS) << ID_CHANCE_BITS
            first = by_the_clock | secrets.randbits(ID_CHANCE_BITS)
            newest = max(above, self._newest)
            if first <= newest:
                first = newest + drawn_gap()
            ids = list(range(first, first + count))
            self._newest = ids[-1]
            return ids


IDS = Ids()


def drawn_gap() -> int:
    """
    Return how far to jump above the newest id.
    """
    return 1 + secrets.randbelow(ID_GAP_MAX)


def adapted(params: Mapping[str, Any], now: int) -> dict[str, Any]:
    """
    Return *params* as any database takes them, with what the statements derive from them.
    """
    bound = {name: _adapted(value) for name, value in params.items()}
    if bound.get("now") is None:
        bound["now"] = now
    if "occurred_at" in bound and bound["occurred_at"] is None:
        bound["occurred_at"] = bound["now"]
    bound |= {f"each_{name}": value for name, value in bound.items() if type(value) is list}
    for name, value in params.items():
        if name in ("key", "name"):
            bound[f"{name}_digest"] = digest(value)
        elif name == "keys":
            bound["key_digests"] = [digest(key) for key in value]
            bound["keys_count"] = len(value)
        elif name == "currency" and "name" in params:
            bound["account_digest"] = digest(params["name"], value)
        elif name == "currencies":
            bound["each_account_digests"] = [digest(*pair) for pair in zip(params["names"], value, strict=True)]
        elif name == "after_currency":
            bound["after_digest"] = digest(params["after_name"], value)
        elif name == "prefix":
            bound["prefix_pattern"] = _pattern(value or "")
    return bound


def _adapted(value: Any) -> Any:
    if isinstance(value, datetime):
        return microseconds(value)
    if isinstance(value, bool):
        return int(value)
    return [_adapted(one) for one in value] if type(value) is list else value


def _pattern(prefix: str) -> str:
    for special in (ESCAPE, "%", "_"):
        prefix = prefix.replace(special, ESCAPE + special)
    return f"{prefix}%"


def copied(names: Sequence[str], rows: Iterable[Sequence[Any]]) -> list[dict[str, Any]]:
    """
    Return the *rows* of a bulk load as parameters called *names*; moments may come as text.
    """
    found = []
    for row in rows:
        bound = dict(zip(names, row, strict=True))
        for name in ("occurred_at", "recorded_at"):
            value = bound[name]
            bound[name] = microseconds(datetime.fromisoformat(value) if isinstance(value, str) else value)
        bound["key_digest"] = digest(bound["key"])
        found.append(bound)
    return found


def as_row(raw: Mapping[str, Any]) -> dict[str, Any]:
    """
    Return a row as plans read it. What can't be decoded stays as it is, for the reader to refuse.
    """
    row: dict[str, Any] = {}
    shown = "subject" in raw
    for column, value in raw.items():
        if column.endswith("_at"):
            row[column] = _moment(value)
        else:
            row[column] = str(value) if shown and column in _SHOWN else value
    return row


def plain(value: Any) -> Any:
    """
    Return what a driver gave as Python's own: a whole decimal as an int, a long text read to its end.
    """
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else value
    return value.read() if hasattr(value, "read") else value


def _moment(value: Any) -> Any:
    try:
        return EPOCH + value * MICROSECOND if type(value) is int else value
    except OverflowError:
        return value
