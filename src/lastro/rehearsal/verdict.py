"""
The verdict on a rehearsal: what was measured, and whether it kept the criteria.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from lastro.rehearsal.criteria import Criteria

Word = Literal["met", "missed", "inconclusive"]

# An arrival that a free client starts this much late was held up by the generator, and not by the product.
LATE_MS = 20.0
LATE_SHARE_MAX = 0.01

_EXIT_CODES: dict[Word, int] = {"met": 0, "missed": 1, "inconclusive": 2}


@dataclass(frozen=True)
class Measured:
    """
    What was measured. Latencies are of checkouts that succeeded, from the intended start; NaN where none did.

    `started_late`: arrivals that a free client started late (the generator's fault). `waited_for_a_client`: arrivals
    that met no free client; their wait is part of their latency. `unbalanced`: what the audit of the books found.
    """

    arrivals: int
    completed: int
    errors: dict[str, int]
    lost_tries: int
    intended_per_second: float
    completed_per_second: float
    p50_ms: float
    p95_ms: float
    p99_ms: float
    max_ms: float
    started_late: int
    waited_for_a_client: int
    payouts: int
    debits_refused: int
    tail_rows: int
    tail_age_ms: float
    tail_drained_ms: float
    unbalanced: str | None

    @property
    def generator_held(self) -> bool:
        """Whether the load came when it should have."""
        return self.started_late <= self.arrivals * LATE_SHARE_MAX


@dataclass(frozen=True)
class Criterion:
    """
    One criterion with its limit and what was measured.
    """

    name: str
    limit: float | bool
    actual: float | bool
    holds: bool


@dataclass(frozen=True)
class Verdict:
    """
    `word`: "met", "missed", or "inconclusive" where the generator could not hold its rate on this machine.
    """

    word: Word
    criteria: tuple[Criterion, ...]
    measured: Measured

    @property
    def met(self) -> bool:
        """Whether every criterion was kept, under the load that was asked for."""
        return self.word == "met"

    @property
    def exit_code(self) -> int:
        """0 met, 1 missed, 2 inconclusive."""
        return _EXIT_CODES[self.word]

    def as_dict(self) -> dict[str, Any]:
        """Return what `--json` prints. A figure that there is none of is null."""
        return {
            "verdict": self.word,
            "criteria": [
                {name: _json_value(value) for name, value in asdict(criterion).items()} for criterion in self.criteria
            ],
            "measured": {name: _json_value(value) for name, value in asdict(self.measured).items()},
            "generator_held": self.measured.generator_held,
        }


def judge(measured: Measured, criteria: Criteria) -> Verdict:
    """
    Hold what was measured against the criteria.

    Books out of balance and failed checkouts are missed whatever the load was. Slowness counts only where the
    generator held its rate: else it may be the generator's own.
    """
    balanced = Criterion("balanced", limit=True, actual=measured.unbalanced is None, holds=measured.unbalanced is None)
    failed = sum(measured.errors.values())
    certain = [balanced, *_at_most("errors_max", criteria.errors_max, failed)]
    timed = [
        *_at_most("p99_ms_max", criteria.p99_ms_max, measured.p99_ms),
        *_at_most("tail_age_ms_max", criteria.tail_age_ms_max, measured.tail_age_ms),
        *_at_most("tail_drained_ms_max", criteria.tail_drained_ms_max, measured.tail_drained_ms),
    ]
    word: Word = "met"
    if not all(criterion.holds for criterion in certain):
        word = "missed"
    elif not measured.generator_held:
        word = "inconclusive"
    elif not all(criterion.holds for criterion in timed):
        word = "missed"
    return Verdict(word, (*certain, *timed), measured)


def percentile(ascending: Sequence[float], percent: int) -> float:
    """Return the value that *percent* of the sorted values don't exceed (nearest rank); NaN where there is none."""
    if not ascending:
        return math.nan
    return ascending[max(0, math.ceil(len(ascending) * percent / 100) - 1)]


def _at_most(name: str, limit: float | None, actual: float) -> list[Criterion]:
    # NaN is above every limit: a run in which nothing succeeded has not been fast.
    return [] if limit is None else [Criterion(name, limit, actual, holds=actual <= limit)]


def _json_value(value: Any) -> Any:
    if isinstance(value, float):
        return round(value, 2) if math.isfinite(value) else None
    return value
