"""
Two runs of one scenario beside each other: figure by figure, and which of them got better or worse.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from lastro.errors import InvalidInput
from lastro.rehearsal.record import FORM

FILE_BYTES_MAX: Final = 64 * 1024 * 1024
# Below this share nobody should read a change into two runs.
CHANGE_MIN: Final = 0.10
_PHASES: Final = ("before", "burst", "after", "whole")
_TIMES: Final = ("p50_ms", "p95_ms", "p99_ms", "max_ms")
# More of these is better; more of anything else that is compared is worse.
_BETTER_WHEN_MORE: Final = ("completed", "completed_per_second", "settled", "charged", "payouts")
_NEUTRAL: Final = ("arrivals", "intended_per_second", "debits_refused")
_NEEDED: Final = ("scenario", "verdict", "ended_at", "phases", "measured", "stretches", "readings", "programme")


class Difference(NamedTuple):
    """
    One figure of both runs. `direction`: "better", "worse" or "" where it changed by less than a tenth, or means nothing.
    """

    name: str
    before: float | None
    after: float | None
    change: str
    direction: str


def read_run(path: Path) -> dict[str, Any]:
    """
    Read the document that `lastro rehearse … --json` printed. Raises InvalidInput for anything else.
    """
    try:
        with path.open("rb") as file:
            data = file.read(FILE_BYTES_MAX + 1)
        document = json.loads(data) if len(data) <= FILE_BYTES_MAX else None
    except (OSError, ValueError) as error:
        raise InvalidInput(f"{path} can't be read as a run: {error}", argument="run") from error
    if not isinstance(document, dict) or document.get("form") != FORM or any(name not in document for name in _NEEDED):
        raise InvalidInput(
            f"{path} is no run of this release: give what `lastro rehearse … --json` printed", argument="run"
        )
    return document


def refuse_others(before: Mapping[str, Any], after: Mapping[str, Any]) -> None:
    """
    Raise InvalidInput where two runs aren't of one scenario.
    """
    if before["scenario"] != after["scenario"]:
        raise InvalidInput(
            f"a run of {before['scenario']} and one of {after['scenario']} have nothing to compare", argument="run"
        )


def compared(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[Difference]:
    """
    Yield each figure of both runs: the times by phase, then what was measured besides.
    """
    for phase in _PHASES:
        if phase in before["phases"] and phase in after["phases"]:
            for name in _TIMES:
                yield _difference(
                    f"{phase}: {name.replace('_', ' ')}",
                    name,
                    before["phases"][phase][name],
                    after["phases"][phase][name],
                )
    for name, value in after["measured"].items():
        if name not in _TIMES and _is_number(value) and _is_number(before["measured"].get(name)):
            yield _difference(name.replace("_", " "), name, before["measured"][name], value)


def programmes_differ(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    """
    Return the parts of the programme in which two runs differ: a comparison of those says little.
    """
    one, other = before["programme"], after["programme"]
    return sorted(name for name in one.keys() | other.keys() if one.get(name) != other.get(name))


def _difference(said: str, name: str, before: float | None, after: float | None) -> Difference:
    if before is None or after is None:
        return Difference(said, before, after, "", "")
    if not before:
        return Difference(
            said, before, after, "" if after == before else f"{after - before:+g}", _direction(name, after)
        )
    share = (after - before) / before
    direction = _direction(name, share) if abs(share) >= CHANGE_MIN else ""
    return Difference(said, before, after, f"{share:+.0%}", direction)


def _direction(name: str, change: float) -> str:
    if not change or name in _NEUTRAL:
        return ""
    return "better" if (change > 0) == (name in _BETTER_WHEN_MORE) else "worse"


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
