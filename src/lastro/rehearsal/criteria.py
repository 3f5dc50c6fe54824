"""
Exit criteria, set before the run: read from a TOML file, each a limit with its name.
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any, NamedTuple

from lastro.errors import InvalidInput


class Criteria(NamedTuple):
    """
    The limits a run must keep; None is not judged. That the books balance afterwards is judged always.

    `p99_ms_max`: of a checkout, from its intended start. `errors_max`: checkouts that failed for good.
    `tail_age_ms_max`: of the oldest entry not yet consolidated, as the load ends. `tail_drained_ms_max`: from there
    until the consolidator had folded everything.
    """

    p99_ms_max: float | None = None
    errors_max: int | None = None
    tail_age_ms_max: float | None = None
    tail_drained_ms_max: float | None = None


# What is asked of a run without a file.
DEFAULT_CRITERIA = Criteria(p99_ms_max=250.0, errors_max=0, tail_age_ms_max=2_000.0, tail_drained_ms_max=5_000.0)

_SECTIONS = {"checkout": ("p99_ms_max", "errors_max"), "afterwards": ("tail_age_ms_max", "tail_drained_ms_max")}


def read_criteria(path: Path) -> Criteria:
    """
    Read a file of criteria: [checkout] p99_ms_max, errors_max; [afterwards] tail_age_ms_max, tail_drained_ms_max.

    What it doesn't name isn't judged. Raises InvalidInput for an unknown name, another type, or nothing at all.
    """
    try:
        said = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise InvalidInput(f"{path} can't be read as TOML: {error}", argument="criteria") from error
    limits: dict[str, Any] = {}
    for section, named in said.items():
        if section not in _SECTIONS or not isinstance(named, dict):
            raise _unknown(path, section)
        for name, limit in named.items():
            if name not in _SECTIONS[section]:
                raise _unknown(path, f"{section}.{name}")
            limits[name] = _limit(path, name, limit)
    if not limits:
        raise InvalidInput(f"{path} sets no criterion; a run without one can't fail", argument="criteria")
    return Criteria(**limits)


def _limit(path: Path, name: str, limit: object) -> int | float:
    whole = name == "errors_max"
    fits = isinstance(limit, int) if whole else isinstance(limit, int | float)
    if isinstance(limit, bool) or not fits or not isinstance(limit, int | float) or not limit >= 0:
        raise InvalidInput(
            f"{path}: {name} must be a {'whole ' if whole else ''}number, 0 or more; got {limit!r}",
            argument="criteria",
        )
    return limit


def _unknown(path: Path, name: str) -> InvalidInput:
    known = "; ".join(f"[{section}] {', '.join(names)}" for section, names in _SECTIONS.items())
    return InvalidInput(f"{path}: {name} is no criterion; known are {known}", argument="criteria")
