"""Merging against a naive merge in memory: whatever files of whatever months come, the sheet and the counts are the same."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.imports.conftest import Importing
from tests.imports.months import BILLING, csv_of, zipped

MONTHS = ("2026-10", "2026-11")
EXAMPLES = 10
SOAK_EXAMPLES = 300
# A stored row: month and day, minor units of the amount, minor units of the fee, description.
Stored = tuple[str, int, int | None, str | None]


def _cell(drawn: tuple[str, int, int, int | None, str | None], month: str) -> list[Any]:
    invoice, day, amount, fee, description = drawn
    shown = None if fee is None else f"{fee / 100:.2f}"
    return [invoice, "R", f"{month}-{day:02}", f"{amount / 100:.2f}", shown, "BRL", description]


ROW = st.tuples(
    st.sampled_from([f"I{number}" for number in range(8)]),
    st.integers(1, 3),
    st.integers(-2, 2),
    st.none() | st.integers(0, 2),
    st.none() | st.sampled_from(["a", "b \\ c", "d\te", "NULL", "\\N", "\u00e7"]),
)
FILE = st.fixed_dictionaries(
    {
        "rows": st.lists(ROW, min_size=1, max_size=8, unique_by=lambda row: row[0]),
        "month": st.sampled_from(MONTHS),
        "declared": st.booleans(),
        # A column that a file may be without.
        "described": st.booleans(),
    }
)


def naive(stored: dict[str, Stored], file: dict[str, Any]) -> tuple[dict[str, Stored], tuple[int, int, int, int]]:
    """Merge row by row, as a person would: what should stand, and rows inserted, updated, unchanged and deleted."""
    after = dict(stored)
    inserted = updated = unchanged = deleted = 0
    for invoice, day, amount, fee, description in file["rows"]:
        before = stored.get(invoice)
        kept = None if before is None else before[3]
        row = (f"{file['month']}-{day:02}", amount, fee, description if file["described"] else kept)
        inserted += before is None
        unchanged += before == row
        updated += before is not None and before != row
        after[invoice] = row
    if file["declared"]:
        named = {row[0] for row in file["rows"]}
        for invoice, before in stored.items():
            if before[0].startswith(file["month"]) and invoice not in named:
                del after[invoice]
                deleted += 1
    return after, (inserted, updated, unchanged, deleted)


def _stands(connection: psycopg.Connection[Any]) -> dict[str, tuple[Stored, str]]:
    rows = connection.execute(
        "SELECT invoice, billed_on::text, amount, fee, description, xmin::text || ctid::text FROM sheet_billing"
    ).fetchall()
    connection.rollback()
    return {row[0]: (row[1:5], row[5]) for row in rows}


def _play(importing: Importing, connection: psycopg.Connection[Any], folder: Path, files: list[dict[str, Any]]) -> None:
    connection.execute("DELETE FROM sheet_billing")
    connection.commit()
    expected: dict[str, Stored] = {}
    for file in files:
        cut = None if file["described"] else -1
        rows = [_cell(row, file["month"])[:cut] for row in file["rows"]]
        path = zipped(folder / "f.zip", billing=csv_of(BILLING[:cut], rows))
        month = file["month"] if file["declared"] else None
        (would,) = importing.ledger.imports.preview(path, period=month, allow_shrink=True)
        before = _stands(connection)
        expected, counts = naive(expected, file)
        (done,) = importing.ledger.imports.run(path, period=month, allow_shrink=True)
        assert done.status == "merged", done.reason
        (sheet,) = done.sheets
        assert (sheet.inserted, sheet.updated, sheet.unchanged, sheet.deleted) == counts
        assert would.sheets == done.sheets
        after = _stands(connection)
        assert {invoice: row for invoice, (row, _) in after.items()} == expected
        rewritten = {invoice for invoice, (_, place) in after.items() if before.get(invoice, ("", ""))[1] != place}
        assert len(rewritten) == counts[0] + counts[1], "unchanged rows lie where they lay"


@pytest.mark.req("4.2")
@pytest.mark.case("C083")
@settings(
    max_examples=EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture], derandomize=True
)
@given(files=st.lists(FILE, min_size=1, max_size=3))
def test_merging_is_what_a_naive_merge_does(
    importing: Importing, connection: psycopg.Connection[Any], tmp_path: Path, files: list[dict[str, Any]]
) -> None:
    """Rows, counts, and what isn't rewritten agree with the model, and so does the dry run before each merge."""
    _play(importing, connection, tmp_path, files)


@pytest.mark.soak
@pytest.mark.req("4.2")
@pytest.mark.timeout(1_800)
@settings(max_examples=SOAK_EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(files=st.lists(FILE, min_size=1, max_size=6))
def test_merging_is_what_a_naive_merge_does_for_long(
    importing: Importing, connection: psycopg.Connection[Any], tmp_path: Path, files: list[dict[str, Any]]
) -> None:
    """The same, longer."""
    _play(importing, connection, tmp_path, files)
