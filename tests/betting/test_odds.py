"""Odds and outcomes: exact, and each with the arithmetic that its table says."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lastro import InvalidInput
from lastro.model.limits import BET_RETURN_MAX, BET_STAKE_MAX, ODDS_THOUSANDTHS_MAX, UNLOCKED_AMOUNT_MAX
from lastro.model.odds import (
    bet_return,
    factor,
    odds_thousandths,
    outcome_word,
    potential_return,
    shown_odds,
    tolerance_thousandths,
)


@pytest.mark.parametrize(
    ("text", "thousandths"),
    [("2.05", 2050), ("2", 2000), ("1.001", 1001), ("3.3", 3300), ("10000", 10_000_000), (Decimal("2.125"), 2125)],
)
def test_odds_are_exact(text: Any, thousandths: int) -> None:
    """Decimal text and Decimals become thousandths, and come back as people write them."""
    assert odds_thousandths(text) == thousandths
    assert odds_thousandths(shown_odds(thousandths)) == thousandths


@pytest.mark.parametrize(
    "odds",
    [
        "1", "1.000", "0.99", "0", "-2", "10000.001", "100000", "2.0001", "1e3", "NaN", "inf", "2,05", " 2.05", "2.",
        ".5", "٢", "", "02", 2.05, 2, True, None, Decimal("NaN"), Decimal("Infinity"), Decimal("2.0001"),
        Decimal("1E+999999"), float("nan"), b"2.05",
    ],
)  # fmt: skip
def test_what_are_no_odds_is_refused(odds: Any) -> None:
    """At or below 1, too high, too fine, a float, an int, no number: refused."""
    with pytest.raises(InvalidInput, match="odds"):
        odds_thousandths(odds)


@pytest.mark.parametrize("tolerance", ["-0.1", 0.1, 1, "20000", "x", None])
def test_what_is_no_tolerance_is_refused(tolerance: Any) -> None:
    """A tolerance is decimal text from 0 on."""
    assert tolerance_thousandths("0.05") == 50
    with pytest.raises(InvalidInput, match="tolerance"):
        tolerance_thousandths(tolerance)


@pytest.mark.case("C049")
@pytest.mark.parametrize(
    ("outcome", "returned"),
    [
        ("won", 205),
        ("lost", 0),
        ("void", 100),
        ("half_won", 152),  # 50 at 2.05 and 50 back: 152.5
        ("half_lost", 50),
        ("dead_heat:1/2", 102),  # half of the stake at 2.05, the other half lost: 102.5
        ("dead_heat:1/3", 68),  # 68.33…
        ("dead_heat:2/3", 136),  # 136.66…
    ],
)
def test_what_an_outcome_returns(outcome: str, returned: int) -> None:
    """A stake of 1.00 at 2.05: each outcome's part, rounded down once."""
    assert bet_return(100, [factor(2050, outcome)], return_max=BET_RETURN_MAX) == returned


@pytest.mark.case("C049")
def test_a_dead_heat_divides_the_stake() -> None:
    """
    Backing 2.00 at 2.28 and at 5.20 in a dead heat of two: won 0.28 and 3.20, and not the 2.56 and 8.40 that were paid
    in full; and nothing is reduced unless somebody says so.
    """
    assert [bet_return(200, [factor(odds, "dead_heat:1/2")], return_max=10**6) - 200 for odds in (2280, 5200)] == [
        28,
        320,
    ]
    assert bet_return(200, [factor(5200, "won")], return_max=10**6) == 1040


@pytest.mark.case("C050")
def test_each_way_is_two_bets() -> None:
    """5.00 each way at 10.0 with a fifth of the odds: won and placed 50.00 + 14.00, placed only 14.00."""
    win = bet_return(500, [factor(10_000, "won")], return_max=10**6)
    place = bet_return(500, [factor(2_800, "won")], return_max=10**6)
    assert (win + place, place) == (6_400, 1_400)


@pytest.mark.case("C050")
def test_a_void_leg_counts_as_odds_of_one() -> None:
    """A multiple with a void leg is the multiple of the others; with a lost one it is lost."""
    legs = [(2000, "won"), (3000, "void"), (1500, "won")]
    assert bet_return(100, [factor(*leg) for leg in legs], return_max=10**6) == 300
    assert bet_return(100, [factor(*leg) for leg in [*legs, (9000, "lost")]], return_max=10**6) == 0


@pytest.mark.parametrize("outcome", ["win", "WON", "dead_heat", "dead_heat:0/2", "dead_heat:2/2", "dead_heat:1/1001",
                                     "dead_heat:1/02", "dead_heat:-1/2", "", None, 1, True])  # fmt: skip
def test_what_is_no_outcome_is_refused(outcome: Any) -> None:
    """An outcome is a word of the table, or a share of a place that is smaller than it."""
    with pytest.raises(InvalidInput, match="outcome"):
        outcome_word(outcome)
    assert outcome_word("dead_heat:2/4") == "dead_heat:1/2"


@given(
    stake=st.integers(1, BET_STAKE_MAX),
    legs=st.lists(
        st.tuples(
            st.integers(1001, ODDS_THOUSANDTHS_MAX),
            st.sampled_from(["won", "lost", "void", "half_won", "half_lost", "dead_heat:1/3"]),
        ),
        min_size=1,
        max_size=20,
    ),
)
def test_a_return_is_rounded_once_and_never_up(stake: int, legs: list[tuple[int, str]]) -> None:
    """Within a minor unit below the exact product, cut to the limit, and no bet returns more than all of it won."""
    exact = Fraction(stake)
    for odds, outcome in legs:
        won, kept = {
            "won": (1, 0), "lost": (0, 0), "void": (0, 1), "half_won": (Fraction(1, 2), Fraction(1, 2)),
            "half_lost": (0, Fraction(1, 2)), "dead_heat:1/3": (Fraction(1, 3), 0),
        }[outcome]  # fmt: skip
        exact *= Fraction(odds, 1000) * won + kept
    returned = bet_return(stake, [factor(*leg) for leg in legs], return_max=BET_RETURN_MAX)
    assert returned == min(exact // 1, BET_RETURN_MAX)
    assert returned <= potential_return(stake, [odds for odds, _ in legs], return_max=BET_RETURN_MAX)


def test_the_limits_fit_each_other() -> None:
    """A void bet gives its whole stake back, and no amount of a bet needs a lock on the house's account."""
    assert BET_STAKE_MAX <= BET_RETURN_MAX <= UNLOCKED_AMOUNT_MAX
