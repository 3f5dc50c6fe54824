"""
When load arrives: an open loop by seed, which doesn't wait for the answers to what came before.
"""

from __future__ import annotations

import random

from lastro.errors import InvalidInput

ARRIVALS_MAX = 200_000


def arrival_times_s(*, rate: float, seconds: float, at_once: int, at_s: float, seed: int) -> list[float]:
    """
    Return the moments of arrival in seconds from the start, ascending.

    On average `rate` a second over `seconds`, at random (exponential gaps), the same for the same `seed`; and `at_once`
    more at one and the same moment, `at_s`. Raises InvalidInput above 200,000 arrivals.
    """
    if rate * seconds + at_once > ARRIVALS_MAX:
        raise InvalidInput(
            f"{rate} a second for {seconds} s and a burst of {at_once} are more than {ARRIVALS_MAX} arrivals; "
            "shorten the run",
            argument="seconds",
        )
    chance = random.Random(seed)  # noqa: S311 - it must be repeatable, and guards nothing
    times = [at_s] * at_once
    now = chance.expovariate(rate)
    while now < seconds:
        times.append(now)
        now += chance.expovariate(rate)
    return sorted(times)
