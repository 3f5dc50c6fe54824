"""
When load arrives: an open loop by seed, which doesn't wait for the answers to what came before.
"""

from __future__ import annotations

import random

from lastro.errors import InvalidInput

ARRIVALS_MAX = 200_000


def arrival_times_s(*, rate: float, seconds: float, burst: int, seed: int) -> list[float]:
    """
    Return the moments of arrival in seconds from the start, ascending.

    On average `rate` a second over `seconds`, at random (exponential gaps), the same for the same `seed`; and `burst`
    more at one and the same moment, halfway. Raises InvalidInput for numbers below zero, and above 200,000 arrivals.
    """
    if not rate > 0 or not seconds > 0 or burst < 0:
        raise InvalidInput(
            f"rate and seconds must be above 0 and burst 0 or more; got {rate}, {seconds} and {burst}", argument="rate"
        )
    if rate * seconds + burst > ARRIVALS_MAX:
        raise InvalidInput(
            f"{rate} a second for {seconds} s and a burst of {burst} are more than {ARRIVALS_MAX} arrivals; "
            "shorten the run",
            argument="seconds",
        )
    chance = random.Random(seed)  # noqa: S311 - it must be repeatable, and guards nothing
    times = [seconds / 2] * burst
    now = chance.expovariate(rate)
    while now < seconds:
        times.append(now)
        now += chance.expovariate(rate)
    return sorted(times)
