"""
Dividing an amount without losing a cent: parts that add up to the whole, and a proportion rounded once.
"""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Final, Literal

from lastro.errors import InvalidInput
from lastro.model.limits import BATCH_TRANSFERS_MAX
from lastro.model.money import minor_units

if TYPE_CHECKING:
    from collections.abc import Sequence

# Every part becomes a transfer, and they are meant to be posted in one call.
PARTS_MAX: Final = BATCH_TRANSFERS_MAX

# Weights are scaled to integers by a power of ten; Decimal("1E+999999") must not become a million digits.
WEIGHT_DIGITS_MAX: Final = 100

Rounding = Literal["half_even", "half_up", "down"]


def allocate(total: int, weights: Sequence[int | Decimal]) -> list[int]:
    """
    Divides `total` minor units by `weights`, one part a weight, in their order; the parts add up to `total`.

    Largest remainder: each part is its exact share cut toward zero, and the cents that are left go one each to the
    largest remainders, earlier weights first among equals. So `allocate(1000, [1, 1, 1])` is `[334, 333, 333]`, always.
    No part is a whole minor unit away from its exact share. A weight of 0 gets 0; a negative total gives the mirrored
    parts of the positive one.

    To undo an allocation reverse the parts as they were posted: allocating again is another division.

    Raises `InvalidInput` when a weight is negative, not finite, or no int or Decimal (a float), when all are 0 or there
    are none, or more than PARTS_MAX; `AmountOutOfRange` for a total outside the 64-bit range.
    """
    total = minor_units(total, name="total")
    scaled = _scaled(weights)
    whole = sum(scaled)
    if whole == 0:
        raise InvalidInput("At least one weight must be above 0, or there is nobody to give the total to.")
    cuts = [divmod(abs(total) * weight, whole) for weight in scaled]
    parts = [share for share, _ in cuts]
    left = abs(total) - sum(parts)
    # The sort is stable: equal remainders stay in the order of their weights. There are always more remainders above 0
    # than units left (each is below `whole`, together they are left × whole), so a weight of 0 never gets one.
    by_remainder = sorted(range(len(cuts)), key=lambda index: -cuts[index][1])
    for index in by_remainder[:left]:
        parts[index] += 1
    if total < 0:
        parts = [-part for part in parts]
    # Not an assert statement: `python -O` must not take the promise away.
    if sum(parts) != total:
        raise AssertionError(f"allocate gave parts that add up to {sum(parts)}, not to {total}")
    return parts


def proportion(amount: int, *, numerator: int, denominator: int, rounding: Rounding = "half_even") -> int:
    """
    `amount × numerator / denominator` minor units, rounded once: 10 % of 125 is 12, of 135 is 14.

    `half_even` takes a tie to the even neighbour (so that ties don't drift), `half_up` away from zero, `down` cuts
    toward zero. A negative amount gives the mirrored result, so that a reversal takes back what was given. Round once
    and post the difference to the other side: `price - proportion(price, …)`, never a second proportion.

    Raises `InvalidInput` for anything but ints, a denominator below 1 or an unknown rounding, `AmountOutOfRange` when
    the amount or the result leaves the 64-bit range.
    """
    amount = minor_units(amount, name="amount")
    for name, value in (("numerator", numerator), ("denominator", denominator)):
        if isinstance(value, bool) or not isinstance(value, int):
            raise InvalidInput(f"{name} must be an int, not a {type(value).__name__}: 2.5 % is numerator 25 of 1000.")
    if denominator < 1:
        raise InvalidInput("denominator must be 1 or more; a negative proportion has a negative numerator.")
    product = amount * numerator
    result, remainder = divmod(abs(product), denominator)
    if _rounds_away(result, remainder, denominator, rounding):
        result += 1
    return minor_units(-result if product < 0 else result, name="the proportion")


def _rounds_away(result: int, remainder: int, denominator: int, rounding: Rounding) -> bool:
    """Whether the magnitude goes up by one; `result` is already cut toward zero."""
    twice = 2 * remainder
    if rounding == "half_even":
        return twice > denominator or (twice == denominator and result % 2 == 1)
    if rounding == "half_up":
        return twice >= denominator
    if rounding == "down":
        return False
    raise InvalidInput(f"rounding must be 'half_even', 'half_up' or 'down', not {rounding!r:.40}.")


def _scaled(weights: Sequence[int | Decimal]) -> list[int]:
    """The weights as integers in the same proportion, exactly."""
    if not 1 <= len(weights) <= PARTS_MAX:
        raise InvalidInput(f"weights must be 1 to {PARTS_MAX} numbers, not {len(weights)}.")
    places = max(_decimals(index, weight) for index, weight in enumerate(weights))
    return [_times_power_of_ten(weight, places) for weight in weights]


def _decimals(index: int, weight: int | Decimal) -> int:
    """How many decimals the weight has, after all that can be wrong with it was refused."""
    if isinstance(weight, bool) or not isinstance(weight, int | Decimal):
        raise InvalidInput(
            f"weights[{index}] must be an int or a Decimal, not a {type(weight).__name__}; a fraction can be "
            "multiplied out, only the ratio of the weights matters.",
            index=index,
        )
    if isinstance(weight, Decimal):
        tens = weight.as_tuple().exponent
        if not isinstance(tens, int) or abs(tens) > WEIGHT_DIGITS_MAX:
            raise InvalidInput(
                f"weights[{index}] must be finite, with at most {WEIGHT_DIGITS_MAX} decimals or zeros before the "
                "point: scale the weights, only their ratio matters.",
                index=index,
            )
    else:
        tens = 0
    if weight < 0:
        raise InvalidInput(f"weights[{index}] is negative; a share is 0 or more.", index=index)
    return max(-tens, 0)


def _times_power_of_ten(weight: int | Decimal, places: int) -> int:
    scale: int = 10**places
    if isinstance(weight, int):
        return weight * scale
    # as_integer_ratio is exact whatever the context's precision; Decimal arithmetic would round to it.
    numerator, denominator = weight.as_integer_ratio()
    return numerator * scale // denominator
