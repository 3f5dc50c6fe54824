"""
From visits to figures: percentiles of each phase of a run, and of each stretch of its time.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from lastro.rehearsal.open_loop import Visits

MS = 1_000
PERCENTS = (50, 95, 99, 100)
STRETCHES_MAX = 90
STRETCH_S_MIN = 0.25
# Fewer arrivals than this make no percentiles.
STRETCH_ARRIVALS_MIN = 20
# An arrival that a free client starts this much late was held up by the generator, and not by the product.
LATE_MS = 20.0
# Above this share of such arrivals the generator hasn't made the load that was asked for.
LATE_SHARE_MAX = 0.02


class Times(NamedTuple):
    """
    How long visits that succeeded took, in ms from when they were due; NaN where none did.

    `own_p50_ms` … count from when they started: what the product took, without what the generator and the queue for a
    client did.
    """

    visits: int
    errors: int
    p50_ms: float
    p95_ms: float
    p99_ms: float
    max_ms: float
    own_p50_ms: float
    own_p95_ms: float
    own_p99_ms: float
    own_max_ms: float

    def own(self, name: str) -> float:
        """Return the figure of the same name counted from the start."""
        value: float = getattr(self, f"own_{name}")
        return value


class Stretch(NamedTuple):
    """
    A stretch of the run's time, from `at_s` on: what was due in it, and how long that took.
    """

    at_s: float
    arrivals: int
    errors: int
    p50_ms: float
    p95_ms: float
    p99_ms: float
    max_ms: float


class Phases(NamedTuple):
    """
    The same visits by phase. A visit counts to the burst if any of its time lies within it; before is before, without
    the warm-up.
    """

    whole: Times
    before: Times
    burst: Times | None
    after: Times | None


class Generator(NamedTuple):
    """
    How the generator did. `started_late`: arrivals that a free client began more than 20 ms late. `waited`: those that
    met no free client, which is part of their time. `cpu_share`: of one processor's time, over all processes.
    """

    arrivals: int
    started_late: int
    waited: int
    cpu_share: float

    @property
    def held(self) -> bool:
        """Whether the load came when it should have."""
        return self.started_late <= self.arrivals * LATE_SHARE_MAX


def percentile(ascending: Sequence[float], percent: int) -> float:
    """
    Return the value that *percent* of the sorted values don't exceed (nearest rank); NaN where there is none.
    """
    if not ascending:
        return math.nan
    return ascending[max(0, math.ceil(len(ascending) * percent / 100) - 1)]


def phases_of(visits: Visits, *, warm_up_s: float, burst: tuple[float, float] | None) -> Phases:
    """
    Return the times of each phase; *burst* is from when to when it lasted.
    """
    measured = [at for at in range(len(visits)) if visits.due_s[at] >= warm_up_s]
    if burst is None:
        whole = _times(visits, measured)
        return Phases(whole, whole, None, None)
    began_s, ended_s = burst
    before = [at for at in measured if visits.ended_s[at] < began_s]
    within = [at for at in measured if visits.ended_s[at] >= began_s and visits.due_s[at] <= ended_s]
    after = [at for at in measured if visits.due_s[at] > ended_s]
    return Phases(*(_times(visits, some) for some in (measured, before, within, after)))


def stretches_of(visits: Visits, *, seconds: float) -> list[Stretch]:
    """
    Return the run in stretches of one length: a quarter of a second at least, and long enough for a few arrivals.
    """
    long_s = max(STRETCH_S_MIN, seconds / STRETCHES_MAX, seconds * STRETCH_ARRIVALS_MIN / max(len(visits), 1))
    found: list[list[int]] = [[] for _ in range(max(1, math.ceil(seconds / long_s)))]
    for at, due_s in enumerate(visits.due_s):
        found[min(len(found) - 1, int(due_s / long_s))].append(at)
    stretches = []
    for number, some in enumerate(found):
        times = _times(visits, some)
        stretches.append(
            Stretch(number * long_s, len(some), times.errors, times.p50_ms, times.p95_ms, times.p99_ms, times.max_ms)
        )
    return stretches


def generator_of(visits: Visits, *, seconds: float) -> Generator:
    """
    Return how the generator did over a run of *seconds*.
    """
    late = sum(
        not waited and (started - due) * MS > LATE_MS
        for waited, started, due in zip(visits.waited, visits.started_s, visits.due_s, strict=True)
    )
    return Generator(len(visits), late, sum(visits.waited), visits.generator_cpu_s / seconds)


def last_end_of(visits: Visits, due_s: float) -> float:
    """
    Return when the last of the visits that were due at one moment had ended; that moment, where there was none.
    """
    return max((ended for due, ended in zip(visits.due_s, visits.ended_s, strict=True) if due == due_s), default=due_s)


def _times(visits: Visits, some: Iterable[int]) -> Times:
    chosen = list(some)
    good = [at for at in chosen if visits.succeeded[at]]
    whole = sorted((visits.ended_s[at] - visits.due_s[at]) * MS for at in good)
    own = sorted((visits.ended_s[at] - visits.started_s[at]) * MS for at in good)
    return Times(
        len(good),
        len(chosen) - len(good),
        *(percentile(whole, percent) for percent in PERCENTS),
        *(percentile(own, percent) for percent in PERCENTS),
    )
