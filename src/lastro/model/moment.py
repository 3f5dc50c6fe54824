"""
Moments: every one carries its time zone, and is kept in UTC.
"""

from __future__ import annotations

from datetime import UTC, datetime

from lastro.errors import InvalidInput


def utc(moment: object, *, argument: str) -> datetime:
    """
    Return *moment* in UTC. A datetime without a time zone is refused: nobody can know which one was meant.
    """
    if not isinstance(moment, datetime):
        raise InvalidInput(f"{argument} must be a datetime; got {type(moment).__name__}", argument=argument)
    if moment.utcoffset() is None:
        raise InvalidInput(
            f"{argument} needs a time zone, for example datetime.now(UTC); got {moment.isoformat()}",
            argument=argument,
        )
    try:
        return moment.astimezone(UTC)
    except OverflowError as error:
        raise InvalidInput(
            f"{argument} leaves the years 1 … 9999 in UTC: {moment.isoformat()}", argument=argument
        ) from error


def optional_utc(moment: object, *, argument: str) -> datetime | None:
    """
    Return *moment* in UTC, or None where there is none.
    """
    return None if moment is None else utc(moment, argument=argument)
