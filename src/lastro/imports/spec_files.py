"""
Specs as documents: read from TOML and from plain values, written as plain values; and the two that are ready to use.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from difflib import get_close_matches
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

from lastro.errors import InvalidInput
from lastro.imports.columns import Column
from lastro.imports.limits import SPEC_BYTES_MAX
from lastro.imports.specs import SheetSpec, Totals, checked
from lastro.model.text import shown

READY: Final = ("billing", "movements")

_COLUMN_SETTINGS: Final = frozenset(field.name for field in fields(Column)) - {"name"}
_SHEET_SETTINGS: Final = frozenset(field.name for field in fields(SheetSpec)) - {"name"}
# A sheet may say these once for all of its columns.
_SHARED: Final[tuple[str, ...]] = ("decimal_mark", "thousands", "dates", "serials", "zone")
# A setting that belongs to columns of one type reaches these only.
_ONLY: Final = {"zone": "datetime"}
_LISTS: Final = frozenset({"headers", "yes", "no", "key", "texts"})


def read_specs(path: Path) -> tuple[SheetSpec, ...]:
    """
    Return the specs of a TOML file, a table each.

    Raises `InvalidInput` for a file that isn't there, isn't TOML or isn't what specs are, with the setting it means.
    """
    try:
        with path.open("rb") as file:
            raw = file.read(SPEC_BYTES_MAX + 1)
    except OSError as error:
        raise InvalidInput(f"the specs {path} can't be read: {error.strerror}", argument="specs") from None
    if len(raw) > SPEC_BYTES_MAX:
        raise InvalidInput(f"the specs {path} have more than {SPEC_BYTES_MAX} bytes", argument="specs")
    try:
        document = tomllib.loads(raw.decode("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InvalidInput(f"the specs {path} aren't TOML: {error}", argument="specs") from None
    return specs_of(document)


def ready_specs(*names: str) -> tuple[SheetSpec, ...]:
    """
    Return the ready specs of these names, `billing` and `movements`; both without a name.
    """
    return checked([_ready(name) for name in names or READY])


def specs_of(document: Mapping[str, Any]) -> tuple[SheetSpec, ...]:
    """
    Return the specs of a document of plain values, as TOML and JSON give them.
    """
    return checked([_spec(name, _table(given, name)) for name, given in document.items()])


def document_of(specs: Sequence[SheetSpec]) -> dict[str, Any]:
    """
    Return *specs* as a document of plain values, which `specs_of` reads again.
    """
    return {spec.name: _spec_document(spec) for spec in specs}


@lru_cache(maxsize=len(READY))
def _ready(name: str) -> SheetSpec:
    if name not in READY:
        raise InvalidInput(f"the ready specs are {', '.join(READY)}; got {shown(name)}", argument="specs")
    text = files("lastro.imports").joinpath("ready", f"{name}.toml").read_text(encoding="utf-8")
    (spec,) = specs_of(tomllib.loads(text))
    return spec


def _spec(name: str, given: Mapping[str, Any]) -> SheetSpec:
    known = _SHEET_SETTINGS | frozenset(_SHARED)
    settings = dict(_listed(name, given, known))
    shared = {setting: settings.pop(setting) for setting in _SHARED if setting in settings}
    columns = _table(settings.pop("columns", {}), f"{name}.columns")
    totals = settings.pop("totals", None)
    if "key" not in settings:
        raise InvalidInput(f"spec {name}: key is missing, the fields that together name a row", argument=f"{name}.key")
    return SheetSpec(
        name=name,
        columns=tuple(
            _column(field, _table(column, f"{name}.columns.{field}"), f"{name}.columns.{field}", shared)
            for field, column in columns.items()
        ),
        totals=None if totals is None else _totals(_table(totals, f"{name}.totals"), f"{name}.totals"),
        **settings,
    )


def _column(name: str, given: Mapping[str, Any], place: str, shared: Mapping[str, Any]) -> Column:
    settings = dict(_listed(place, given, _COLUMN_SETTINGS))
    if "type" not in settings:
        raise InvalidInput(f"{place}: type is missing", argument=f"{place}.type")
    for setting, value in shared.items():
        if _ONLY.get(setting, settings["type"]) == settings["type"]:
            settings.setdefault(setting, value)
    return Column(name=name, **settings)


def _totals(given: Mapping[str, Any], place: str) -> Totals:
    settings = dict(_listed(place, given, frozenset({"column", "texts"})))
    if set(settings) != {"column", "texts"}:
        raise InvalidInput(f"{place}: column and texts say which rows are totals", argument=place)
    return Totals(**settings)


def _listed(place: str, given: Mapping[str, Any], known: frozenset[str]) -> Mapping[str, Any]:
    for setting in given:
        if setting not in known:
            near = get_close_matches(setting, known, n=1)
            meant = f"; did you mean {near[0]}?" if near else f"; there are {', '.join(sorted(known))}"
            raise InvalidInput(f"{place}: {shown(setting)} is no setting{meant}", argument=f"{place}.{setting}")
    return {
        setting: tuple(value) if setting in _LISTS and isinstance(value, list) else value
        for setting, value in given.items()
    }


def _table(given: object, place: str) -> Mapping[str, Any]:
    if not isinstance(given, Mapping):
        raise InvalidInput(f"{place} must be a table of settings; got {type(given).__name__}", argument=place)
    return given


def _spec_document(spec: SheetSpec) -> dict[str, Any]:
    document: dict[str, Any] = _plain(asdict(spec))
    document.pop("name")
    document["columns"] = {column.pop("name"): column for column in document["columns"]}
    return document


def _plain(value: Any) -> Any:
    """Without what isn't set, and with lists, as TOML has them."""
    if isinstance(value, dict):
        return {name: _plain(part) for name, part in value.items() if part is not None}
    return [_plain(part) for part in value] if isinstance(value, tuple) else value
