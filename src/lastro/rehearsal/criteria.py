"""
Exit criteria, set before the run: read from a TOML file, each a limit with its name.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from lastro.errors import InvalidInput
from lastro.model.text import shown

Limit = int | float | bool

# What each scenario calls the time that somebody waits; a file may judge the one of its own scenario.
WAITED_FOR: Final = ("checkout", "placement", "debit")
_LATENCY: Final = {"p50_ms_max": float, "p95_ms_max": float, "p99_ms_max": float, "max_ms_max": float}
_SECTIONS: Final[dict[str, dict[str, type]]] = {
    **{word: {**_LATENCY, "errors_max": int} for word in WAITED_FOR},
    "burst": {
        **_LATENCY,
        "p99_ratio_max": float,
        "ratio_counts_from_ms": float,
        "longest_counts_from_ms": float,
        "longest_over_drain_max": float,
        "longest_over_batch_max": float,
    },
    "afterwards": {
        "backlog_age_ms_max": float,
        "backlog_drained_ms_max": float,
        "tail_age_ms_max": float,
        "tail_drained_ms_max": float,
    },
    "database": {"deadlocks_max": int},
    "books": {"drift_max": int, "incidents_max": int},
}
# They say from where on others count, and judge nothing themselves.
_ASIDES: Final = {
    "burst.ratio_counts_from_ms": ("burst.p99_ratio_max",),
    "burst.longest_counts_from_ms": ("burst.longest_over_drain_max", "burst.longest_over_batch_max"),
}
_FILE_BYTES_MAX: Final = 65_536


@dataclass(frozen=True)
class Criteria:
    """
    The limits a run must keep, by "section.name"; what isn't named isn't judged. That the books balance always is.

    The section named for what is waited for (`checkout`, `placement`, `debit`) judges the whole run after its warm-up,
    `burst` what was waited for while the burst lasted, `afterwards` what was left in queue and tail as the load ended and
    how long they took to empty, `database` and `books` what the database says.
    """

    limits: Mapping[str, Limit] = field(default_factory=dict)
    source: str = "default"

    def __post_init__(self) -> None:
        object.__setattr__(self, "limits", MappingProxyType(dict(self.limits)))

    def __reduce__(self) -> tuple[type[Criteria], tuple[dict[str, Limit], str]]:
        # A view of a dictionary doesn't go to another process.
        return type(self), (dict(self.limits), self.source)

    def get(self, name: str) -> Limit | None:
        """Return a limit, or None."""
        return self.limits.get(name)

    def without_burst(self) -> Criteria:
        """Return what can be judged of a run that has no burst."""
        return Criteria({name: limit for name, limit in self.limits.items() if not _of_burst(name)}, self.source)

    @property
    def of_burst(self) -> list[str]:
        """The names that only a run with a burst has a figure for."""
        return [name for name in self.limits if _of_burst(name)]


def names_of(waits_for: str) -> frozenset[str]:
    """
    Return every name that a file may set for the scenario in which somebody waits for *waits_for*.
    """
    sections = {
        section: names for section, names in _SECTIONS.items() if section not in WAITED_FOR or section == waits_for
    }
    return frozenset(f"{section}.{name}" for section, names in sections.items() for name in names)


def read_criteria(path: Path, waits_for: str) -> Criteria:
    """
    Read a file of criteria for the scenario in which somebody waits for *waits_for*.

    Raises InvalidInput, with the file, the section and the name, for a name that isn't known or is another scenario's,
    for a limit of another type or below 0, and for a file that judges nothing.
    """
    said = _read(path)
    limits: dict[str, Limit] = {}
    for section, named in said.items():
        if section not in _SECTIONS or not isinstance(named, dict):
            raise _unknown(path, section, waits_for)
        if section in WAITED_FOR and section != waits_for:
            raise InvalidInput(
                f"{path}: [{section}] is another scenario's; here somebody waits for a {waits_for}: [{waits_for}]",
                argument="criteria",
            )
        for name, limit in named.items():
            if name not in _SECTIONS[section]:
                raise _unknown(path, f"{section}.{name}", waits_for)
            limits[f"{section}.{name}"] = _limit(path, f"{section}.{name}", limit, _SECTIONS[section][name])
    for aside, counted in _ASIDES.items():
        if aside in limits and not limits.keys() & set(counted):
            raise InvalidInput(
                f"{path}: {aside} says from where on {' and '.join(counted)} count, and none of them is set",
                argument="criteria",
            )
    if not limits:
        raise InvalidInput(f"{path} sets no criterion; a run without one can't fail", argument="criteria")
    return Criteria(limits, str(path))


def _of_burst(name: str) -> bool:
    return name.startswith("burst.") or name == "afterwards.backlog_drained_ms_max"


def _read(path: Path) -> dict[str, Any]:
    try:
        with path.open("rb") as file:
            data = file.read(_FILE_BYTES_MAX + 1)
        if len(data) > _FILE_BYTES_MAX:
            raise InvalidInput(
                f"{path} has more than {_FILE_BYTES_MAX} bytes; criteria are a few lines", argument="criteria"
            )
        return tomllib.loads(data.decode("utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise InvalidInput(f"{path} can't be read as TOML: {error}", argument="criteria") from error


def _limit(path: Path, name: str, limit: object, kind: type) -> Limit:
    whole = kind is int
    fits = isinstance(limit, int) if whole else isinstance(limit, int | float)
    if isinstance(limit, bool) or not fits or not isinstance(limit, int | float) or not 0 <= limit < math.inf:
        raise InvalidInput(
            f"{path}: {name} must be a {'whole ' if whole else ''}number, 0 or more; got {shown(limit)}",
            argument="criteria",
        )
    return limit


def _unknown(path: Path, name: str, waits_for: str) -> InvalidInput:
    known = "; ".join(
        f"[{section}] {', '.join(names)}"
        for section, names in _SECTIONS.items()
        if section not in WAITED_FOR or section == waits_for
    )
    return InvalidInput(f"{path}: {name} is no criterion; known are {known}", argument="criteria")
