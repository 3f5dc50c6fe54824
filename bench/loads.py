"""
What a load did, and what it is worth beside the limit: medians of rounds that alternate between the two.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import median


@dataclass(frozen=True, kw_only=True)
class Load:
    """One timed load: operations a second, and the time of one in milliseconds."""

    per_s: float
    p50_ms: float
    p99_ms: float
    more: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Compared:
    """A subject beside its limit; every ratio is taken within one round."""

    per_s: float
    limit_per_s: float
    ratio: float
    p99_ms: float
    limit_p99_ms: float
    p99_ratio: float
    ratios: list[float]
    more: dict[str, float]


def alternate(limit: Callable[[], Load], subject: Callable[[], Load], *, rounds: int) -> Compared:
    """Measure limit, subject, limit, subject, … limit. Each round's ratio is to the limits right before and after it."""
    limits, subjects = [limit()], []
    for _ in range(rounds):
        subjects.append(subject())
        limits.append(limit())
    around = list(pairwise(limits))
    ratios = [
        load.per_s / ((before.per_s + after.per_s) / 2) for load, (before, after) in zip(subjects, around, strict=True)
    ]
    p99_ratios = [
        load.p99_ms / ((before.p99_ms + after.p99_ms) / 2)
        for load, (before, after) in zip(subjects, around, strict=True)
    ]
    return Compared(
        per_s=median(load.per_s for load in subjects),
        limit_per_s=median(load.per_s for load in limits),
        ratio=median(ratios),
        p99_ms=median(load.p99_ms for load in subjects),
        limit_p99_ms=median(load.p99_ms for load in limits),
        p99_ratio=median(p99_ratios),
        ratios=[round(ratio, 3) for ratio in ratios],
        more={name: median(load.more[name] for load in subjects) for name in subjects[0].more},
    )


def percentile(sorted_values: list[float], share: float) -> float:
    """The value that *share* of the sorted values don't exceed; 0.0 where there are none."""
    if not sorted_values:
        return 0.0
    return sorted_values[min(len(sorted_values) - 1, int(len(sorted_values) * share))]
