"""
Moments: every one carries its time zone, and is kept in UTC.
"""

from __future__ import annotations

from datetime import UTC, datetime

from lastro.errors import InvalidInput

# A day within the ends of the calendar, so that every time zone of a session can still show it.
EARLIEST = datetime(1, 1, 2, tzinfo=UTC)
LATEST = datetime(9999, 12, 30, 23, 59, 59, 999_999, tzinfo=UTC)


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
        in_utc = moment.astimezone(UTC)
    except OverflowError:
        in_utc = None
    if in_utc is None or not EARLIEST <= in_utc <= LATEST:
        raise InvalidInput(
            f"{argument} must lie between {EARLIEST.date()} and {LATEST.date()}; got {moment.isoformat()}",
            argument=argument,
        )
    return in_utc


def optional_utc(moment: object, *, argument: str) -> datetime | None:
    """
    Return *moment* in UTC, or None where there is none.
    """
    return None if moment is None else utc(moment, argument=argument)
