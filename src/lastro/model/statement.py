"""
An account's statement: what it stood at, what came and went in a span of time, and what it stood at then.
"""

from __future__ import annotations

from datetime import datetime
from typing import Final, Literal, NamedTuple, TypeAlias

from lastro.errors import InvalidInput
from lastro.model.text import shown
from lastro.model.transfer import Entry

# By which of its two moments an entry is placed: when it was recorded here, or when it occurred outside.
By: TypeAlias = Literal["recorded", "occurred"]
CLOCKS: Final = ("recorded", "occurred")


class StatementHead(NamedTuple):
    """
    What a statement is of. `since` belongs to the span, `until` doesn't; None is an end that is open.

    `opening` and `closing` are minor units, before and after all entries of the span.
    """

    account: str
    currency: str
    since: datetime | None
    until: datetime | None
    by: By
    opening: int
    closing: int


class StatementLine(NamedTuple):
    """
    An entry of a statement, and what the account stood at after it, in the statement's order.
    """

    entry: Entry
    balance: int


def by_word(by: object) -> By:
    """
    Return *by* if it names one of an entry's two moments.
    """
    if by not in CLOCKS:
        raise InvalidInput(f"by is one of {', '.join(CLOCKS)}; got {shown(by)}", argument="by")
    return by


def moment_of(entry: Entry, by: By) -> datetime:
    """
    Return the moment by which an entry is placed.
    """
    return entry.occurred_at if by == "occurred" else entry.recorded_at
