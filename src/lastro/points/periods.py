"""
Periods of a time zone's calendar, as half-open stretches of instants: where a day, a week or a month begins and ends.
"""

from __future__ import annotations

from datetime import date, datetime, time, timedelta
from functools import lru_cache
from typing import Final, Literal, NamedTuple, TypeAlias, get_args

from lastro.errors import InvalidInput
from lastro.model.moment import EARLIEST, LATEST, utc
from lastro.model.periods import Stretch, instant_of, zone_of

Period: TypeAlias = Literal["day", "week", "month", "ever"]
PERIODS: Final[tuple[Period, ...]] = get_args(Period)

DAYS_CACHED_MAX: Final = 4_096


# What has no end: all that a ledger can record.
EVER: Final = Stretch(EARLIEST, LATEST + timedelta(microseconds=1))


def stretch(since: object, until: object) -> Stretch:
    """
    Return the stretch between two moments, `until` left out of it; InvalidInput where it has no length.
    """
    found = Stretch(utc(since, argument="since"), utc(until, argument="until"))
    if found.start >= found.end:
        raise InvalidInput(
            f"until must lie after since; got {found.start.isoformat()} and {found.end.isoformat()}", argument="until"
        )
    return found


def period_around(moment: datetime, period: Period, time_zone: str) -> Stretch:
    """
    Return the period of *time_zone*'s calendar in which *moment* lies. Weeks begin on Monday.

    Periods of one kind follow each other without gap or overlap, whatever the clocks of the zone do.
    """
    if period == "ever":
        return EVER
    day = _day_of(moment, time_zone)
    first, following = _bounds(day, period)
    return Stretch(_start_of_day(first, time_zone), _start_of_day(following, time_zone))


def end_of_day_after(moment: datetime, days: int, time_zone: str) -> datetime:
    """
    Return the instant at which the local day ends that comes *days* days after *moment*'s own.
    """
    return _start_of_day(_day_of(moment, time_zone).plus(days + 1), time_zone)


class _Day(NamedTuple):
    """A day of the calendar as its ordinal, so that days beyond the calendar's ends can still be counted."""

    ordinal: int

    def plus(self, days: int) -> _Day:
        return _Day(self.ordinal + days)

    @property
    def on_calendar(self) -> date | None:
        return date.fromordinal(self.ordinal) if 1 <= self.ordinal <= date.max.toordinal() else None


def _bounds(day: _Day, period: Period) -> tuple[_Day, _Day]:
    if period == "day":
        return day, day.plus(1)
    if period == "week":
        # Day 1 of the calendar, 1 January of the year 1, was a Monday.
        monday = day.plus(-((day.ordinal - 1) % 7))
        return monday, monday.plus(7)
    on_calendar = date.fromordinal(day.ordinal)
    first = _Day(on_calendar.replace(day=1).toordinal())
    # The 28th plus 4 days lies in the following month, whichever it is.
    over = _Day(on_calendar.replace(day=28).toordinal()).plus(4)
    following = over if over.on_calendar is None else _Day(over.on_calendar.replace(day=1).toordinal())
    return first, following


def _day_of(moment: datetime, time_zone: str) -> _Day:
    day = _Day(moment.astimezone(zone_of(time_zone)).date().toordinal())
    # Where the clocks are put back over midnight, some instants after a day's beginning show the date before it. They
    # belong to the day that has begun, or a period would not be one stretch.
    while moment >= _start_of_day(day.plus(1), time_zone) and day.plus(1).on_calendar is not None:
        day = day.plus(1)
    while moment < _start_of_day(day, time_zone):
        day = day.plus(-1)
    return day


@lru_cache(DAYS_CACHED_MAX)
def _start_of_day(day: _Day, time_zone: str) -> datetime:
    """Return the first instant at which the clocks of *time_zone* show *day*, or a later one."""
    on_calendar = day.on_calendar
    if on_calendar is None or not EARLIEST.date() < on_calendar < LATEST.date():
        return EVER.start if day.ordinal <= EARLIEST.toordinal() else EVER.end
    return instant_of(datetime.combine(on_calendar, time()), time_zone)
