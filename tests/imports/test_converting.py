"""Cells become values of their column's type exactly, or are refused with the reason; the short way agrees with the careful one."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from decimal import ROUND_HALF_EVEN, Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lastro import Money
from lastro.imports.cells import CellRefused, Unreadable, Value
from lastro.imports.columns import Column
from lastro.imports.converting import ColumnReader
from lastro.imports.numbers import units_of_float, units_of_text, written
from lastro.imports.staging import NOTHING

PLACES = 4
CENTS = st.integers(-(10**15) + 1, 10**15 - 1)
WRITINGS = [(".", ""), (",", ""), (".", ","), (",", "."), (",", " "), (".", "'"), (",", "\N{NO-BREAK SPACE}")]


def _one(value: Value, kind: str, *, currency: str | None = None, system: Any = 1900, **settings: Any) -> str:
    if kind == "money" and "currency_from" not in settings:
        settings.setdefault("currency", "BRL")
    if kind == "datetime":
        settings.setdefault("zone", "UTC")
    return ColumnReader(Column(name="value", type=kind, **settings), system).one(value, currency)  # type: ignore[arg-type]


def _why(value: Value, kind: str, **settings: Any) -> str:
    with pytest.raises(CellRefused) as refused:
        _one(value, kind, **settings)
    return str(refused.value)


# --- numbers ----------------------------------------------------------------------------------------------------------


@given(units=CENTS, places=st.integers(0, 6))
def test_a_stored_number_is_exact(units: int, places: int) -> None:
    """Any number of up to 15 digits comes back from the float that a spreadsheet makes of it."""
    assert units_of_float(float(Decimal(units).scaleb(-places)), places) == units


@given(terms=st.lists(st.integers(-(10**7), 10**7), min_size=2, max_size=20), places=st.integers(1, 4))
def test_the_dust_of_sums_is_not_refused(terms: list[int], places: int) -> None:
    """A sum that a spreadsheet has added up as floats is the sum of the numbers that were typed."""
    total = sum(float(Decimal(term).scaleb(-places)) for term in terms)
    assert units_of_float(total, places) == sum(terms)


@given(units=st.integers(-(10**14), 10**14).filter(lambda units: units % 10), places=st.integers(0, 11))
def test_a_typed_digit_more_is_refused(units: int, places: int) -> None:
    """One decimal more than declared is refused, never rounded."""
    with pytest.raises(CellRefused, match="has more than"):
        units_of_float(float(Decimal(units).scaleb(-places - 1)), places)


@pytest.mark.case("C086")
@pytest.mark.parametrize(
    ("value", "cents"),
    [
        (0.1 + 0.2, "30"),
        (1.1 + 2.2, "330"),
        (-0.0, "0"),
        (5.9, "590"),
        (999_999_999_999.99, "99999999999999"),
        (0.3000000004, "30"),
    ],
)
def test_amounts_that_floats_blur(value: float, cents: str) -> None:
    """0.1 + 0.2 is 30 cents; within 1e-9 nothing can be told from the dust of a sum."""
    assert _one(value, "money") == cents


@pytest.mark.case("C086")
@pytest.mark.parametrize(
    ("value", "why"),
    [
        (0.305, "more than 2 decimals"),
        (0.300000001, "more than 2 decimals"),
        (1_234_567_890_123.456, "more than 2 decimals"),
        (12_345_678_901_234.56, "15 digits"),
        (1e15, "15 digits"),
        (2.0**63, "15 digits"),
        (float("nan"), "no number"),
        (float("inf"), "no number"),
    ],
)
def test_what_a_float_does_not_hold_is_refused(value: float, why: str) -> None:
    """More decimals, more digits than a float holds, and what is no number are refused."""
    assert why in _why(value, "money")


@given(units=st.integers(-(2**63) + 1, 2**63 - 1), places=st.integers(0, 6), writing=st.sampled_from(WRITINGS))
def test_a_number_written_as_declared_is_exact(units: int, places: int, writing: tuple[str, str]) -> None:
    """Any number of 64 bits, written with its mark and its groups, is read exactly."""
    mark, thousands = writing
    sign, plain = ("-" if units < 0 else ""), written(abs(units), places)
    whole, _, decimals = plain.partition(".")
    grouped = f"{int(whole):,}".replace(",", thousands) if thousands else whole
    text = sign + grouped + (mark + decimals if decimals else "")
    assert units_of_text(text, places, decimal_mark=mark, thousands=thousands, symbol="") == units


@given(text=st.text("0123456789.,- ’'eE+", max_size=12))
def test_text_is_read_as_money_reads_it(text: str) -> None:
    """With a point and no groups a text is an amount exactly where Money.parse says so, and the same amount."""
    try:
        expected: int | None = Money.parse(text.strip(), "BRL")
    except ValueError:
        expected = None
    try:
        found: int | None = int(_one(text, "money", required=True))
    except CellRefused:
        found = None
    # -0 is an amount for neither.
    assert found == expected


@pytest.mark.case("C086")
@pytest.mark.parametrize(
    ("text", "settings", "cents"),
    [
        ("1.234,56", {"decimal_mark": ",", "thousands": "."}, "123456"),
        ("1234,5", {"decimal_mark": ",", "thousands": "."}, "123450"),
        ("R$ 1.234,56", {"decimal_mark": ",", "thousands": ".", "symbol": "R$"}, "123456"),
        ("-1,234.56", {"thousands": ","}, "-123456"),
        ("\N{MINUS SIGN}0.10", {}, "-10"),
        (" 7 ", {}, "700"),
    ],
)
def test_numbers_stored_as_text(text: str, settings: dict[str, str], cents: str) -> None:
    """A number that is text is read as its column declares numbers to be written."""
    assert _one(text, "money", **settings) == cents


@pytest.mark.case("C086")
@pytest.mark.parametrize(
    ("text", "settings"),
    [
        ("1.234,56", {}),
        ("1,234.56", {}),
        ("1.234", {"decimal_mark": ","}),
        ("12.34.567", {"decimal_mark": ",", "thousands": "."}),
        ("1.23,00", {"decimal_mark": ",", "thousands": "."}),
        ("1.2345,00", {"decimal_mark": ",", "thousands": "."}),
        ("1,234", {"decimal_mark": ",", "thousands": "."}),
        ("12E5", {}),
        ("5.900", {}),
        ("+5", {}),
        ("(5)", {}),
        ("5-", {}),
        ("007", {}),
        ("\N{ARABIC-INDIC DIGIT FIVE}", {}),
        ("--5", {}),
        ("9" * 30, {}),
        ("TRUE", {}),
        ("#N/A", {}),
    ],
)
def test_other_forms_are_refused(text: str, settings: dict[str, str]) -> None:
    """A number written in another way than declared is refused; nothing is guessed."""
    assert _why(text, "money", **settings)


@pytest.mark.parametrize(("value", "kind"), [(True, "money"), (False, "integer"), (date(2026, 1, 1), "decimal")])
def test_a_boolean_or_a_date_is_no_number(value: Value, kind: str) -> None:
    """TRUE is not 1, and a date isn't its serial number."""
    assert "in a column of numbers" in _why(value, kind, **({"places": 2} if kind == "decimal" else {}))


def test_money_goes_by_its_rows_currency() -> None:
    """Minor units follow the currency that the row says: 590 yen, 5.90 reais, 5.900 dinars."""
    settings = {"currency_from": "currency"}
    assert [_one(5.9, "money", currency=code, **settings) for code in ("BRL", "KWD")] == ["590", "5900"]
    assert _one(590.0, "money", currency="JPY", **settings) == "590"
    assert "more than 0 decimals" in _why(5.9, "money", currency="JPY", **settings)
    assert "ISO 4217 doesn't know" in _why(5.9, "money", currency="XXQ", **settings)
    assert "doesn't say its currency" in _why(5.9, "money", currency=NOTHING, **settings)


# --- text -------------------------------------------------------------------------------------------------------------


@pytest.mark.case("C086")
@pytest.mark.parametrize(
    ("value", "settings", "text"),
    [
        ("00123", {}, "00123"),
        (123.0, {}, "123"),
        (123.0, {"width": 5}, "00123"),
        (999_999_999_999_999.0, {}, "999999999999999"),
        ("12E5", {}, "12E5"),
        ("  padded\N{NO-BREAK SPACE}", {}, "padded"),
        ("tab\there", {}, "tab\\there"),
        ("back\\slash", {}, "back\\\\slash"),
    ],
)
def test_text_keeps_what_was_typed(value: Value, settings: dict[str, int], text: str) -> None:
    """Leading zeros stay; a number in a column of text is its digits, filled up only to a declared width."""
    assert _one(value, "text", **settings) == text


@pytest.mark.case("C086")
@pytest.mark.parametrize(
    ("value", "why"),
    [
        (1.5, "the number 1.5 in a column of text"),
        (1e15, "last digits are lost"),
        (-1.0, "negative"),
        (True, "a boolean in a column of text"),
        (date(2026, 1, 1), "a date in a column of text"),
        (time(1), "a time of day"),
        ("x" * 256, "256 characters"),
        ("a\0b", "NUL"),
        ("\ud800", "half a character"),
    ],
)
def test_what_is_no_text_is_refused(value: Value, why: str) -> None:
    """What can't be a code as somebody typed it is refused in a column of text."""
    assert why in _why(value, "text")


# --- dates ------------------------------------------------------------------------------------------------------------


@given(day=st.dates())
def test_text_dates_come_back(day: date) -> None:
    """Every day of the calendar is read in each declared order."""
    forms = {
        "iso": f"{day:%Y-%m-%d}",
        "day-first": f"{day:%d/%m/}{day.year:04}",
        "month-first": f"{day:%m/%d/}{day.year:04}",
    }
    forms["iso"] = day.isoformat()
    assert {_one(text, "date", dates=order) for order, text in forms.items()} == {day.isoformat()}


@pytest.mark.case("C084")
@pytest.mark.parametrize(
    ("text", "order"),
    [
        ("03/04/2024", "iso"),
        ("2024-04-03", "day-first"),
        ("13/04/2024", "month-first"),
        ("04/13/2024", "day-first"),
        ("31/02/2024", "day-first"),
        ("29/02/2023", "day-first"),
        ("03/04/24", "day-first"),
        ("03/04-2024", "day-first"),
        ("3 April 2024", "day-first"),
        ("2024-4-3", "iso"),
        ("2024-04-03 10:00", "iso"),
        ("20240403", "iso"),
    ],
)
def test_dates_are_read_only_as_declared(text: str, order: str) -> None:
    """Day and month are told apart by the declaration alone; a misfit is refused, with 31 February and two digits of a year."""
    assert _why(text, "date", dates=order)


@pytest.mark.parametrize(
    ("serial", "system", "day"),
    [
        (61.0, 1900, "1900-03-01"),
        (45000.0, 1900, "2023-03-15"),
        (43538.0, 1904, "2023-03-15"),
        (0.0, 1904, "1904-01-01"),
    ],
)
def test_serials_by_system(serial: float, system: int, day: str) -> None:
    """A number counts days from its workbook's first one, where the column takes serial numbers."""
    assert _one(serial, "date", system=system, serials=True) == day
    assert "declare serials" in _why(serial, "date", system=system)


@pytest.mark.parametrize("serial", [60.0, 59.0, 1.0, 0.0, -1.0, 2_958_466.0, 1e300])
def test_days_that_programs_read_differently_are_refused(serial: float) -> None:
    """29 February 1900 never was, what lies before it is a day off in some programs, and the calendar has an end."""
    assert "no date of the 1900 system" in _why(serial, "date", serials=True)


@pytest.mark.parametrize("value", [date(1900, 2, 28), datetime(1900, 2, 28)])  # noqa: DTZ001
def test_days_before_march_1900_are_refused_as_dates_too(value: Value) -> None:
    """The same goes for what the reader has made a date of."""
    assert "before 1 March 1900" in _why(value, "date")


def test_a_time_of_day_is_no_part_of_a_date() -> None:
    """A date with a time of day is refused in a column of dates, as are times and durations."""
    assert _one(datetime(2026, 1, 1), "date") == "2026-01-01"  # noqa: DTZ001
    assert "has a time of day" in _why(datetime(2026, 1, 1, 0, 1), "date")  # noqa: DTZ001
    assert "a time of day or a duration" in _why(time(1), "date")
    assert "a time of day or a duration" in _why(timedelta(1), "datetime")


@pytest.mark.parametrize(
    ("value", "zone", "moment"),
    [
        ("2026-11-30 18:05", "America/Sao_Paulo", "2026-11-30 21:05:00+00:00"),
        ("2026-11-30T18:05:09.25Z", "America/Sao_Paulo", "2026-11-30 18:05:09.250000+00:00"),
        ("2026-11-30 18:05:09+02:00", "UTC", "2026-11-30 16:05:09+00:00"),
        (datetime(2026, 11, 30, 18, 5, 8, 999_999), "UTC", "2026-11-30 18:05:09+00:00"),  # noqa: DTZ001
        (date(2026, 7, 1), "Europe/Paris", "2026-06-30 22:00:00+00:00"),
    ],
)
def test_moments_are_staged_in_utc(value: Value, zone: str, moment: str) -> None:
    """A clock's time is of the declared zone, unless the text says its own."""
    assert _one(value, "datetime", zone=zone) == moment


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("2026-03-29 02:30", "left out"),
        ("2026-10-25 02:30", "showed twice"),
        ("2026-03-29 24:00", "no such time of day"),
        ("2026-03-29 10:00+25:00", "no such time zone"),
        ("2026-03-29", "no date with a time of day"),
    ],
)
def test_times_that_clocks_never_showed_or_twice(text: str, why: str) -> None:
    """Where the clocks are changed a time is refused rather than guessed."""
    assert why in _why(text, "datetime", zone="Europe/Paris")


# --- booleans, blanks, marks ------------------------------------------------------------------------------------------


def test_booleans_are_words_as_declared() -> None:
    """A boolean is one, or a declared word."""
    words = {"yes": ("Sim", "1"), "no": ("Não", "0")}
    assert [_one(value, "boolean", **words) for value in (True, "SIM", 1.0, False, "não", 0.0)] == [*"tttfff"]
    assert "none of true, false" in _why("yes", "boolean")
    assert "none of true, false" in _why(1.0, "boolean")


@pytest.mark.parametrize("kind", ["text", "integer", "decimal", "money", "date", "datetime", "boolean"])
def test_an_empty_cell_is_nothing_or_refused(kind: str) -> None:
    """An empty or blank cell is nothing; in a required column it is refused; a mark is refused in its own words."""
    scale = {"places": 2} if kind == "decimal" else {}
    assert {_one(blank, kind, **scale) for blank in ("", "  ", "\N{NO-BREAK SPACE}")} == {NOTHING}
    assert "is empty" in _why(" ", kind, required=True, **scale)
    assert _why(Unreadable("#REF!", "is the error #REF!"), kind, **scale) == "is the error #REF!"


# --- the short way ----------------------------------------------------------------------------------------------------

FLOATS = st.one_of(
    st.integers(-(10**9), 10**9).map(lambda cents: cents / 100),
    st.sampled_from([0.1 + 0.2, 1.005, -0.0, 1e15, float("nan"), 2.5]),
)
TEXTS = st.one_of(
    st.text("ab c\\\t\n", max_size=5),
    st.sampled_from(["", " ", "12.50", "-3", "true", "2026-11-30", "2026-11-30 10:00", "é", "a\0b", "x" * 300]),
)
DAYS = st.one_of(st.dates(date(1900, 1, 1), date(1900, 4, 1)), st.dates(date(2026, 1, 1), date(2026, 1, 9)))
MOMENTS = st.datetimes(datetime(2026, 1, 1), datetime(2026, 1, 3))  # noqa: DTZ001
ANY = st.one_of(FLOATS, TEXTS, DAYS, MOMENTS, st.booleans(), st.just(Unreadable("#N/A", "is the error #N/A")))
COLUMNS_OF_VALUES = st.one_of(
    *(st.lists(kind, min_size=1, max_size=12) for kind in (FLOATS, TEXTS, DAYS, MOMENTS, st.booleans(), ANY)),
    *(st.lists(st.one_of(st.just(""), kind), min_size=1, max_size=12) for kind in (FLOATS, DAYS, MOMENTS)),
)
DECLARED = st.sampled_from(
    [
        {"type": "text"},
        {"type": "integer"},
        {"type": "decimal", "places": PLACES},
        {"type": "money", "currency": "BRL"},
        {"type": "money", "currency": "JPY"},
        {"type": "money", "currency_from": "currency"},
        {"type": "date"},
        {"type": "datetime", "zone": "UTC"},
        {"type": "datetime", "zone": "Europe/Paris"},
        {"type": "boolean"},
    ]
)


@given(
    values=COLUMNS_OF_VALUES,
    declared=DECLARED,
    required=st.booleans(),
    codes=st.sampled_from([["BRL"], ["BRL", "JPY"], ["XXQ"]]),
)
def test_the_short_way_agrees_with_the_careful_one(
    values: list[Value], declared: dict[str, Any], required: bool, codes: list[str]
) -> None:
    """A whole column converted at once gives what converting each cell by itself gives."""
    reader = ColumnReader(Column(name="value", required=required, **declared), 1900)
    theirs = [codes[index % len(codes)] for index in range(len(values))] if "currency_from" in declared else None
    texts, refused = reader.convert(values, theirs)
    for index, value in enumerate(values):
        expected: tuple[str, str | None]
        try:
            expected = reader.one(value, None if theirs is None else theirs[index]), None
        except CellRefused as why:
            expected = NOTHING, str(why)
        assert (texts[index], refused.get(index)) == expected


def test_decimals_are_not_rounded_half_way() -> None:
    """The decimal text of a float is that of its exact scaled value, not of a rounding of its own."""
    for cents in range(0, 100_000, 7):
        value = cents / 100
        expected = Decimal(cents).scaleb(-2).quantize(Decimal("0.01"), rounding=ROUND_HALF_EVEN)
        texts, _ = ColumnReader(Column(name="value", type="decimal", places=2), 1900).convert([value])
        assert texts == [str(expected)]


@pytest.mark.parametrize(
    "declared", [{"type": "decimal", "places": 2}, {"type": "integer"}, {"type": "money", "currency": "BRL"}]
)
def test_zero_has_no_sign(declared: dict[str, Any]) -> None:
    """What a subtraction left as -0.0 is 0 in a whole column too."""
    texts, _ = ColumnReader(Column(name="value", **declared), 1900).convert([5.0, -0.0])
    assert texts[1] == ("0.00" if "places" in declared else "0")


def test_moments_are_aware() -> None:
    """What is staged of a moment can be read as an instant again."""
    assert datetime.fromisoformat(_one("2026-11-30 18:05", "datetime")).tzinfo == UTC
