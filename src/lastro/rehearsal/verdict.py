"""
The verdict on a rehearsal: each figure held against its limit, and what that says of the whole.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal, NamedTuple

from lastro.rehearsal.criteria import Criteria, Limit

Word = Literal["passed", "failed", "inconclusive"]

_EXIT_CODES: dict[Word, int] = {"passed": 0, "failed": 1, "inconclusive": 2}

_SAID = {
    "p50_ms_max": "half of {who} took up to {actual} ms",
    "p95_ms_max": "95 % of {who} took up to {actual} ms",
    "p99_ms_max": "99 % of {who} took up to {actual} ms",
    "max_ms_max": "the longest of {who} took {actual} ms",
    "errors_max": "{actual} of {who} failed",
    "p99_ratio_max": "99 % of {who} took up to {actual} times what they took before it",
    "longest_over_drain_max": "the longest of {who} took {actual} times what the queue took to be empty",
    "longest_over_batch_max": "the longest of {who} took {actual} times the longest batch of the queue's worker",
    "backlog_age_ms_max": "the oldest work in the queue was {actual} ms old as the load ended",
    "backlog_drained_ms_max": "the queue was empty {actual} ms after the burst",
    "tail_age_ms_max": "the oldest entry in the tail was {actual} ms old as the load ended",
    "tail_drained_ms_max": "the tail was empty {actual} ms after the load",
    "deadlocks_max": "the database broke {actual} deadlocks",
    "drift_max": "{actual} accounts differ from their history",
    "incidents_max": "reconciliation has {actual} open incidents",
}


class Figure(NamedTuple):
    """
    What was measured for one criterion.

    `own` is the part of it that neither the generator nor the queue for a client has made, where a late generator could
    be the reason; `aside` says why it can't be missed, where it can't.
    """

    actual: float
    own: float | None = None
    aside: str | None = None


@dataclass(frozen=True)
class Criterion:
    """
    One criterion with its limit and what was measured. `note` says it in words.
    """

    name: str
    limit: Limit
    actual: Limit
    holds: bool
    note: str


@dataclass(frozen=True)
class Verdict:
    """
    `word`: "passed", "failed", or "inconclusive" where this machine could not make the load.

    `reasons` says in words what was missed, or what kept the load from being made.
    """

    word: Word
    criteria: tuple[Criterion, ...]
    reasons: tuple[str, ...]

    @property
    def passed(self) -> bool:
        """Whether every criterion was kept, under the load that was asked for."""
        return self.word == "passed"

    @property
    def exit_code(self) -> int:
        """0 passed, 1 failed, 2 inconclusive."""
        return _EXIT_CODES[self.word]

    def as_dict(self) -> dict[str, Any]:
        """Return what `--json` prints of it."""
        return {
            "verdict": self.word,
            "reasons": list(self.reasons),
            "criteria": [
                {name: json_value(value) for name, value in asdict(criterion).items()} for criterion in self.criteria
            ],
        }


def judge(
    criteria: Criteria,
    figures: Mapping[str, Figure],
    *,
    unbalanced: str | None,
    generator_trouble: str | None,
    waits_for: str,
) -> Verdict:
    """
    Hold every limit against its figure, and the books against themselves.

    *generator_trouble* says that the load wasn't made as asked: then nothing passes. What is missed is missed all the
    same, unless the generator's own part explains it.
    """
    balanced = Criterion(
        "books.balanced",
        limit=True,
        actual=unbalanced is None,
        holds=unbalanced is None,
        note="the books balance, and what was answered is what is stored" if unbalanced is None else unbalanced,
    )
    judged, missed = [balanced], [] if balanced.holds else [balanced]
    for name, limit in criteria.limits.items():
        if name not in figures:
            continue
        criterion = _criterion(name, limit, figures[name], waits_for)
        judged.append(criterion)
        if not criterion.holds and not (generator_trouble and _explained(limit, figures[name])):
            missed.append(criterion)
    if missed:
        return Verdict("failed", tuple(judged), tuple(_reason(criterion) for criterion in missed))
    if generator_trouble:
        return Verdict("inconclusive", tuple(judged), (generator_trouble,))
    return Verdict("passed", tuple(judged), ())


def json_value(value: Any) -> Any:
    """
    Return a value as JSON has it: a figure that there is none of is null.
    """
    if isinstance(value, float):
        return round(value, 2) if math.isfinite(value) else None
    return value


def _criterion(name: str, limit: Limit, figure: Figure, waits_for: str) -> Criterion:
    section, _, short = name.partition(".")
    who = f"{waits_for}s during the burst" if section == "burst" else f"{waits_for}s"
    note = _SAID[short].format(who=who, actual=shown(figure.actual))
    if math.isnan(figure.actual):
        note = f"there is no figure for it: too few {who} succeeded"
    if figure.aside is not None:
        return Criterion(name, limit, figure.actual, holds=True, note=f"{note}; {figure.aside}")
    # NaN is above every limit: a run in which nothing succeeded has not been fast.
    return Criterion(name, limit, figure.actual, holds=figure.actual <= limit, note=note)


def _explained(limit: Limit, figure: Figure) -> bool:
    return figure.own is not None and figure.own <= limit


def _reason(criterion: Criterion) -> str:
    if criterion.name == "books.balanced":
        return f"books.balanced: {criterion.note}"
    return f"{criterion.name}: {criterion.note}; at most {shown(criterion.limit)} was asked"


def shown(value: float) -> str:
    """
    Return a figure for people.
    """
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float) and not math.isfinite(value):
        return "none"
    # Above ten nobody reads decimals.
    return f"{value:,.0f}" if isinstance(value, int) or abs(value) >= 10 else f"{value:.2f}"
