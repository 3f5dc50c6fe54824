"""
A step's statements as MySQL and MariaDB take them: values written into the text, byte for byte, whatever the driver.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from itertools import islice
from typing import Any, NamedTuple, TypeAlias

from lastro.sql.catalogue import catalogue

DIALECT = "mysql"
# Rows of one INSERT: each some hundred bytes, so that the text stays far below the smallest max_allowed_packet.
ROWS_A_STATEMENT_MAX = 500
BEGIN = "START TRANSACTION"
COMMIT = "COMMIT"
LOCKING_READ = "LOCK IN SHARE MODE"

_MARK = re.compile(
    r"/\*(?P<held> held)?(?P<or_none> or none)?(?: hot (?P<hot>debit|credit))?(?P<each> each)?(?: by (?P<by>\w+))? \*/\s*"
)
_CURRENT = "/* current */"
_VALUES = re.compile(r"(?P<head>.*?\bVALUES\s*)(?P<row>\(.*?\))(?P<tail>\s*ON DUPLICATE KEY UPDATE.*)?", re.DOTALL)
_PARAMETER = re.compile(r"%\((\w+)\)s")
_TOGETHER = "__"
PLACE = "place"


class Text(NamedTuple):
    """
    One statement of a step. `plain` reads what its snapshot shows; `current` reads with locks what is committed now.

    `held`: only for a caller's transaction. `or_none`: a NULL that its table refuses means that the step writes nothing.
    `hot`: only where that side ("debit", "credit") is kept hot. `each`: an INSERT of one row for each element of its
    list parameters, in the order of the list `by`, if any; `%(place)s` is the element's place in its list.
    """

    plain: str
    current: str
    held: bool
    or_none: bool
    hot: str | None
    each: bool
    by: str | None

    def is_for(self, params: Mapping[str, Any]) -> bool:
        """Say whether a step with these parameters sends it at all."""
        return self.hot is None or params[f"{self.hot}_keeping"] == "hot"


class Said(NamedTuple):
    """
    One step as this dialect says it; where it can't, `refused` says why. `or_none`: one of its texts is.
    """

    name: str
    texts: tuple[Text, ...]
    refused: str | None
    locks_by_name: bool
    or_none: bool

    def alone(self, params: Mapping[str, Any]) -> str:
        """Return the step as one packet that is a transaction of its own."""
        said = tuple(text.plain for text in self.texts if not text.held and text.is_for(params))
        return written(_transaction_of(said), params)


Statements: TypeAlias = Mapping[str, Said]


@lru_cache
def statements_of(ledger: str) -> Statements:
    """
    Return the catalogue of a ledger with its marks read.
    """
    return {
        name: Said(
            name,
            texts := tuple(_text_of(text) for text in statement.texts),
            statement.refused,
            any("get_lock(" in text for text in statement.texts),
            any(text.or_none for text in texts),
        )
        for name, statement in catalogue(DIALECT, ledger).items()
    }


@lru_cache
def _transaction_of(texts: tuple[str, ...]) -> str:
    return ";\n".join((BEGIN, *texts, COMMIT))


def _text_of(text: str) -> Text:
    mark = _MARK.match(text)
    body = text[mark.end() :] if mark else text
    return Text(
        plain=body.replace(_CURRENT, ""),
        current=body.replace(_CURRENT, LOCKING_READ),
        held=bool(mark and mark["held"]),
        or_none=bool(mark and mark["or_none"]),
        hot=mark["hot"] if mark else None,
        each=bool(mark and mark["each"]),
        by=mark["by"] if mark else None,
    )


def written(template: str, params: Mapping[str, Any]) -> str:
    """
    Return *template* with its parameters written into it. `%(keys__ids)s` stands for two lists, row by row.
    """
    return template % {
        name: literal(params[name] if name in params else _side_by_side(name, params)) for name in _names_of(template)
    }


def _side_by_side(name: str, params: Mapping[str, Any]) -> list[list[Any]]:
    return [list(row) for row in zip(*(params[part] for part in name.split(_TOGETHER)), strict=True)]


def written_each(text: Text, params: Mapping[str, Any]) -> Iterator[str]:
    """
    Return the INSERTs of *text*, a row for each element of the list parameters that it names.
    """
    names = _names_of(text.plain)
    lists = {name: params[name] for name in names if name != PLACE}
    places = range(len(next(iter(lists.values()))))
    if text.by is not None:
        places_by = params[text.by]
        ordered: Sequence[int] = sorted(places, key=lambda place: places_by[place])
    else:
        ordered = places
    return written_rows(
        text.plain, ([place if name == PLACE else lists[name][place] for name in names] for place in ordered)
    )


def written_rows(template: str, rows: Iterable[Sequence[Any]]) -> Iterator[str]:
    """
    Return the INSERTs of *template* for *rows*, whose values stand in the order of its parameters; moments may be text.
    """
    found = _VALUES.fullmatch(template)
    assert found, "a statement for each row is an INSERT … VALUES"
    head, row_template, tail = found["head"], _PARAMETER.sub("%s", found["row"]), found["tail"] or ""
    moments = [place for place, name in enumerate(_names_of(template)) if name.endswith("_at")]
    remaining = iter(rows)
    while block := list(islice(remaining, ROWS_A_STATEMENT_MAX)):
        values = ",\n".join(row_template % tuple(map(literal, _with_moments(row, moments))) for row in block)
        yield f"{head}{values}{tail}"


@lru_cache
def _names_of(template: str) -> tuple[str, ...]:
    return tuple(_PARAMETER.findall(template))


def _with_moments(row: Sequence[Any], places: Sequence[int]) -> Sequence[Any]:
    if not places:
        return row
    values = list(row)
    for place in places:
        if isinstance(values[place], str):
            values[place] = datetime.fromisoformat(values[place])
    return values


def literal(value: Any) -> str:
    """
    Return *value* as it may stand in any statement, whatever the connection's character set, sql_mode and driver.

    Text goes as the hexadecimal digits of its UTF-8: there is nothing to escape, and nothing to convert on the way.
    """
    if value is None:
        return "NULL"
    if value is True or value is False:
        return "1" if value else "0"
    if isinstance(value, int):
        return str(value) if value >= 0 else f"({value})"
    if isinstance(value, str):
        return f"X'{value.encode().hex()}'"
    if isinstance(value, datetime):
        return f"'{value.astimezone(UTC).replace(tzinfo=None).isoformat(sep=' ', timespec='microseconds')}'"
    if isinstance(value, list):
        return f"convert(X'{json.dumps(_without_booleans(value)).encode().hex()}' USING utf8mb4)"
    raise AssertionError(f"no statement takes a {type(value).__name__}")


def _without_booleans(values: list[Any]) -> list[Any]:
    # JSON's true is no number to every server.
    return [
        _without_booleans(value) if isinstance(value, list) else int(value) if isinstance(value, bool) else value
        for value in values
    ]
