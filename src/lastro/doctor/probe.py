"""
A probe: one statement that is asked every so often, and what its rows say.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from lastro.doctor.readings import Reading
from lastro.plans.plan import Row, Rows

# How often what changes slowly is asked for, however often samples are taken.
SLOWLY_S: Final = 10.0
RARELY_S: Final = 60.0
# So many rows of sessions, waits, markets, …: more say no more.
ROWS_MAX: Final = 200
NAME_CHARACTERS_MAX: Final = 120


@dataclass
class Look:
    """
    One look at the database: who answered, and the rows of the probes before this one.
    """

    moment: Row
    rows: dict[str, Rows] = field(default_factory=dict)


Reads: TypeAlias = Callable[[Rows, Look], Iterable[Reading]]


def always(_: Look) -> bool:
    """Say yes."""
    return True


@dataclass(frozen=True)
class Probe:
    """
    What is asked under `name`: `statement` of the catalogue with `params`, not more often than every `every_s`, where
    it is `wanted` at all; `reads` makes readings of its rows. `of_ledger`: only for who may read the ledger's tables.
    """

    name: str
    statement: str
    reads: Reads
    params: Mapping[str, Any] = field(default_factory=dict)
    every_s: float = 0.0
    wanted: Callable[[Look], bool] = always
    of_ledger: bool = False


def named(account: Any, currency: Any) -> str:
    """Return how an account is called in readings and findings."""
    return f"{account} {currency}"


def who(application: Any, role: Any, pid: Any) -> str:
    """Return how a session is called: its application, or its role where it gives itself no name."""
    name = str(application or role or "a session")[:NAME_CHARACTERS_MAX]
    return f"{name} (pid {pid})"
