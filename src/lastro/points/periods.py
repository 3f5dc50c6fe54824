"""
Periods of a time zone's calendar, as half-open stretches of instants: where a day, a week or a month begins and ends.
"""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from functools import lru_cache
from typing import Final, Literal, NamedTuple, TypeAlias, get_args
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

from lastro.errors import InvalidInput
from lastro.model.moment import EARLIEST, LATEST, utc
from lastro.model.text import text

Period: TypeAlias = Literal["day", "week", "month", "ever"]
PERIODS: Final[tuple[Period, ...]] = get_args(Period)

ZONE_CHARACTERS_MAX: Final = 64
ZONES_CACHED_MAX: Final = 256
DAYS_CACHED_MAX: Final = 4_096

_DAY = timedelta(days=1)
_SECOND = timedelta(seconds=1)


class Stretch(NamedTuple):
    """
    Every instant from `start` on and before `end`, both in UTC.
    """

    start: datetime
    end: datetime

    def __contains__(self, moment: object) -> bool:
        return isinstance(moment, datetime) and self.start <= moment < self.end


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


def time_zone_name(name: object) -> str:
    """
    Return *name* if it is a time zone that this machine knows: "UTC", "Europe/Paris", an IANA name. InvalidInput else.
    """
    checked = text(name, argument="time_zone", characters_max=ZONE_CHARACTERS_MAX)
    if checked == "localtime":
        raise InvalidInput(
            "time_zone 'localtime' is another zone on another machine; name the zone", argument="time_zone"
        )
    _zone(checked)
    return checked


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
    day = _Day(moment.astimezone(_zone(time_zone)).date().toordinal())
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
    midnight = datetime.combine(on_calendar, time(), _zone(time_zone))
    # Of a midnight that comes twice, fold=0 is the first.
    shown = midnight.astimezone(UTC)
    if shown.astimezone(midnight.tzinfo).replace(tzinfo=None) == midnight.replace(tzinfo=None):
        return shown
    return _end_of_gap(midnight, shown)


def _end_of_gap(midnight: datetime, with_old_offset: datetime) -> datetime:
    # The clocks jumped over this midnight. The jump lies between the two instants that its two offsets give; clocks
    # change on whole seconds.
    early, late = midnight.replace(fold=1).astimezone(UTC), with_old_offset
    wall = midnight.replace(tzinfo=None)
    while late - early > _SECOND:
        between = early + (late - early) // 2
        between = between.replace(microsecond=0)
        if between.astimezone(midnight.tzinfo).replace(tzinfo=None) < wall:
            early = between
        else:
            late = between
    return late


@lru_cache(ZONES_CACHED_MAX)
def _zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        pass
    if not available_timezones():
        raise InvalidInput(
            f"time_zone {name!r} can't be looked up: this machine has no time zone database; "
            "install the system's (tzdata), or `pip install 'lastro[points]'`",
            argument="time_zone",
        )
    raise InvalidInput(
        f"time_zone {name!r} isn't known on this machine; it takes an IANA name such as 'UTC' or 'Europe/Paris', "
        "and `pip install --upgrade tzdata` brings the newest ones",
        argument="time_zone",
    )
