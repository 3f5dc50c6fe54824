"""
Text that a caller hands in: what every name, key and note must be before it may reach a database.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from lastro.errors import InvalidInput
from lastro.model.limits import METADATA_BYTES_MAX

SHOWN_CHARACTERS_MAX = 60
SHOWN_INT_BITS_MAX = 128


# The escape of a NUL character in JSON, and not the six characters that only look like it.
_NUL = re.compile(r"(?<!\\)(?:\\\\)*\\u0000")


def text(value: object, *, argument: str, characters_max: int) -> str:
    """
    Return *value* if it is storable text of 1 … *characters_max* characters that isn't blank; InvalidInput otherwise.

    Nothing is trimmed, folded or normalised: two texts that differ anywhere are two texts on every store.
    """
    if not isinstance(value, str):
        raise InvalidInput(f"{argument} must be text; got {type(value).__name__}", argument=argument)
    if not value or value.isspace():
        raise InvalidInput(f"{argument} must not be empty or blank", argument=argument)
    if len(value) > characters_max:
        raise InvalidInput(
            f"{argument} may have {characters_max} characters; this one has {len(value)}: {shown(value)}",
            argument=argument,
        )
    if "\0" in value:
        raise InvalidInput(f"{argument} must not contain a NUL character: {shown(value)}", argument=argument)
    if not value.isascii():
        _encodable(value, argument=argument)
    # A plain str: a subclass (an Enum, Markup) has a __str__ of its own, which a driver or COPY would send.
    return value if type(value) is str else str.__str__(value)


def optional_text(value: object, *, argument: str, characters_max: int) -> str | None:
    """
    Return *value* as `text` does, or None where there is none.
    """
    return None if value is None else text(value, argument=argument, characters_max=characters_max)


def metadata_json(metadata: object) -> str | None:
    """
    Return *metadata* as one canonical JSON object (sorted keys, at most 16 KiB), or None where there is none.
    """
    return None if metadata is None else json_object(metadata, argument="metadata", bytes_max=METADATA_BYTES_MAX)


def json_object(value: object, *, argument: str, bytes_max: int) -> str:
    """
    Return the mapping *value* as one canonical JSON object (sorted keys, at most *bytes_max* bytes).
    """
    if not isinstance(value, Mapping):
        raise InvalidInput(f"{argument} must be a mapping; got {type(value).__name__}", argument=argument)
    try:
        encoded = json.dumps(
            dict(value),
            sort_keys=True,
            allow_nan=False,
            ensure_ascii=False,
            separators=(",", ":"),
        )
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInput(f"{argument} must be plain JSON: {error}", argument=argument) from error
    _encodable(encoded, argument=argument)
    if _NUL.search(encoded):
        raise InvalidInput(f"{argument} must not contain a NUL character", argument=argument)
    if len(encoded.encode()) > bytes_max:
        raise InvalidInput(
            f"{argument} may have {bytes_max} bytes as JSON; this has {len(encoded.encode())}",
            argument=argument,
        )
    return encoded


def json_value(value: object, *, argument: str) -> object:
    """
    Return what the JSON text *value* says.
    """
    try:
        return json.loads(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInput(f"{argument} must be JSON: {error}", argument=argument) from error


def read_metadata(stored: str | None) -> dict[str, Any] | None:
    """
    Return stored metadata as a dictionary.
    """
    if stored is None:
        return None
    metadata: dict[str, Any] = json.loads(stored)
    return metadata


def _encodable(value: str, *, argument: str) -> None:
    try:
        value.encode("utf-8")
    except UnicodeEncodeError as error:
        raise InvalidInput(
            f"{argument} contains a lone surrogate, which is no character: {shown(value)}",
            argument=argument,
        ) from error


def as_differences(fields: Mapping[str, tuple[Any, Any]]) -> str:
    """
    Return fields that differ, each stored and given, as a conflict's message says them.
    """
    return "; ".join(f"{field}: stored {there!r}, given {given!r}" for field, (there, given) in fields.items())


def shown(value: object) -> str:
    """
    Return *value* as it may stand in a message: short, and never an error of its own.
    """
    if isinstance(value, str | bytes):
        return repr(value) if len(value) <= SHOWN_CHARACTERS_MAX else repr(value[:SHOWN_CHARACTERS_MAX]) + "…"
    if isinstance(value, int) and value.bit_length() > SHOWN_INT_BITS_MAX:
        return f"an int of {value.bit_length()} bits"
    seen = repr(value)
    return seen if len(seen) <= SHOWN_CHARACTERS_MAX else seen[:SHOWN_CHARACTERS_MAX] + "…"
