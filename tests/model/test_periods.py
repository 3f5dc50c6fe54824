"""Periods follow one another without gap or overlap, whatever the clocks of their zone do."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lastro import InvalidInput
from lastro.model.periods import RECURRENCES, instant_of, period_from, start_of, time_zone_name

pytestmark = [pytest.mark.case("C076"), pytest.mark.req("2.9")]

ZONES = (
    "UTC", "Europe/Paris", "America/Juneau", "America/Sao_Paulo", "Asia/Kathmandu", "Australia/Lord_Howe",
    "Pacific/Apia", "America/Caracas", "Africa/Monrovia",
)  # fmt: skip
HOUR = timedelta(hours=1)


def local(zone: str, *parts: int, fold: int = 0) -> datetime:
    """What the clocks of a zone show, as an instant."""
    return datetime(*parts, tzinfo=ZoneInfo(zone), fold=fold).astimezone(UTC)  # type: ignore[misc,arg-type]


@given(
    begun=st.datetimes(datetime(1980, 1, 1), datetime(2037, 1, 1), timezones=st.just(UTC)),  # noqa: DTZ001
    after=st.timedeltas(timedelta(0), timedelta(days=2_000)),
    zone=st.sampled_from(ZONES),
    recurrence=st.sampled_from(RECURRENCES),
)
def test_every_moment_lies_in_one_period(begun: datetime, after: timedelta, zone: str, recurrence: str) -> None:
    """Each period has a length, ends where the next begins, and is found again from any moment within it."""
    period = period_from(begun, begun + after, recurrence, zone)  # type: ignore[arg-type]
    assert begun + after in period
    assert period.start < period.end
    following = period_from(begun, period.end, recurrence, zone)  # type: ignore[arg-type]
    assert following.start == period.end
    last = period_from(begun, period.end - timedelta(microseconds=1), recurrence, zone)  # type: ignore[arg-type]
    assert last == period


def test_the_same_day_isnt_billed_twice() -> None:
    """Two runs on the evening of the anniversary, before and after midnight in UTC+2, find the same period."""
    begun = local("Europe/Paris", 2026, 4, 30)
    evening = [datetime(2026, 5, 30, 20, tzinfo=UTC), datetime(2026, 5, 30, 23, tzinfo=UTC)]
    found = [period_from(begun, moment, "month", "Europe/Paris") for moment in evening]
    assert found[0].start == local("Europe/Paris", 2026, 5, 30)
    assert found == [found[0], found[0]]
    days = [period_from(begun, moment, "day", "Europe/Paris").start for moment in evening]
    assert days == [local("Europe/Paris", 2026, 5, 30), local("Europe/Paris", 2026, 5, 31)]


@pytest.mark.parametrize(
    ("zone", "day", "hours"),
    [
        ("Europe/Paris", (2026, 3, 29), 23),
        ("Europe/Paris", (2026, 10, 25), 25),
        ("America/Juneau", (2026, 11, 1), 25),
        ("Australia/Lord_Howe", (2026, 4, 5), 24.5),
        ("Asia/Kathmandu", (2026, 4, 5), 24),
    ],
)
def test_days_of_23_and_25_hours(zone: str, day: tuple[int, int, int], hours: float) -> None:
    """A day is as long as its zone's clocks make it, and its last hour isn't lost; hours are hours."""
    begun = local(zone, 2026, 1, 1)
    period = period_from(begun, local(zone, *day, 12), "day", zone)
    assert period.start == local(zone, *day)
    assert period.end - period.start == timedelta(hours=hours)
    assert period.end - timedelta(microseconds=1) in period
    assert period.end not in period
    hour = period_from(begun, local(zone, *day, 1, 30), "hour", zone)
    assert hour.end - hour.start == HOUR


def test_months_end_where_they_end() -> None:
    """The 31st is the last day of a shorter month, of February in a leap year too, and comes back after it."""
    begun = local("America/Sao_Paulo", 2028, 1, 31, 9, 30)
    starts = [start_of(number, begun, "month", "America/Sao_Paulo") for number in range(5)]
    assert [start.astimezone(ZoneInfo("America/Sao_Paulo")).day for start in starts] == [31, 29, 31, 30, 31]
    assert start_of(13, begun, "month", "America/Sao_Paulo") == local("America/Sao_Paulo", 2029, 2, 28, 9, 30)


def test_times_that_come_twice_or_never() -> None:
    """Of a time that comes twice the first counts; one that is jumped over begins at the end of the gap."""
    assert instant_of(datetime(2026, 10, 25, 2, 30), "Europe/Paris") == datetime(2026, 10, 25, 0, 30, tzinfo=UTC)  # noqa: DTZ001
    assert instant_of(datetime(2026, 3, 29, 2, 30), "Europe/Paris") == datetime(2026, 3, 29, 1, tzinfo=UTC)  # noqa: DTZ001
    second = local("Europe/Paris", 2026, 10, 25, 2, 30, fold=1)
    assert period_from(second, second, "day", "Europe/Paris").start == second


def test_a_day_that_never_was_is_passed_over() -> None:
    """Samoa had no 30 December 2011: the days before and after it meet, and none is empty."""
    begun = local("Pacific/Apia", 2011, 12, 28)
    period = period_from(begun, begun, "day", "Pacific/Apia")
    seen = []
    for _ in range(4):
        seen.append(period.start.astimezone(ZoneInfo("Pacific/Apia")).day)
        assert period.start < period.end
        period = period_from(begun, period.end, "day", "Pacific/Apia")
    assert seen == [28, 29, 31, 1]


def test_weeks_keep_their_day() -> None:
    """A week begins on the weekday of its beginning, at the same time of day, through a change of clocks."""
    begun = local("Europe/Paris", 2026, 3, 25, 18)
    assert start_of(1, begun, "week", "Europe/Paris") == local("Europe/Paris", 2026, 4, 1, 18)


def test_what_is_no_period_is_refused() -> None:
    """A moment before the beginning, one beyond the calendar, a zone that isn't known here."""
    begun = datetime(2026, 1, 1, tzinfo=UTC)
    with pytest.raises(InvalidInput, match="no period begins before"):
        period_from(begun, begun - HOUR, "day", "UTC")
    with pytest.raises(InvalidInput, match="leaves the calendar"):
        period_from(begun, datetime(9999, 12, 31, tzinfo=UTC), "month", "UTC")
    for name in ("Europe/Nowhere", "localtime", "", "../etc/passwd", None):
        with pytest.raises(InvalidInput):
            time_zone_name(name)
