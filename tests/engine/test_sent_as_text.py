"""What the engine turns into text by itself (COPY rows, arrays) reaches PostgreSQL as what it was."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import psycopg
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lastro.engine.psycopg_cursor import COPY_BLOCK_ROWS, adapted, copy_blocks

# What a database in UTF-8 can hold: no NUL, no lone surrogate.
storable = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))
tricky = st.sampled_from(
    ["", " ", "NULL", "null", "\\N", "\\.", '"', '","', "\\", "{a,b}", "a\tb", "a\nb", "a\rb", "é"]
)
integers = st.integers(-(2**63), 2**63 - 1)
cells = st.one_of(st.none(), tricky, storable)
held = settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)


@held
@given(values=st.lists(st.one_of(tricky, storable), min_size=1, max_size=20))
def test_text_arrays_arrive_unchanged(connection: psycopg.Connection[Any], values: list[str]) -> None:
    """Quotes, backslashes, braces, the word NULL and empty texts stand for themselves."""
    row = connection.execute("SELECT %(values)s::text[]", adapted({"values": values})).fetchone()
    assert row == (values,)


@held
@given(values=st.lists(integers, min_size=1, max_size=20))
def test_integer_arrays_arrive_unchanged(connection: psycopg.Connection[Any], values: list[int]) -> None:
    """The whole 64-bit range does."""
    row = connection.execute("SELECT %(values)s::bigint[]", adapted({"values": values})).fetchone()
    assert row == (values,)


@held
@given(rows=st.lists(st.tuples(integers, cells, cells, st.one_of(st.none(), integers)), min_size=1, max_size=20))
def test_copied_rows_arrive_unchanged(connection: psycopg.Connection[Any], rows: list[tuple[Any, ...]]) -> None:
    """Columns of one type, mixed with NULL, and with what COPY's text form must escape."""
    connection.execute("CREATE TEMP TABLE IF NOT EXISTS copied (a bigint, b text, c text, d bigint, n serial)")
    connection.execute("TRUNCATE copied")
    cursor = connection.cursor()
    with cursor.copy("COPY copied (a, b, c, d) FROM STDIN") as copy:
        for block in copy_blocks(rows):
            copy.write(block)
    assert connection.execute("SELECT a, b, c, d FROM copied ORDER BY n").fetchall() == rows


def test_more_rows_than_a_block_are_all_there() -> None:
    """Blocks follow one another without losing or repeating a row; no rows make no block."""
    moment = datetime(2026, 1, 1, tzinfo=UTC)
    blocks = list(copy_blocks((number, moment, None) for number in range(2 * COPY_BLOCK_ROWS + 1)))
    lines = "".join(blocks).splitlines()
    assert [len(block.splitlines()) for block in blocks] == [COPY_BLOCK_ROWS, COPY_BLOCK_ROWS, 1]
    assert lines == [f"{number}\t{moment.isoformat()}\t\\N" for number in range(2 * COPY_BLOCK_ROWS + 1)]
    assert list(copy_blocks([])) == []
