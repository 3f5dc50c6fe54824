"""
Periods as half-open stretches of instants, counted from a beginning by the calendar and the clocks of a time zone.
"""

from __future__ import annotations

from calendar import monthrange
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Final, Literal, NamedTuple, TypeAlias, get_args
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

from lastro.errors import InvalidInput
from lastro.model.text import text

Recurrence: TypeAlias = Literal["hour", "day", "week", "month"]
RECURRENCES: Final[tuple[Recurrence, ...]] = get_args(Recurrence)

ZONE_CHARACTERS_MAX: Final = 64
ZONES_CACHED_MAX: Final = 256
MONTHS_A_YEAR: Final = 12

_HOUR = timedelta(hours=1)
_SECOND = timedelta(seconds=1)
_DAYS: Final = {"day": 1, "week": 7}


class Stretch(NamedTuple):
    """
    Every instant from `start` on and before `end`, both in UTC.
    """

    start: datetime
    end: datetime

    def __contains__(self, moment: object) -> bool:
        return isinstance(moment, datetime) and self.start <= moment < self.end


def period_from(begun_at: datetime, moment: datetime, recurrence: Recurrence, time_zone: str) -> Stretch:
    """
    Return the period in which *moment* lies, of those that follow one another from *begun_at* on.

    An hour is 3,600 seconds. Days, weeks and months begin when the clocks of *time_zone* show the time of day of the
    beginning: the first time where it comes twice, the end of the gap where it doesn't come. A month begins on the day
    of the beginning, or on its last day where it is shorter; the 31st comes back after February.
    """
    if moment < begun_at:
        raise InvalidInput(
            f"no period begins before {begun_at.isoformat()}; asked for {moment.isoformat()}", argument="moment"
        )
    number = _number_about(begun_at, moment, recurrence, time_zone)
    try:
        while start_of(number, begun_at, recurrence, time_zone) > moment:
            number -= 1
        # A day that the calendar of a zone leaves out has no length, and is passed over here.
        while start_of(number + 1, begun_at, recurrence, time_zone) <= moment:
            number += 1
        return Stretch(
            start_of(number, begun_at, recurrence, time_zone), start_of(number + 1, begun_at, recurrence, time_zone)
        )
    except (OverflowError, ValueError) as error:
        raise InvalidInput(f"the period around {moment.isoformat()} leaves the calendar", argument="moment") from error


def start_of(number: int, begun_at: datetime, recurrence: Recurrence, time_zone: str) -> datetime:
    """
    Return the instant at which period *number* begins; number 0 begins at *begun_at*.
    """
    if number == 0:
        return begun_at
    if recurrence == "hour":
        return begun_at + number * _HOUR
    wall = begun_at.astimezone(zone_of(time_zone)).replace(tzinfo=None)
    if recurrence == "month":
        return instant_of(_months_later(wall, number), time_zone)
    return instant_of(wall + timedelta(days=number * _DAYS[recurrence]), time_zone)


def instant_of(wall: datetime, time_zone: str) -> datetime:
    """
    Return the first instant at which the clocks of *time_zone* show *wall* (which has no zone), or a later time.
    """
    zone = zone_of(time_zone)
    # Of a time that comes twice, fold=0 is the first.
    local = wall.replace(tzinfo=zone, fold=0)
    shown = local.astimezone(UTC)
    if shown.astimezone(zone).replace(tzinfo=None) == wall:
        return shown
    # The clocks jumped over it, between the two instants that its two offsets give; they change on whole seconds.
    early, late = local.replace(fold=1).astimezone(UTC), shown
    while late - early > _SECOND:
        between = (early + (late - early) // 2).replace(microsecond=0)
        if between <= early:
            between = early + _SECOND
        if between.astimezone(zone).replace(tzinfo=None) < wall:
            early = between
        else:
            late = between
    return late.replace(microsecond=0)


def recurrence_word(recurrence: object) -> Recurrence:
    """
    Return *recurrence* if it is one of hour, day, week and month.
    """
    for known in RECURRENCES:
        if recurrence == known:
            return known
    raise InvalidInput(f"a period is one of {', '.join(RECURRENCES)}; got {recurrence!r}", argument="recurrence")


def time_zone_name(name: object) -> str:
    """
    Return *name* if it is a time zone that this machine knows: "UTC", "Europe/Paris", an IANA name. InvalidInput else.
    """
    checked = text(name, argument="time_zone", characters_max=ZONE_CHARACTERS_MAX)
    if checked == "localtime":
        raise InvalidInput(
            "time_zone 'localtime' is another zone on another machine; name the zone", argument="time_zone"
        )
    zone_of(checked)
    return checked


@lru_cache(ZONES_CACHED_MAX)
def zone_of(name: str) -> ZoneInfo:
    """
    Return the time zone called *name*, as this machine's database of zones has it.
    """
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        pass
    if not available_timezones():
        raise InvalidInput(
            f"time_zone {name!r} can't be looked up: this machine has no time zone database; "
            "install the system's (tzdata), or `pip install tzdata`",
            argument="time_zone",
        )
    raise InvalidInput(
        f"time_zone {name!r} isn't known on this machine; it takes an IANA name such as 'UTC' or 'Europe/Paris', "
        "and `pip install --upgrade tzdata` brings the newest ones",
        argument="time_zone",
    )


def _number_about(begun_at: datetime, moment: datetime, recurrence: Recurrence, time_zone: str) -> int:
    if recurrence == "hour":
        return (moment - begun_at) // _HOUR
    zone = zone_of(time_zone)
    first, here = begun_at.astimezone(zone), moment.astimezone(zone)
    if recurrence == "month":
        return (here.year - first.year) * MONTHS_A_YEAR + here.month - first.month
    return (here.toordinal() - first.toordinal()) // _DAYS[recurrence]


def _months_later(wall: datetime, months: int) -> datetime:
    year, month = divmod(wall.year * MONTHS_A_YEAR + wall.month - 1 + months, MONTHS_A_YEAR)
    return wall.replace(year=year, month=month + 1, day=min(wall.day, monthrange(year, month + 1)[1]))
