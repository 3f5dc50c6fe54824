"""
Match specs as documents: read from TOML and from plain values, written as plain values; and the two that are ready.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import MISSING, asdict, fields
from difflib import get_close_matches
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

from lastro.errors import InvalidInput
from lastro.matching.limits import SPEC_BYTES_MAX
from lastro.matching.specs import MatchSpec
from lastro.model.text import shown

READY: Final = ("billing", "movements")
_SETTINGS: Final = {field.name: field for field in fields(MatchSpec) if field.name != "name"}
_LISTS: Final = frozenset({"accounts", "kinds"})


def read_match_spec(path: Path) -> MatchSpec:
    """
    Return the match spec of a TOML file, its one table.

    Raises `InvalidInput` for a file that isn't there, isn't TOML or isn't what a spec is, with the setting it means.
    """
    try:
        with path.open("rb") as file:
            raw = file.read(SPEC_BYTES_MAX + 1)
    except OSError as error:
        raise InvalidInput(f"the match spec {path} can't be read: {error.strerror}", argument="spec") from None
    if len(raw) > SPEC_BYTES_MAX:
        raise InvalidInput(f"the match spec {path} has more than {SPEC_BYTES_MAX} bytes", argument="spec")
    try:
        document = tomllib.loads(raw.decode("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InvalidInput(f"the match spec {path} isn't TOML: {error}", argument="spec") from None
    if len(document) != 1:
        raise InvalidInput(
            f"{path} must hold one match spec, a table with its settings; there are {len(document)} at its top",
            argument="spec",
        )
    ((name, given),) = document.items()
    return match_spec_of(name, given)


def ready_match_spec(name: object) -> MatchSpec:
    """
    Return a ready match spec, `billing` or `movements`.
    """
    if name not in READY:
        raise InvalidInput(
            f"the ready match specs are {', '.join(READY)}; got {shown(name)}. Others are read from a TOML file",
            argument="spec",
        )
    text = files("lastro.matching").joinpath("ready", f"{name}.toml").read_text(encoding="utf-8")
    ((found, given),) = tomllib.loads(text).items()
    return match_spec_of(found, given)


def match_spec_of(name: str, given: object) -> MatchSpec:
    """
    Return the match spec of plain values, as TOML and JSON give them.
    """
    if not isinstance(given, Mapping):
        raise InvalidInput(f"match spec {shown(name)} must be a table of settings", argument=name)
    for setting in given:
        if setting not in _SETTINGS:
            near = get_close_matches(str(setting), _SETTINGS, n=1)
            hint = f"; {near[0]} is one" if near else f"; there are {', '.join(_SETTINGS)}"
            raise InvalidInput(f"match spec {name}: there is no setting {shown(setting)}{hint}", argument=name)
    for setting, field in _SETTINGS.items():
        if field.default is MISSING and setting not in given:
            raise InvalidInput(f"match spec {name}: {setting} is missing", argument=f"{name}.{setting}")
    values: dict[str, Any] = {
        setting: tuple(value) if setting in _LISTS and isinstance(value, list) else value
        for setting, value in given.items()
    }
    return MatchSpec(name=name, **values)


def document_of_match_spec(spec: MatchSpec) -> dict[str, Any]:
    """
    Return a match spec as plain values, which `match_spec_of` reads again beside its name.
    """
    document = asdict(spec)
    del document["name"]
    return {setting: list(value) if isinstance(value, tuple) else value for setting, value in document.items()}
