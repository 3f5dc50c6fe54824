"""
Parts that add up to the whole, and proportions rounded once, against exact fractions.
"""

from __future__ import annotations

from decimal import ROUND_DOWN, ROUND_HALF_EVEN, ROUND_HALF_UP, Decimal, localcontext
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lastro.errors import AmountOutOfRange, InvalidInput
from lastro.model.allocation import PARTS_MAX, Rounding, allocate, proportion

INT64_MAX = 2**63 - 1
INT64_MIN = -(2**63)

signed_int64 = st.integers(INT64_MIN, INT64_MAX)
totals = st.one_of(st.integers(-1_000, 1_000), signed_int64)
whole_weights = st.lists(st.integers(0, 10**12), min_size=1, max_size=30).filter(any)
decimal_weights = st.lists(st.decimals(0, 1_000, places=3), min_size=1, max_size=12).filter(any)


# --- allocate ---------------------------------------------------------------------------------------------------------


@pytest.mark.case("C029")
@pytest.mark.parametrize(
    ("total", "weights", "parts"),
    [
        (1000, [1, 1, 1], [334, 333, 333]),
        (100, [1, 1, 1], [34, 33, 33]),
        (-100, [1, 1, 1], [-34, -33, -33]),
        (12501, [3334, 3334, 3333], [4168, 4167, 4166]),
        (12501, [1, 1, 1, 1], [3126, 3125, 3125, 3125]),
        (2, [1, 1, 1], [1, 1, 0]),
        (0, [1, 2, 3], [0, 0, 0]),
        (100, [0, 1, 0, 1], [0, 50, 0, 50]),
        (101, [0, 1, 1], [0, 51, 50]),
        (5, [1], [5]),
        (10, [3, 7], [3, 7]),
        (100, [1, 2], [33, 67]),
        (INT64_MAX, [1, 1], [2**62, 2**62 - 1]),
        (INT64_MIN, [1, 1], [-(2**62), -(2**62)]),
        (1000, [Decimal("0.5"), Decimal("0.25"), Decimal("0.25")], [500, 250, 250]),
        (1000, [Decimal("1E+2"), 100, Decimal("100.00")], [334, 333, 333]),
    ],
)
def test_known_divisions(total: int, weights: list[int | Decimal], parts: list[int]) -> None:
    """The reported divisions come out whole: largest remainder first, earlier weights first among equals."""
    assert allocate(total, weights) == parts


@pytest.mark.case("C029")
@given(totals, whole_weights)
@example(INT64_MIN, [1, 1, 1])
@example(2, [1, 1, 1])
def test_parts_add_up_and_stay_within_one_unit_of_their_share(total: int, weights: list[int]) -> None:
    """No unit is lost or made, no part is a whole unit off its exact share, a weight of 0 gets 0, signs agree."""
    parts = allocate(total, weights)
    assert sum(parts) == total
    assert len(parts) == len(weights)
    for part, weight in zip(parts, weights, strict=True):
        assert abs(part - Fraction(total * weight, sum(weights))) < 1
        assert part * total >= 0
        assert weight or part == 0
        assert type(part) is int


@given(totals.filter(lambda total: total > INT64_MIN), whole_weights)
def test_the_units_left_go_to_the_largest_remainders(total: int, weights: list[int]) -> None:
    """Who got one more had a larger remainder than who did not, or the same one and an earlier place."""
    exact = [Fraction(abs(total) * weight, sum(weights)) for weight in weights]
    more: list[tuple[Fraction, int]] = []
    others: list[tuple[Fraction, int]] = []
    for index, (part, share) in enumerate(zip(allocate(abs(total), weights), exact, strict=True)):
        rank = (-(share % 1), index)
        (more if part > share // 1 else others).append(rank)
    assert not more or not others or max(more) < min(others)


@given(st.integers(0, INT64_MAX), whole_weights)
def test_a_negative_total_mirrors_the_positive_one(total: int, weights: list[int]) -> None:
    """Dividing a refund gives the parts of the payment with the other sign."""
    assert allocate(-total, weights) == [-part for part in allocate(total, weights)]


@given(totals, decimal_weights)
def test_decimal_weights_divide_like_their_integer_multiples(total: int, weights: list[Decimal]) -> None:
    """Only the ratio matters: Decimals divide as the same weights times a thousand, whatever the context rounds to."""
    with localcontext() as context:
        context.prec = 2
        parts = allocate(total, weights)
    assert parts == allocate(total, [int(weight * 1000) for weight in weights])


def test_more_parts_than_units() -> None:
    """Three cents over ten thousand accounts, as many as one call can post: the first three get one each."""
    assert PARTS_MAX == 10_000
    parts = allocate(3, [1] * PARTS_MAX)
    assert parts[:4] == [1, 1, 1, 0]
    assert sum(parts) == 3


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([], "weights must be 1 to"),
        ([1] * (PARTS_MAX + 1), "weights must be 1 to"),
        ([0], "above 0"),
        ([0, Decimal("0.00")], "above 0"),
        ([1, -1], r"weights\[1\] is negative"),
        ([Decimal("-0.1")], r"weights\[0\] is negative"),
        ([1, 0.5], r"weights\[1\] must be an int or a Decimal, not a float"),
        ([True, 1], "not a bool"),
        (["1"], "not a str"),
        ("11", "not a str"),
        ([Fraction(1, 3)], "not a Fraction"),
        ([None], "not a NoneType"),
        ([Decimal("NaN")], "must be finite"),
        ([Decimal("sNaN")], "must be finite"),
        ([Decimal("Infinity")], "must be finite"),
        ([Decimal("1E+999999")], "must be finite"),
        ([Decimal("1E-999999"), 1], "must be finite"),
    ],
)
def test_weights_that_are_refused(weights: Any, message: str) -> None:
    """Each weight that can't be a share is one typed error that names its place, also when the total is 0."""
    for total in (100, 0):
        with pytest.raises(InvalidInput, match=message):
            allocate(total, weights)


@pytest.mark.parametrize("total", [1.0, True, "100", Decimal(100), None])
def test_a_total_is_an_int(total: Any) -> None:
    """The total is minor units; a float, a bool or a Decimal is refused by type."""
    with pytest.raises(InvalidInput, match="total must be an int"):
        allocate(total, [1, 1])


def test_a_total_outside_64_bits_is_refused() -> None:
    """A total that no balance can be is refused before it is divided."""
    for total in (INT64_MAX + 1, INT64_MIN - 1):
        with pytest.raises(AmountOutOfRange):
            allocate(total, [1, 1])


# --- proportion -------------------------------------------------------------------------------------------------------

DECIMAL_ROUNDING: dict[Rounding, str] = {"half_even": ROUND_HALF_EVEN, "half_up": ROUND_HALF_UP, "down": ROUND_DOWN}


@pytest.mark.parametrize(
    ("amount", "half_even", "half_up", "down"),
    [
        (125, 12, 13, 12),
        (135, 14, 14, 13),
        (124, 12, 12, 12),
        (126, 13, 13, 12),
        (5, 0, 1, 0),
        (15, 2, 2, 1),
        (0, 0, 0, 0),
        (-125, -12, -13, -12),
        (-135, -14, -14, -13),
        (-126, -13, -13, -12),
        (5890, 589, 589, 589),
    ],
)
def test_ten_per_cent(amount: int, half_even: int, half_up: int, down: int) -> None:
    """A commission of 10 %: ties to even by default, away from zero or cut on request, mirrored for refunds."""
    assert proportion(amount, numerator=10, denominator=100) == half_even
    assert proportion(amount, numerator=1, denominator=10, rounding="half_up") == half_up
    assert proportion(amount, numerator=1, denominator=10, rounding="down") == down


@given(
    amount=st.integers(-(10**15), 10**15),
    numerator=st.integers(-1_000, 1_000),
    denominator=st.integers(1, 1_000),
    rounding=st.sampled_from([*DECIMAL_ROUNDING]),
)
@example(amount=125, numerator=1, denominator=10, rounding="half_even")
@example(amount=-125, numerator=1, denominator=10, rounding="half_even")
@example(amount=1, numerator=-1, denominator=2, rounding="half_up")
def test_a_proportion_is_the_exact_quotient_rounded_once(
    amount: int, numerator: int, denominator: int, rounding: Rounding
) -> None:
    """The result is the exact rational number rounded by the decimal module's rule of that name."""
    exact = Fraction(amount * numerator, denominator)
    # Cut to halves, plus a quarter where something was cut: few digits, and the same side of a tie.
    twice = 2 * abs(exact)
    half_units = twice.numerator // twice.denominator
    nudge = Decimal(0) if twice.denominator == 1 else Decimal("0.25")
    magnitude = (Decimal(half_units) / 2 + nudge).quantize(Decimal(1), rounding=DECIMAL_ROUNDING[rounding])
    expected = int(magnitude) if exact >= 0 else -int(magnitude)
    assert proportion(amount, numerator=numerator, denominator=denominator, rounding=rounding) == expected


@given(st.integers(-INT64_MAX, INT64_MAX))
@example(INT64_MAX)
def test_a_commission_is_the_nearest_unit_and_mirrors(price: int) -> None:
    """To the last of 19 digits 10 % is off by half a unit at most, a tie is even, and a refund takes back the same."""
    commission = proportion(price, numerator=10, denominator=100)
    off = abs(Fraction(price, 10) - commission)
    assert off < Fraction(1, 2) or (off == Fraction(1, 2) and commission % 2 == 0)
    assert proportion(-price, numerator=10, denominator=100) == -commission


@pytest.mark.case("C034")
def test_tax_is_rounded_once() -> None:
    """14.29 with 24 % tax: 343 cents of tax and 1772 in all, by one rounding of one exact number."""
    assert proportion(1429, numerator=24, denominator=100) == 343
    assert proportion(1429, numerator=124, denominator=100) == 1772


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"numerator": 0.1, "denominator": 1}, "numerator must be an int, not a float"),
        ({"numerator": Decimal("0.1"), "denominator": 1}, "numerator must be an int, not a Decimal"),
        ({"numerator": True, "denominator": 1}, "numerator must be an int, not a bool"),
        ({"numerator": 1, "denominator": 10.0}, "denominator must be an int, not a float"),
        ({"numerator": 1, "denominator": 0}, "denominator must be 1 or more"),
        ({"numerator": 1, "denominator": -10}, "denominator must be 1 or more"),
        ({"numerator": 1, "denominator": 10, "rounding": "ROUND_HALF_EVEN"}, "rounding must be"),
    ],
)
def test_proportions_that_are_refused(arguments: dict[str, Any], message: str) -> None:
    """Each argument that isn't exact is one typed error, whatever the amount."""
    for amount in (0, 125):
        with pytest.raises(InvalidInput, match=message):
            proportion(amount, **arguments)


def test_a_proportion_stays_in_64_bits() -> None:
    """An amount or a result that no balance can be is refused, never wrapped; a product in between may be larger."""
    assert proportion(INT64_MAX, numerator=10**20, denominator=10**20) == INT64_MAX
    for amount, numerator in ((INT64_MAX, 2), (INT64_MIN, -1), (INT64_MAX + 1, 1)):
        with pytest.raises(AmountOutOfRange):
            proportion(amount, numerator=numerator, denominator=1)
    floating: Any = 1.25
    with pytest.raises(InvalidInput, match="amount must be an int"):
        proportion(floating, numerator=1, denominator=10)
