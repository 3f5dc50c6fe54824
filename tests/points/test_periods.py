"""Periods: half-open stretches of a zone's calendar that follow each other whatever the clocks do."""

from __future__ import annotations

import zoneinfo
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lastro.errors import InvalidInput
from lastro.model import periods
from lastro.model.moment import EARLIEST, LATEST
from lastro.model.periods import time_zone_name
from lastro.points.periods import EVER, Period, end_of_day_after, period_around, stretch

PARIS, SAO_PAULO, KOLKATA = "Europe/Paris", "America/Sao_Paulo", "Asia/Kolkata"
KATHMANDU, LORD_HOWE, HAVANA, APIA = "Asia/Kathmandu", "Australia/Lord_Howe", "America/Havana", "Pacific/Apia"
ZONES = ("UTC", PARIS, SAO_PAULO, KOLKATA, KATHMANDU, LORD_HOWE, HAVANA, APIA, "America/St_Johns", "Africa/Monrovia")


def utc(text: str) -> datetime:
    """A moment of UTC."""
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@pytest.mark.req("1.11")
@pytest.mark.case("C076")
@pytest.mark.parametrize(
    ("zone", "period", "moment", "start", "end"),
    [
        # A day of 23 hours and one of 25: the clocks go forward at 02:00 and back at 03:00.
        (PARIS, "day", "2026-03-29T12:00", "2026-03-28T23:00", "2026-03-29T22:00"),
        (PARIS, "day", "2026-10-25T12:00", "2026-10-24T22:00", "2026-10-25T23:00"),
        # 20:00 UTC is still the 30th there, 23:00 UTC is the 31st.
        (PARIS, "day", "2026-05-30T20:00", "2026-05-29T22:00", "2026-05-30T22:00"),
        (PARIS, "day", "2026-05-30T23:00", "2026-05-30T22:00", "2026-05-31T22:00"),
        # The very instant of midnight opens its day, and the one before it closes the other.
        (PARIS, "day", "2026-05-30T22:00", "2026-05-30T22:00", "2026-05-31T22:00"),
        (PARIS, "day", "2026-05-30T21:59:59.999999", "2026-05-29T22:00", "2026-05-30T22:00"),
        # Weeks from Monday, over a change of clocks and over the end of a year.
        (PARIS, "week", "2026-03-25T12:00", "2026-03-22T23:00", "2026-03-29T22:00"),
        (PARIS, "week", "2027-01-01T12:00", "2026-12-27T23:00", "2027-01-03T23:00"),
        ("UTC", "week", "2026-01-01T00:00", "2025-12-29T00:00", "2026-01-05T00:00"),
        (SAO_PAULO, "week", "2027-01-01T12:00", "2026-12-28T03:00", "2027-01-04T03:00"),
        # Months: 29 February, and the last moment of a year by another clock than UTC's.
        ("UTC", "month", "2028-02-29T23:59:59.999999", "2028-02-01T00:00", "2028-03-01T00:00"),
        ("UTC", "day", "2028-02-29T00:00", "2028-02-29T00:00", "2028-03-01T00:00"),
        (PARIS, "month", "2026-12-31T23:30", "2026-12-31T23:00", "2027-01-31T23:00"),
        (SAO_PAULO, "month", "2027-01-01T02:59", "2026-12-01T03:00", "2027-01-01T03:00"),
        # Summer time began at midnight in Brazil, so that day began at 01:00; it ended at midnight too.
        (SAO_PAULO, "day", "2018-11-04T12:00", "2018-11-04T03:00", "2018-11-05T02:00"),
        (SAO_PAULO, "day", "2018-02-18T12:00", "2018-02-18T03:00", "2018-02-19T03:00"),
        (SAO_PAULO, "day", "2018-02-18T02:30", "2018-02-17T02:00", "2018-02-18T03:00"),
        (SAO_PAULO, "month", "2018-11-15T12:00", "2018-11-01T03:00", "2018-12-01T02:00"),
        # Half hours and quarters.
        (KOLKATA, "day", "2026-01-01T18:30", "2026-01-01T18:30", "2026-01-02T18:30"),
        (KATHMANDU, "day", "2026-01-01T18:14:59", "2025-12-31T18:15", "2026-01-01T18:15"),
        (LORD_HOWE, "day", "2026-04-05T00:00", "2026-04-04T13:00", "2026-04-05T13:30"),
        # A midnight that comes twice begins the day the first time; a day that never was has no length.
        (HAVANA, "day", "2026-11-01T12:00", "2026-11-01T04:00", "2026-11-02T05:00"),
        (APIA, "day", "2011-12-30T09:59", "2011-12-29T10:00", "2011-12-30T10:00"),
        (APIA, "day", "2011-12-30T10:00", "2011-12-30T10:00", "2011-12-31T10:00"),
        # Toronto, 1919: at 23:30 it was 00:30, so the day began half an hour before its midnight would have come.
        ("America/Toronto", "day", "1919-03-31T12:00", "1919-03-31T04:30", "1919-04-01T04:00"),
        ("America/Toronto", "day", "1919-03-31T04:29:59", "1919-03-30T05:00", "1919-03-31T04:30"),
        # Local mean time, 9 minutes and 21 seconds ahead.
        (PARIS, "day", "1890-01-01T12:00", "1889-12-31T23:50:39", "1890-01-01T23:50:39"),
    ],
)
def test_a_period_begins_and_ends(zone: str, period: Period, moment: str, start: str, end: str) -> None:
    """A day, a week or a month lies between the instants that the zone's clocks give it."""
    found = period_around(utc(moment), period, zone)
    assert (found.start, found.end) == (utc(start), utc(end))


@pytest.mark.req("1.11")
@given(
    zone=st.sampled_from(ZONES),
    period=st.sampled_from(["day", "week", "month"]),
    moment=st.integers(-3_700_000_000, 4_100_000_000).map(lambda second: datetime.fromtimestamp(second, UTC)),
)
def test_periods_follow_without_gap_or_overlap(zone: str, period: Period, moment: datetime) -> None:
    """Each moment lies in its period, all moments of the period agree on it, and the next begins where it ends."""
    found = period_around(moment, period, zone)
    assert moment in found
    assert period_around(found.start, period, zone) == found
    assert period_around(found.end - timedelta(microseconds=1), period, zone) == found
    assert period_around(found.end, period, zone).start == found.end
    assert found.start.astimezone(ZoneInfo(zone)).date() <= moment.astimezone(ZoneInfo(zone)).date() + timedelta(days=1)


@pytest.mark.parametrize("zone", ZONES)
def test_a_year_of_hours_is_covered_once(zone: str) -> None:
    """The days of a year on which clocks change cover each hour exactly once, and start at the local day's first one."""
    for year in (2011, 2018, 2026):
        moment, days = utc(f"{year}-01-02T00:00"), []
        while moment < utc(f"{year + 1}-01-02T00:00"):
            day = period_around(moment, "day", zone)
            assert not days or day in (days[-1], (days[-1][1], day.end))
            if not days or day != days[-1]:
                days.append(day)
            moment += timedelta(hours=1)
        for day in days[1:-1]:
            at_start = day.start.astimezone(ZoneInfo(zone)).date()
            before = (day.start - timedelta(microseconds=1)).astimezone(ZoneInfo(zone)).date()
            assert at_start > before


def test_ever_has_no_bounds() -> None:
    """Every moment that can be recorded lies in "ever", whatever the zone."""
    for moment in (EARLIEST, LATEST, utc("2026-01-01T00:00")):
        assert moment in period_around(moment, "ever", PARIS) == EVER


@pytest.mark.parametrize("zone", ["UTC", "Pacific/Kiritimati", "Pacific/Niue", PARIS])
@pytest.mark.parametrize("period", ["day", "week", "month"])
def test_the_ends_of_the_calendar(zone: str, period: Period) -> None:
    """The first and the last moments that can be recorded have their periods."""
    for moment in (EARLIEST, EARLIEST + timedelta(days=2), LATEST - timedelta(days=2), LATEST):
        assert moment in period_around(moment, period, zone)


@pytest.mark.parametrize(
    ("zone", "moment", "days", "end"),
    [
        ("UTC", "2026-01-01T00:00", 1, "2026-01-03T00:00"),
        ("UTC", "2026-01-01T23:59:59.999999", 1, "2026-01-03T00:00"),
        ("UTC", "2028-01-30T12:00", 30, "2028-03-01T00:00"),
        (PARIS, "2026-03-27T12:00", 1, "2026-03-28T23:00"),
        (PARIS, "2026-03-27T12:00", 2, "2026-03-29T22:00"),
        (SAO_PAULO, "2018-11-02T12:00", 1, "2018-11-04T03:00"),
    ],
)
def test_the_end_of_the_day_after_some_days(zone: str, moment: str, days: int, end: str) -> None:
    """Calendar days are counted, not stretches of 24 hours, and the last of them counts to its end."""
    assert end_of_day_after(utc(moment), days, zone) == utc(end)


def test_a_zone_that_nobody_knows_is_refused() -> None:
    """A name that is no zone of this machine, or another on the next, is refused with what to do."""
    for name in ("Mars/Olympus", "../UTC", "localtime", "", "Europe/Paris\0"):
        with pytest.raises(InvalidInput) as refused:
            time_zone_name(name)
        assert refused.value.argument == "time_zone"
    assert time_zone_name("America/Sao_Paulo") == "America/Sao_Paulo"


def test_a_machine_without_zones_is_told_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a time zone database the refusal says to install one, and not that the name is wrong."""

    def nothing(name: str) -> ZoneInfo:
        raise zoneinfo.ZoneInfoNotFoundError(name)

    monkeypatch.setattr(periods, "ZoneInfo", nothing)
    monkeypatch.setattr(periods, "available_timezones", set)
    with pytest.raises(InvalidInput, match=r"pip install tzdata"):
        time_zone_name("Antarctica/Troll")


def test_a_stretch_has_a_length() -> None:
    """Both ends need a time zone, and the second comes after the first."""
    since = utc("2026-01-01T00:00")
    assert since in stretch(since, since + timedelta(days=1))
    for until in (since, since - timedelta(days=1), datetime(2026, 2, 1), "2026-02-01"):  # noqa: DTZ001
        with pytest.raises(InvalidInput):
            stretch(since, until)
