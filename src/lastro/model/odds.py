"""
Odds and outcomes: exact decimals in thousandths, and the one table of what each outcome makes of a stake.

A bet returns its stake times the factors of its legs, rounded down once, at the end, to a minor unit: the part of one
that is cut off stays with the house. No float comes near it, and no leg is rounded by itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from math import prod
from typing import Final

from lastro.errors import InvalidInput
from lastro.model.limits import DEAD_HEAT_MAX, ODDS_THOUSANDTHS_MAX
from lastro.model.text import shown

THOUSANDTHS: Final = 1_000
DECIMALS_MAX: Final = 3
DECIMALS_SHOWN_MIN: Final = 2

_DECIMAL: Final = re.compile(rf"(0|[1-9][0-9]{{0,6}})(?:\.([0-9]{{1,{DECIMALS_MAX}}}))?", re.ASCII)
_DEAD_HEAT: Final = re.compile(r"dead_heat:([1-9][0-9]{0,3})/([1-9][0-9]{0,3})", re.ASCII)

# What an outcome makes of a stake of one: the part that wins, and is paid at the leg's odds; the part that is given
# back as it is. What remains is lost. A leg of a multiple that is void counts as odds of 1.
#
#   outcome          wins   given back   lost     factor at odds q
#   won              1      0            0        q
#   lost             0      0            1        0
#   void             0      1            0        1
#   half_won         1/2    1/2          0        (q + 1) / 2
#   half_lost        0      1/2          1/2      1/2
#   dead_heat:a/b    a/b    0            1 - a/b  q × a / b
OUTCOMES: Final[dict[str, tuple[Fraction, Fraction]]] = {
    "won": (Fraction(1), Fraction(0)),
    "lost": (Fraction(0), Fraction(0)),
    "void": (Fraction(0), Fraction(1)),
    "half_won": (Fraction(1, 2), Fraction(1, 2)),
    "half_lost": (Fraction(0), Fraction(1, 2)),
}
VOID: Final = "void"


def odds_thousandths(odds: object, *, argument: str = "odds") -> int:
    """
    Return decimal odds in thousandths: "2.05" is 2050. Text or a Decimal, above 1, with at most 3 decimals.
    """
    thousandths = _thousandths(odds, argument=argument)
    if not THOUSANDTHS < thousandths <= ODDS_THOUSANDTHS_MAX:
        raise InvalidInput(
            f"{argument} must be above 1 and at most {ODDS_THOUSANDTHS_MAX // THOUSANDTHS}; got {shown(odds)}",
            argument=argument,
        )
    return thousandths


def tolerance_thousandths(tolerance: object) -> int:
    """
    Return by how much odds may be lower than asked, in thousandths: "0.05" is 50, "0" takes nothing lower.
    """
    thousandths = _thousandths(tolerance, argument="tolerance")
    if thousandths > ODDS_THOUSANDTHS_MAX:
        raise InvalidInput(
            f"tolerance may be {ODDS_THOUSANDTHS_MAX // THOUSANDTHS}; got {shown(tolerance)}", argument="tolerance"
        )
    return thousandths


def shown_odds(thousandths: int) -> str:
    """
    Return odds as people write them: 2050 is "2.05", 2000 is "2.00", 2125 is "2.125".
    """
    decimals = f"{thousandths % THOUSANDTHS:03}".rstrip("0").ljust(DECIMALS_SHOWN_MIN, "0")
    return f"{thousandths // THOUSANDTHS}.{decimals}"


def outcome_word(outcome: object, *, argument: str = "outcomes") -> str:
    """
    Return *outcome* if it is one of the table's: won, lost, void, half_won, half_lost, dead_heat:a/b (in lowest terms).

    How many share a place is said by whoever knows: nothing here is inferred from how many won.
    """
    if isinstance(outcome, str):
        if outcome in OUTCOMES:
            return outcome
        match = _DEAD_HEAT.fullmatch(outcome)
        if match:
            share, places = int(match[1]), int(match[2])
            if share < places <= DEAD_HEAT_MAX:
                return f"dead_heat:{Fraction(share, places)}"
    raise InvalidInput(
        f"an outcome is one of {', '.join(OUTCOMES)}, or dead_heat:a/b with 1 ≤ a < b ≤ {DEAD_HEAT_MAX}; "
        f"got {shown(outcome)}",
        argument=argument,
    )


@lru_cache(maxsize=10_000)
def factor(odds: int, outcome: str) -> Fraction:
    """
    Return what a stake of one becomes on a leg at *odds* (thousandths) that ended so.
    """
    wins, given_back = parts_of(outcome)
    return Fraction(odds, THOUSANDTHS) * wins + given_back


def parts_of(outcome: str) -> tuple[Fraction, Fraction]:
    """
    Return which part of the stake wins, and which is given back.
    """
    if outcome in OUTCOMES:
        return OUTCOMES[outcome]
    return Fraction(outcome.removeprefix("dead_heat:")), Fraction(0)


def bet_return(stake: int, factors: Iterable[Fraction], *, return_max: int) -> int:
    """
    Return the minor units that come back: the stake times all factors, rounded down once and cut to *return_max*.
    """
    exact = stake * prod(factors, start=Fraction(1))
    return min(exact.numerator // exact.denominator, return_max)


def potential_return(stake: int, odds: Iterable[int], *, return_max: int) -> int:
    """
    Return what a bet brings back if every leg wins, by the same rule.
    """
    return bet_return(stake, (Fraction(one, THOUSANDTHS) for one in odds), return_max=return_max)


def _thousandths(value: object, *, argument: str) -> int:
    # An int doesn't say whether it counts thousandths; a float can't hold 2.05.
    if isinstance(value, Decimal) and value.is_finite() and abs(value) <= ODDS_THOUSANDTHS_MAX:
        value = f"{value:f}"
    match = _DECIMAL.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        raise InvalidInput(
            f"{argument} must be decimal text like '2.05' (or a Decimal) with at most {DECIMALS_MAX} decimals; "
            f"got {shown(value)} of type {type(value).__name__}",
            argument=argument,
        )
    return int(match[1]) * THOUSANDTHS + int((match[2] or "").ljust(DECIMALS_MAX, "0"))
