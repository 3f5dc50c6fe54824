"""
Handing a plan's step to a psycopg cursor, blocking or awaiting, and taking its rows back.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from itertools import islice
from typing import Any, TypeAlias, cast

from psycopg import AsyncCursor, Cursor, adapters
from psycopg.adapt import AdaptersMap
from psycopg.types.numeric import Int8

from lastro.plans.plan import OwnNames, Rows, Step
from lastro.sql.catalogue import Statement, with_lists, with_names

Statements: TypeAlias = Mapping[str, Statement]
DictCursor: TypeAlias = Cursor[dict[str, Any]]
AsyncDictCursor: TypeAlias = AsyncCursor[dict[str, Any]]

DIALECT = "postgres"
COPY_BLOCK_ROWS = 500
# Of statements on merged sheets: some twenty for each mix of fields that files have.
SHEET_STATEMENTS_KEPT = 500
NULL_COPIED = "\\N"
NULL_IN_ARRAY = "NULL"
_ESCAPES = str.maketrans({"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"})
_ARRAY_ESCAPES = str.maketrans({"\\": "\\\\", '"': '\\"'})
_NEEDS_ESCAPE = re.compile(r"[\\\t\n\r]").search
_NOTHING = type(None)


class PlainCursor(Cursor[dict[str, Any]]):
    """
    A cursor on a caller's connection that reads values as psycopg does, whatever the caller taught its connection:
    Django's gives jsonb as text, and moments without a time zone where USE_TZ is off.
    """

    @property
    def adapters(self) -> AdaptersMap:
        """The adapters of psycopg itself."""
        return adapters


class AsyncPlainCursor(AsyncCursor[dict[str, Any]]):
    """
    The twin of `PlainCursor`.
    """

    @property
    def adapters(self) -> AdaptersMap:
        """The adapters of psycopg itself."""
        return adapters


def execute(cursor: DictCursor, statements: Statements, step: Step) -> Rows:
    """
    Execute one step and return its rows.
    """
    if step.script is not None:
        cursor.execute(step.script.encode(), prepare=False)
        return []
    text = _text_of(statements, step)
    if (blocks := _blocks_of(step)) is not None:
        with cursor.copy(text) as copy:
            for block in blocks:
                copy.write(block)
        return []
    cursor.execute(text, adapted(step.params) or None)
    return cursor.fetchall() if _has_rows(cursor) else []


async def execute_async(cursor: AsyncDictCursor, statements: Statements, step: Step) -> Rows:
    """
    Execute one step and return its rows.
    """
    if step.script is not None:
        await cursor.execute(step.script.encode(), prepare=False)
        return []
    text = _text_of(statements, step)
    if (blocks := _blocks_of(step)) is not None:
        async with cursor.copy(text) as copy:
            for block in blocks:
                await copy.write(block)
        return []
    await cursor.execute(text, adapted(step.params) or None)
    return await cursor.fetchall() if _has_rows(cursor) else []


def _text_of(statements: Statements, step: Step) -> bytes:
    text = statements[step.statement].text
    if step.its:
        return _sent(_with_lists(text, step.its))
    if not step.own:
        return _sent(text)
    # The driver reads the text for its parameters, so a percent sign in a name is doubled.
    names = ((place, [part.replace("%", "%%") for part in parts]) for place, parts in step.own)
    return with_names(text, names, dialect=DIALECT).encode()


def _blocks_of(step: Step) -> Iterable[str | bytes] | None:
    return step.written if step.copied is None else copy_blocks(step.copied)


@lru_cache(maxsize=SHEET_STATEMENTS_KEPT)
def _with_lists(text: str, names: OwnNames) -> str:
    return with_lists(text, names, dialect=DIALECT)


# One bytes object a statement, for the driver looks its own preparations up by it.
_sent = lru_cache(maxsize=None)(str.encode)


def _has_rows(cursor: DictCursor | AsyncDictCursor) -> bool:
    # Asking for `cursor.description` would build an object a column.
    return cursor.pgresult is not None and cursor.pgresult.nfields > 0


def adapted(params: Mapping[str, Any]) -> dict[str, Any]:
    """
    Return *params* with every integer sent as bigint.

    The driver picks an integer's type by its size, and a statement is prepared anew for every mix of types. Arrays of
    integers and of text go as one text, which the statement casts: one type, and no object an element.
    """
    return {name: _adapted(value) for name, value in params.items()}


def _adapted(value: Any) -> Any:
    kind = type(value)
    if kind is int:
        return Int8(value)
    if kind is list and value:
        kinds = set(map(type, value)) - {_NOTHING}
        if kinds <= {int}:
            return f"{{{','.join(NULL_IN_ARRAY if one is None else str(one) for one in value)}}}"
        if kinds == {str}:
            return _text_array(value)
    return value


def _text_array(values: Sequence[str | None]) -> str:
    # Every text is quoted, so that an empty one, NULL as a word, braces and commas stand for themselves.
    if None in values:
        quoted = (NULL_IN_ARRAY if one is None else f'"{one.translate(_ARRAY_ESCAPES)}"' for one in values)
        return f"{{{','.join(quoted)}}}"
    texts = cast("Sequence[str]", values)
    joined = '","'.join(texts)
    if "\\" in joined or joined.count('"') != 2 * (len(texts) - 1):
        joined = '","'.join(text.translate(_ARRAY_ESCAPES) for text in texts)
    return f'{{"{joined}"}}'


def copy_blocks(rows: Iterable[Sequence[Any]]) -> Iterator[str]:
    """
    Return *rows* in the text form of COPY, some hundred rows at a time.

    Worked out column by column: a column of one type is turned into text in one go, four times as fast as row by row.
    """
    remaining = iter(rows)
    while block := tuple(islice(remaining, COPY_BLOCK_ROWS)):
        columns = map(_copied_column, zip(*block, strict=True))
        yield "\n".join(map("\t".join, zip(*columns, strict=True))) + "\n"


def _copied_column(values: Sequence[Any]) -> Iterable[str]:
    kinds = set(map(type, values))
    if kinds == {int}:
        return map(str, values)
    if kinds == {_NOTHING}:
        return [NULL_COPIED] * len(values)
    if kinds == {str} and not _NEEDS_ESCAPE("".join(values)):
        return values
    return map(_copied, values)


def _copied(value: Any) -> str:
    if value is None:
        return NULL_COPIED
    if isinstance(value, str):
        return str.__str__(value).translate(_ESCAPES)
    return value.isoformat() if isinstance(value, datetime) else str(value)
