"""Sheets of one's own: their tables are made as the ready ones are, grow by new fields, and refuse what they can't hold."""

from __future__ import annotations

import re
from typing import Any

import psycopg
import pytest

from lastro import InvalidInput
from lastro.imports import SheetSpec, document_of, ready_specs, specs_of
from lastro.imports.sheet_tables import STATEMENTS_OWN, bounds, check_fits
from tests.imports.conftest import HEADER, ROWS, Importing, spec
from tests.imports.making import by_openpyxl
from tests.schema.catalogue import described

Connection = psycopg.Connection[Any]


def changed(base: SheetSpec, **settings: Any) -> SheetSpec:
    """A spec with other settings, columns by name."""
    document = document_of([base])[base.name]
    name = settings.pop("name", base.name)
    columns = {**document["columns"], **settings.pop("columns", {})}
    columns = {field: column for field, column in columns.items() if column is not None}
    (made,) = specs_of({name: {**document, **settings, "columns": columns}})
    return made


def test_a_declared_sheet_is_like_a_ready_one(importing: Importing, connection: Connection, ledger_name: str) -> None:
    """What is declared gets the columns, constraints and indexes that the migration gives the ready ones."""
    for ready in ready_specs():
        assert importing.ledger.imports.declare(changed(ready, name=f"own_{ready.name}"))
    shape = described(connection, ledger_name)
    for ready in ready_specs():
        theirs = [line.strip() for line in shape.splitlines() if re.search(rf"\bsheet_{ready.name}", line)]
        own = [line.strip() for line in shape.splitlines() if re.search(rf"\bsheet_own_{ready.name}", line)]
        assert [line.replace("sheet_own_", "sheet_") for line in own] == theirs != []


@pytest.mark.req("4.2")
def test_every_type_is_merged_and_compared(importing: Importing, connection: Connection, tmp_path: Any) -> None:
    """Each type of column is stored as its own and found equal again; before it is declared, nothing is sent."""
    ledger, own = importing.ledger, spec()
    book = by_openpyxl(tmp_path / "payments.xlsx", [HEADER, *ROWS])
    with pytest.raises(InvalidInput, match="sheet payments has no table yet: declare it"):
        ledger.imports.send(book, specs=[own])
    assert ledger.imports.declare(own)
    assert not ledger.imports.declare(own)
    for counts in ((3, 0), (0, 3)):
        (done,) = ledger.imports.run(book, specs=[own])
        assert (done.sheets[0].inserted, done.sheets[0].unchanged) == counts, done.reason
    row = connection.execute(
        "SELECT amount, rate, paid_on::text, at AT TIME ZONE 'UTC', done, count, note FROM sheet_payments "
        "WHERE reference = 'A-1'"
    ).fetchone()
    connection.rollback()
    assert row is not None
    assert [str(value) for value in row] == [
        "1234", "0.0625", "2026-11-30", "2026-11-30 18:05:09", "True", "7", "first",
    ]  # fmt: skip
    # A field more: the rows that are there have nothing in it, and it takes part from now on.
    wider = changed(own, columns={"extra": {"type": "integer"}})
    with pytest.raises(InvalidInput, match="has no extra yet: declare it again"):
        ledger.imports.send(book, specs=[wider])
    assert ledger.imports.declare(wider)
    book = by_openpyxl(tmp_path / "payments.xlsx", [[*HEADER, "Extra"], *([*row, 5] for row in ROWS)])
    (done,) = ledger.imports.run(book, specs=[wider])
    assert (done.sheets[0].updated, done.sheets[0].unchanged) == (3, 0)
    # A spec that reads less of it still fits.
    (done,) = ledger.imports.run(book, specs=[changed(own, columns={"note": None})])
    assert done.sheets[0].unchanged == 3


MISFITS = [
    ({"key": ["count"], "columns": {"count": {"type": "integer", "required": True}}}, "its key is reference"),
    ({"period": "paid_on", "columns": {"paid_on": {"type": "date", "required": True}}}, "its period is None"),
    ({"columns": {"count": {"type": "text"}}}, "count is integer, and not text"),
    ({"columns": {"amount": {"type": "money", "currency": "USD"}}}, "amount is money in BRL, and not money in USD"),
    ({"columns": {"amount": {"type": "integer"}}}, "amount is money in BRL, and not integer"),
]


@pytest.mark.parametrize(("settings", "why"), MISFITS)
def test_what_a_table_cannot_hold_is_refused(settings: dict[str, Any], why: str) -> None:
    """Another key, period, type or currency isn't merged into a table that has its own."""
    with pytest.raises(InvalidInput, match=why):
        check_fits(changed(spec(), **settings), spec())


def test_what_is_required_stays_required() -> None:
    """A spec that lacks a required field, or lets it be empty, doesn't fit."""
    (billing,) = ready_specs("billing")
    for field, column in (("billed_on", None), ("billed_on", {"type": "date"})):
        with pytest.raises(InvalidInput, match="billed_on is required in it"):
            check_fits(changed(billing, columns={field: column}, period=None), changed(billing, period=None))


def test_names_that_no_table_can_have(importing: Importing) -> None:
    """A field called as one of the table's own, a name that is too long, and a new required field are refused."""
    ledger = importing.ledger
    for wrong, why in (
        (changed(spec(), columns={"file_id": {"type": "integer"}}), "can't name a field file_id"),
        (changed(spec(), name="s" * 41), "has at most 40 characters"),
    ):
        with pytest.raises(InvalidInput, match=why):
            ledger.imports.declare(wrong)
    # SQL's own words are names like any other.
    words = changed(spec(), name="order", columns={"select": {"type": "text", "headers": ["Select it"]}})
    assert ledger.imports.declare(words)
    with pytest.raises(InvalidInput, match="is new and required"):
        ledger.imports.declare(changed(words, columns={"more": {"type": "text", "required": True}}))
    with pytest.raises(InvalidInput, match="must be a SheetSpec"):
        ledger.imports.declare("billing")  # type: ignore[arg-type]


def test_a_month_is_that_of_its_columns_clocks() -> None:
    """The bounds of a month are midnights where the column's clocks are."""
    timed = {"at": {"type": "datetime", "zone": "America/Sao_Paulo", "required": True}}
    found = bounds(changed(spec(), period="at", columns=timed), "2026-12")
    assert found == ("2026-12-01T03:00:00+00:00", "2027-01-01T03:00:00+00:00")
    assert bounds(ready_specs("billing")[0], "2026-02") == ("2026-02-01", "2026-03-01")
    assert bounds(spec(), "2026-02") is None


@pytest.mark.parametrize("name", STATEMENTS_OWN)
def test_a_field_is_not_called_as_merging_calls_its_own(importing: Importing, name: str) -> None:
    """Such a name is refused when the sheet is declared, and not when its files are merged."""
    own = changed(spec(), columns={name: {"type": "text"}})
    with pytest.raises(InvalidInput, match=f"can't name a field {name}"):
        importing.ledger.imports.declare(own)
