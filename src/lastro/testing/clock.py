"""
A clock that stands still until a test moves it.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from lastro.errors import InvalidInput

DEFAULT_START = datetime(2026, 1, 1, 12, tzinfo=UTC)


class Clock:
    """
    The moment of recording for a ledger under test: `lastro.connect(url, clock=clock)`.

    It starts at 2026-01-01 12:00 UTC unless told otherwise, and moves only by set() and advance().
    """

    def __init__(self, moment: datetime = DEFAULT_START) -> None:
        self._moment = _aware(moment)

    def __call__(self) -> datetime:
        """Return the moment it stands at."""
        return self._moment

    def set(self, moment: datetime) -> None:
        """Put the clock to *moment* (with a time zone), forwards or backwards."""
        self._moment = _aware(moment)

    def advance(self, by: timedelta | None = None, *, seconds: int = 0) -> datetime:
        """Move the clock by a timedelta or a number of seconds; return the new moment."""
        self._moment += (by or timedelta()) + timedelta(seconds=seconds)
        return self._moment


def _aware(moment: datetime) -> datetime:
    if moment.tzinfo is None:
        raise InvalidInput(
            f"a clock's moment needs a time zone; got {moment!r}: use datetime(…, tzinfo=UTC)", argument="moment"
        )
    return moment
