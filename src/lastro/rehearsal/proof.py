"""
Proofs: what was expected beside what was found, one statement each, and how they are worded.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

DIFFERENCES_SHOWN_MAX = 3
_CENTS = Decimal(100)


@dataclass(frozen=True)
class Proof:
    """
    One statement about the books: it holds when `actual` is `expected`. Money is text in whole units: "64159.77".
    """

    name: str
    expected: int | str
    actual: int | str

    @property
    def holds(self) -> bool:
        """Whether what was found is what was expected."""
        return self.expected == self.actual


@dataclass(frozen=True)
class Proofs:
    """
    All proofs of a run, and its counts (how many checkouts a second and the like: information, not a claim).
    """

    proofs: tuple[Proof, ...]
    counts: Mapping[str, int | float | str]

    @property
    def hold(self) -> bool:
        """Whether every proof holds. Without proofs nothing is proved."""
        return bool(self.proofs) and all(proof.holds for proof in self.proofs)

    @property
    def exit_code(self) -> int:
        """0 where every proof holds, else 1."""
        return 0 if self.hold else 1

    def as_dict(self) -> dict[str, Any]:
        """Return what `--json` prints: {"proofs": [{"name", "holds", "expected", "actual"}, …], "holds", "counts"}."""
        return {
            "proofs": [
                {"name": proof.name, "holds": proof.holds, "expected": proof.expected, "actual": proof.actual}
                for proof in self.proofs
            ],
            "holds": self.hold,
            "counts": dict(self.counts),
        }


def all_of(count: int) -> str:
    """
    Return how it is said that each of so many is as it should be.
    """
    return f"all {count}" if count else "none"


def matching(due: Mapping[Any, object], found: Mapping[Any, object]) -> str:
    """
    Return that all which is found is what is due, or how many aren't and some of them.
    """
    wrong = _wrong(due, found)
    return f"{len(due)} less {shown(wrong)}" if wrong else all_of(len(found))


def differing(due: Mapping[Any, object], found: Mapping[Any, object]) -> str:
    """
    Return "none", or how many are found otherwise than due, and some of them.
    """
    wrong = _wrong(due, found)
    return shown(wrong) if wrong else all_of(0)


def shown(names: list[str]) -> str:
    """
    Return how many there are, and the first few of them.
    """
    more = ", …" if len(names) > DIFFERENCES_SHOWN_MAX else ""
    return f"{len(names)} ({', '.join(names[:DIFFERENCES_SHOWN_MAX])}{more})"


def in_units(cents: int) -> str:
    """
    Return cents in whole units with two decimals.
    """
    return f"{Decimal(cents) / _CENTS:.2f}"


def _wrong(due: Mapping[Any, object], found: Mapping[Any, object]) -> list[str]:
    wrong = [key for key in {*due, *found} if due.get(key) != found.get(key)]
    return sorted(" ".join(key) if isinstance(key, tuple) else str(key) for key in wrong)
