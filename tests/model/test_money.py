"""
Amounts as text and as minor units: exact in both directions, or refused.
"""

from __future__ import annotations

from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lastro.errors import AmountOutOfRange, InvalidInput, LastroError, Refusal
from lastro.model import currencies
from lastro.model.money import Money, minor_units

INT64_MAX = 9_223_372_036_854_775_807
INT64_MIN = -9_223_372_036_854_775_808

int64 = st.integers(min_value=INT64_MIN, max_value=INT64_MAX)
codes = st.sampled_from(sorted({**currencies.ACTIVE, **currencies.WITHDRAWN}))


# --- prices and cents -------------------------------------------------------------------------------------------------


def test_the_example_of_the_documentation() -> None:
    """5.90 BRL is 590 minor units, and back."""
    assert Money.parse("5.90", "BRL") == 590
    assert Money.format(590, "BRL") == "5.90"


@pytest.mark.case("C028")
def test_all_ten_thousand_two_decimal_prices_round_trip() -> None:
    """Every price from 0.01 to 100.00 is its own number of cents, as text and as Decimal, and the same text again."""
    for cents in range(1, 10_001):
        text = f"{cents // 100}.{cents % 100:02d}"
        assert Money.parse(text, "BRL") == cents
        assert Money.parse(Decimal(text), "BRL") == cents
        assert Money.format(cents, "BRL") == text


def test_float_truncation_would_have_failed_the_price_test() -> None:
    """The ten thousand prices are a real check: int(price * 100) gets 573 of them wrong."""
    wrong = sum(int(float(f"{cents // 100}.{cents % 100:02d}") * 100) != cents for cents in range(1, 10_001))
    assert wrong == 573


@pytest.mark.case("C028")
@pytest.mark.parametrize("price", [19.99, 8.29, 8.20, 17.08, 4.56, 4.73, 0.56, 1.005, 5.0, float("nan"), float("inf")])
def test_a_float_is_refused_even_when_it_is_exact(price: Any) -> None:
    """A float never becomes an amount, 5.0 included: the caller who passes floats will pass 8.29 tomorrow."""
    with pytest.raises(InvalidInput, match="float can't hold"):
        Money.parse(price, "BRL")


@pytest.mark.case("C028")
@pytest.mark.case("C034")
@pytest.mark.parametrize("text", ["5.900", "1.005", "17.7196", "0.001", "5.90000000000000000000"])
def test_more_decimals_than_the_currency_are_refused(text: str) -> None:
    """Nothing is rounded at the border, trailing zeros included, so no two sides of a booking can round differently."""
    for amount in (text, Decimal(text)):
        with pytest.raises(InvalidInput, match="BRL has 2") as caught:
            Money.parse(amount, "BRL")
        assert not isinstance(caught.value, AmountOutOfRange)


@pytest.mark.parametrize("amount", [Decimal("1E-999999999999"), Decimal("0E-999999999999")])
def test_endless_decimals_are_refused_before_they_are_written_out(amount: Decimal) -> None:
    """A Decimal of twelve characters can stand for a terabyte of digits; it is judged by its exponent alone."""
    with pytest.raises(InvalidInput, match="has 999999999999 decimals"):
        Money.parse(amount, "BRL")


@pytest.mark.parametrize(
    ("text", "currency", "minor"),
    [("590", "JPY", 590), ("5", "BRL", 500), ("5.9", "BRL", 590), ("1.234", "KWD", 1234), ("0.0001", "CLF", 1)],
)
def test_fewer_decimals_are_filled_up(text: str, currency: str, minor: int) -> None:
    """A missing decimal is a zero on the right: 5.9 BRL is 590 and never 59."""
    assert Money.parse(text, currency) == minor
    assert Money.parse(Decimal(text), currency) == minor


@pytest.mark.parametrize(
    ("minor", "currency", "text"),
    [(0, "BRL", "0.00"), (-1, "BRL", "-0.01"), (-590, "BRL", "-5.90"), (7, "JPY", "7"), (-7, "KWD", "-0.007")],
)
def test_format_always_shows_all_decimals(minor: int, currency: str, text: str) -> None:
    """The text has the currency's decimals, a digit before the point and the sign in front."""
    assert Money.format(minor, currency) == text


def test_a_currency_of_one_s_own_states_its_exponent() -> None:
    """POINTS has no exponent of its own: it is passed, and without it the error asks for it."""
    assert Money.parse("10", "POINTS", exponent=0) == 10
    assert Money.parse("0.5", "COIN", exponent=18) == 5 * 10**17
    assert Money.format(10, "POINTS", exponent=0) == "10"
    for call in (lambda: Money.parse("10", "POINTS"), lambda: Money.format(10, "POINTS")):
        with pytest.raises(InvalidInput, match="exponent=0"):
            call()


@pytest.mark.case("C030")
def test_an_iso_currency_has_one_scale_in_every_call() -> None:
    """A call can't read or write BRL in thousandths."""
    with pytest.raises(InvalidInput, match="BRL has 2 decimals"):
        Money.parse("1.000", "BRL", exponent=3)
    with pytest.raises(InvalidInput, match="BRL has 2 decimals"):
        Money.format(1000, "BRL", exponent=3)


# --- the grammar ------------------------------------------------------------------------------------------------------

NOT_AMOUNTS = [
    *["", "-", ".", "5.", ".5", "-.5", "+5", " 5", "5 ", "5\n", "\n5", "5.90\n", "--5", "5-", "5.9.0", "5..9"],
    *["1e3", "1E+3", "5e-1", "0x10", "1_000", "1,000.00", "5,90", "05", "00", "-05", "1/2", "R$5.90", "5.90 BRL"],
    *["٥", "1٥", "5.٩٠", "５", "²", "\N{MINUS SIGN}5", "NaN", "Infinity", "-inf", "5\x00"],
]


@pytest.mark.case("C032")
@pytest.mark.parametrize("text", NOT_AMOUNTS)
def test_other_text_is_refused(text: str) -> None:
    """Only plain ASCII decimals are amounts: what int() or Decimal() would also accept is refused, never read."""
    for currency in ("BRL", "JPY"):
        with pytest.raises(InvalidInput, match="is not an amount"):
            Money.parse(text, currency)


@given(st.text(max_size=12))
@example("0.1\n")
def test_any_text_is_read_as_decimal_reads_it_or_refused(text: str) -> None:
    """Whatever text is accepted has the value that Decimal gives it; anything else is one typed refusal."""
    try:
        minor = Money.parse(text, "BRL")
    except InvalidInput:
        return
    assert Decimal(minor) == Decimal(text) * 100
    assert text.isascii()


@given(st.text(alphabet="0123456789.-+eE _", max_size=8))
def test_text_made_of_number_characters_is_read_right_or_refused(text: str) -> None:
    """The same property on texts that come close to amounts."""
    try:
        minor = Money.parse(text, "BRL")
    except InvalidInput:
        return
    assert Decimal(minor) == Decimal(text) * 100
    assert not set(text) & set("+eE _")


def test_minus_zero_is_zero() -> None:
    """The grammar allows -0; an int has no negative zero, so it can't come back out."""
    for amount in ("-0", "-0.00", Decimal("-0"), Decimal("-0.00")):
        assert Money.format(Money.parse(amount, "BRL"), "BRL") == "0.00"


@pytest.mark.case("C032")
def test_a_decimal_in_exponent_form_is_read_exactly() -> None:
    """Decimal("1E+3") is one thousand; normalize() and the context's precision have no part in it."""
    assert Money.parse(Decimal("1E+3"), "BRL") == 100_000
    assert Money.parse(Decimal("1000.00").normalize(), "BRL") == 100_000
    assert Money.parse(Decimal("0E+1000000"), "BRL") == 0
    with localcontext() as context:
        context.prec = 2
        assert Money.parse(Decimal("92233720368547758.07"), "BRL") == INT64_MAX


@pytest.mark.parametrize("amount", [Decimal("NaN"), Decimal("sNaN"), Decimal("Infinity"), Decimal("-Infinity")])
def test_a_decimal_that_is_no_number_is_refused(amount: Decimal) -> None:
    """NaN compares with nothing and infinity with everything; neither is an amount."""
    with pytest.raises(InvalidInput, match="finite"):
        Money.parse(amount, "BRL")


@pytest.mark.parametrize(
    "amount", [True, False, 5, None, b"5.90", Fraction(59, 10), 5j, ["5.90"], pytest.param(10**5_000, id="huge")]
)
def test_other_types_are_refused(amount: Any) -> None:
    """Only text and Decimals are parsed; an int may mean major or minor units, so it isn't guessed."""
    with pytest.raises(InvalidInput, match=r"Pass text such as '5\.90', or a Decimal"):
        Money.parse(amount, "BRL")


def test_a_refusal_is_a_lastro_error_and_a_value_error() -> None:
    """Callers may catch the library's root, its refusals, or ValueError as for any parser."""
    for kind in (LastroError, Refusal, ValueError):
        with pytest.raises(kind):
            Money.parse("five", "BRL")


# --- size -------------------------------------------------------------------------------------------------------------


@pytest.mark.case("C032")
@pytest.mark.parametrize("digits", range(1, 20))
@pytest.mark.parametrize(("currency", "exponent"), [("JPY", 0), ("BRL", 2), ("KWD", 3), ("CLF", 4), ("COIN", 18)])
def test_amounts_of_one_to_nineteen_digits_round_trip(digits: int, currency: str, exponent: int) -> None:
    """The number of digits changes nothing: same type, same text, never an exponent (1 to 19 digits, both signs)."""
    for minor in (int("1234567890123456789"[:digits]), 10 ** (digits - 1), int("8" * digits)):
        for signed in (minor, -minor):
            text = Money.format(signed, currency, exponent=exponent)
            assert set(text) <= set("0123456789.-")
            assert text.replace(".", "").replace("-", "").lstrip("0") == str(minor)
            assert Money.parse(text, currency, exponent=exponent) == signed
            assert Money.parse(Decimal(text), currency, exponent=exponent) == signed


@given(int64, codes)
@example(INT64_MAX, "BRL")
@example(INT64_MIN, "BRL")
@example(INT64_MIN, "CLF")
def test_every_amount_of_every_iso_currency_round_trips(minor: int, currency: str) -> None:
    """Writing and reading are inverse over the whole 64-bit range, and the text has the value minor / 10^exponent."""
    text = Money.format(minor, currency)
    assert Money.parse(text, currency) == minor
    assert Money.parse(Decimal(text), currency) == minor
    assert Fraction(text) == Fraction(minor, 10 ** currencies.exponent(currency))


@given(int64, st.integers(min_value=0, max_value=currencies.EXPONENT_MAX))
def test_every_stated_exponent_round_trips(minor: int, exponent: int) -> None:
    """The same for a currency of one's own with 0 to 18 decimals."""
    assert Money.parse(Money.format(minor, "COIN", exponent=exponent), "COIN", exponent=exponent) == minor


@pytest.mark.case("C035")
def test_eighteen_decimals_lose_nothing() -> None:
    """Amounts that differ in the 18th decimal stay different, so "spend all" leaves no residue."""
    first = Money.parse("8.754889999999999998", "COIN", exponent=18)
    second = Money.parse("8.754889999999999999", "COIN", exponent=18)
    assert second - first == 1
    assert first - Money.parse(Money.format(first, "COIN", exponent=18), "COIN", exponent=18) == 0
    # The reported balance itself needs 10^18 × 875 minor units: refused, not shortened.
    with pytest.raises(AmountOutOfRange):
        Money.parse("875.488999999999999835", "COIN", exponent=18)


@pytest.mark.parametrize(
    ("amount", "currency"),
    [
        ("92233720368547758.08", "BRL"),
        ("-92233720368547758.09", "BRL"),
        ("9223372036854775808", "JPY"),
        ("99999999999999999999", "JPY"),
        pytest.param("9" * 100_000, "BRL", id="long"),
        pytest.param("-" + "9" * 100_000 + ".99", "BRL", id="long and negative"),
        (Decimal("92233720368547758.08"), "BRL"),
        (Decimal("-92233720368547758.09"), "BRL"),
        (Decimal("1E+17"), "BRL"),
        (Decimal("1E+999999"), "JPY"),
        (Decimal("-1E+999999999999"), "JPY"),
    ],
)
def test_an_amount_outside_64_bits_is_refused(amount: str | Decimal, currency: str) -> None:
    """The first number past each end is refused and so is one of any size, at once and with a short message."""
    with pytest.raises(AmountOutOfRange, match=r"-2\^63 … 2\^63-1") as caught:
        Money.parse(amount, currency)
    assert len(str(caught.value)) < 300


def test_the_ends_of_the_range_are_amounts() -> None:
    """-2^63 and 2^63-1 themselves are read and written."""
    for minor in (INT64_MIN, INT64_MAX):
        assert Money.parse(Money.format(minor, "JPY"), "JPY") == minor
    assert Money.format(INT64_MIN, "BRL") == "-92233720368547758.08"


@pytest.mark.parametrize("minor", [5.0, True, "5", Decimal(5), None, float("nan")])
def test_format_takes_only_an_int(minor: Any) -> None:
    """Minor units are an int: a bool, a float or a Decimal is refused by type."""
    with pytest.raises(InvalidInput, match="must be an int of minor units"):
        Money.format(minor, "BRL")


@pytest.mark.parametrize("minor", [INT64_MAX + 1, INT64_MIN - 1, pytest.param(10**5_000, id="huge")])
def test_format_and_minor_units_refuse_what_no_balance_can_be(minor: int) -> None:
    """Beyond 64 bits there is no amount to write, and the message doesn't print five thousand digits."""
    for call in (lambda: Money.format(minor, "BRL"), lambda: minor_units(minor, name="amount")):
        with pytest.raises(AmountOutOfRange) as caught:
            call()
        assert len(str(caught.value)) < 300


@pytest.mark.case("C034")
def test_what_was_rounded_once_is_the_same_on_both_documents() -> None:
    """14.29 with 24 % tax is 17.7196: the ledger takes 17.72 once rounded, and gives the invoice the same text."""
    unrounded = Decimal("14.29") * Decimal("1.24")
    with pytest.raises(InvalidInput):
        Money.parse(unrounded, "EUR")
    posted = Money.parse(unrounded.quantize(Decimal("0.01")), "EUR")
    assert Money.format(posted, "EUR") == "17.72"
