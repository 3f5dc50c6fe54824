"""
What is played in a rehearsal and when: arrivals by seed, the warm-up, the burst, and what disturbs.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

from lastro.errors import InvalidInput
from lastro.rehearsal.arrivals import arrival_times_s

CLIENTS_MAX = 512
PROCESSES_MAX = 64
BURST_MAX = 200_000
SETTLERS_MAX = 16
ACCOUNTS_MAX = 100_000
IDLE_MAX_S = 3_600.0
# Connections and caches fill during the first tenth, of two seconds at most; it is no part of any percentile.
WARM_UP_SHARE = 0.1
WARM_UP_MAX_S = 2.0
# Where things happen, as shares of the run.
IDLE_AT_SHARE = 0.25
BURST_AT_SHARE = 0.5
CRASH_AT_SHARE = 0.75


@dataclass(frozen=True)
class Programme:
    """
    One rehearsal: `rate` arrivals a second for `seconds` by `seed`, from `clients` threads in `processes`.

    `burst`: how much comes at one moment halfway; what that is, the scenario says. `accounts`: between how many the load
    is spread. `workers`: processes that drain the queue. `idle_s`: for how long, from a quarter of the run on, somebody
    leaves a transaction open. `crash`: the server is killed at three quarters and started again.
    """

    rate: float
    seconds: float
    burst: int
    seed: int
    clients: int
    processes: int
    accounts: int
    workers: int
    idle_s: float = 0.0
    crash: bool = False

    @property
    def warm_up_s(self) -> float:
        """Until when nothing counts as measured."""
        return min(WARM_UP_MAX_S, self.seconds * WARM_UP_SHARE)

    @property
    def burst_at_s(self) -> float:
        """When the burst comes."""
        return self.seconds * BURST_AT_SHARE

    @property
    def idle_at_s(self) -> float:
        """When the idle transaction begins."""
        return self.seconds * IDLE_AT_SHARE

    @property
    def crash_at_s(self) -> float:
        """When the server is killed."""
        return self.seconds * CRASH_AT_SHARE

    def times_s(self, *, at_once: int = 0) -> list[float]:
        """Return the moments of arrival, with *at_once* more at the burst."""
        return arrival_times_s(
            rate=self.rate, seconds=self.seconds, at_once=at_once, at_s=self.burst_at_s, seed=self.seed
        )

    def clients_of(self, process: int) -> int:
        """Return how many clients the process of this number has."""
        return self.clients // self.processes + (process < self.clients % self.processes)

    def as_dict(self) -> dict[str, Any]:
        """Return what `--json` prints of it."""
        return asdict(self) | {"warm_up_s": self.warm_up_s, "burst_at_s": self.burst_at_s}


def checked(programme: Programme) -> Programme:
    """
    Return *programme* if it can be played; InvalidInput says what is wrong.
    """
    for name in ("rate", "seconds"):
        number = getattr(programme, name)
        if not (math.isfinite(number) and number > 0):
            raise InvalidInput(f"{name} must be above 0; got {number}", argument=name)
    _within("clients", programme.clients, 1, CLIENTS_MAX)
    _within("processes", programme.processes, 1, min(PROCESSES_MAX, programme.clients))
    _within("accounts", programme.accounts, 1, ACCOUNTS_MAX)
    _within("workers", programme.workers, 1, SETTLERS_MAX)
    _within("burst", programme.burst, 0, BURST_MAX)
    if not 0 <= programme.idle_s <= IDLE_MAX_S:
        raise InvalidInput(f"idle_s must be 0 … {IDLE_MAX_S:.0f} s; got {programme.idle_s}", argument="idle_s")
    return programme


def _within(name: str, number: int, least: int, most: int) -> None:
    if isinstance(number, bool) or not isinstance(number, int) or not least <= number <= most:
        raise InvalidInput(f"{name} must be {least} … {most}; got {number!r}", argument=name)
