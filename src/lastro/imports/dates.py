"""
Dates and times from cells: the serial numbers of both date systems, ISO text, and day-first or month-first as declared.

Which part is the day is never guessed from a value: 03/04 is two days, and only its column's declaration says which.
"""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, time, timedelta
from functools import lru_cache
from typing import Final, Literal, TypeAlias
from zoneinfo import ZoneInfo

from lastro.imports.cells import CellRefused

DateOrder: TypeAlias = Literal["iso", "day-first", "month-first"]
DateSystem: TypeAlias = Literal[1900, 1904]

# Serials count from here; the first system takes 1900 for a leap year, so 60 is a day that never was and those below
# it are one day off in some programs and not in others.
FIRST_SAFE_DAY: Final = date(1900, 3, 1)
_EPOCHS: Final[dict[DateSystem, datetime]] = {1900: datetime(1899, 12, 30), 1904: datetime(1904, 1, 1)}  # noqa: DTZ001
_LAST_SERIAL: Final[dict[DateSystem, int]] = {1900: 2_958_466, 1904: 2_957_004}
_FIRST_SERIAL: Final[dict[DateSystem, int]] = {1900: 61, 1904: 0}
_MILLISECONDS_A_DAY: Final = 86_400_000
_MICROSECONDS: Final = 1_000
_ZONES_CACHED_MAX: Final = 64

_CLOCK: Final = r"(?P<hour>[0-9]{2}):(?P<minute>[0-9]{2})(?::(?P<second>[0-9]{2})(?:\.(?P<fraction>[0-9]{1,6}))?)?"
_FORMS: Final[dict[DateOrder, str]] = {
    "iso": r"(?P<year>[0-9]{4})-(?P<month>[0-9]{2})-(?P<day>[0-9]{2})",
    "day-first": r"(?P<day>[0-9]{1,2})(?P<mark>[/.-])(?P<month>[0-9]{1,2})(?P=mark)(?P<year>[0-9]{4})",
    "month-first": r"(?P<month>[0-9]{1,2})(?P<mark>[/.-])(?P<day>[0-9]{1,2})(?P=mark)(?P<year>[0-9]{4})",
}
_DATES: Final = {order: re.compile(form) for order, form in _FORMS.items()}
_MOMENTS: Final = {
    order: re.compile(rf"{form}[T ]{_CLOCK}(?P<zone>Z|[+-][0-9]{{2}}:[0-9]{{2}})?") for order, form in _FORMS.items()
}
_EXAMPLES: Final[dict[DateOrder, str]] = {"iso": "2026-11-30", "day-first": "30/11/2026", "month-first": "11/30/2026"}


def date_of_text(text: str, order: DateOrder) -> date:
    """
    Return the day that *text* writes in the declared order, years with four digits; `CellRefused` otherwise.
    """
    match = _DATES[order].fullmatch(text)
    if match is None:
        raise CellRefused(f"is no date as its column is written ({order}, like {_EXAMPLES[order]})")
    return _day(match)


def moment_of_text(text: str, order: DateOrder, zone: str) -> datetime:
    """
    Return the instant, in UTC, of a date and a time of day; without a zone in the text it is of the declared *zone*.
    """
    match = _MOMENTS[order].fullmatch(text)
    if match is None:
        raise CellRefused(
            f"is no date with a time of day as its column is written ({order}, like {_EXAMPLES[order]} 18:05)"
        )
    try:
        fraction = int((match["fraction"] or "0").ljust(6, "0"))
        clock = time(int(match["hour"]), int(match["minute"]), int(match["second"] or 0), fraction)
    except ValueError:
        raise CellRefused("has no such time of day") from None
    naive = datetime.combine(_day(match), clock)
    given = match["zone"]
    if given is None:
        return instant(naive, zone)
    try:
        return datetime.fromisoformat(f"{naive.isoformat()}{given.replace('Z', '+00:00')}").astimezone(UTC)
    except (ValueError, OverflowError):
        raise CellRefused("has no such time zone") from None


def instant(naive: datetime, zone: str) -> datetime:
    """
    Return the instant of a clock's time in *zone*, in UTC; `CellRefused` where the clock showed it never, or twice.
    """
    if zone == "UTC":
        return naive.replace(tzinfo=UTC)
    local = naive.replace(tzinfo=_zone(zone))
    try:
        moment = local.astimezone(UTC)
        back = moment.astimezone(local.tzinfo)
        later = local.replace(fold=1).astimezone(UTC)
    except OverflowError:
        raise CellRefused("is outside the calendar") from None
    if back.replace(tzinfo=None) != naive:
        raise CellRefused(f"is a time that the clocks of {zone} left out")
    if later != moment:
        raise CellRefused(f"is a time that the clocks of {zone} showed twice")
    return moment


def of_serial(serial: float, system: DateSystem) -> datetime:
    """
    Return the clock's time that a serial number stands for, to the millisecond.

    Raises `CellRefused` before 1 March 1900 in the system of 1900, and beyond the year 9999.
    """
    if not _FIRST_SERIAL[system] <= serial < _LAST_SERIAL[system]:
        raise CellRefused(f"is no date of the {system} system that every program reads alike")
    days, part = divmod(serial, 1)
    return _EPOCHS[system] + timedelta(days=days, milliseconds=round(part * _MILLISECONDS_A_DAY))


def whole_day(moment: datetime) -> date:
    """
    Return the day of a clock's time at midnight; `CellRefused` for another time of day.
    """
    if moment.time() != time.min:
        raise CellRefused("has a time of day in a column of dates")
    return moment.date()


def safe_day(day: date) -> date:
    """
    Return a day that came from a serial number; `CellRefused` before 1 March 1900.
    """
    if day < FIRST_SAFE_DAY:
        raise CellRefused("lies before 1 March 1900, where programs differ by a day")
    return day


def to_the_millisecond(moment: datetime) -> datetime:
    """
    Return *moment* without the dust of a serial number's fraction.
    """
    dust = moment.microsecond % _MICROSECONDS
    if not dust:
        return moment
    up = _MICROSECONDS - dust if dust * 2 >= _MICROSECONDS else -dust
    return moment + timedelta(microseconds=up)


def _day(match: re.Match[str]) -> date:
    try:
        return date(int(match["year"]), int(match["month"]), int(match["day"]))
    except ValueError:
        raise CellRefused("is no day of the calendar") from None


@lru_cache(maxsize=_ZONES_CACHED_MAX)
def _zone(name: str) -> ZoneInfo:
    return ZoneInfo(name)
