"""Months of billing and movements as files, and what stands in their sheets; for the tests of merging."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import openpyxl
import psycopg

from lastro.imports.files import read_file
from lastro.imports.reports import FileReport
from lastro.imports.spec_files import specs_of
from tests.imports.making import packed

MONTH = "2026-11"
BILLING = ["Invoice", "Reference", "Billed on", "Amount", "Fee", "Currency", "Description"]
MOVEMENTS = ["Movement", "Reference", "Moved on", "Amount", "Currency", "Kind"]

Rows = Sequence[Sequence[Any]]
# Which transaction wrote each row, and where it lies: what changes when a row is rewritten.
WHERE = "SELECT {key}, xmin::text, ctid::text, line_id FROM {table} ORDER BY 1"


class InProcess:
    """A parser that reads in this process: starting one takes half a second, and most tests are about what follows."""

    def read(self, order: dict[str, Any], on_rows: Callable[[int, float], None]) -> FileReport:
        """Read a file as a parser does."""
        return read_file(
            order["name"],
            Path(order["path"]),
            specs_of(order["specs"]),
            folder=Path(order["folder"]),
            period=order["period"],
            on_rows=on_rows,
        )

    def stop(self) -> None:
        """End it."""

    def close(self) -> None:
        """Let it go."""


class Line(NamedTuple):
    """A line of billing: what most tests change is its amount."""

    invoice: str
    amount: str = "10.00"
    day: int = 5
    month: str = MONTH
    description: str = "d"

    @property
    def cells(self) -> list[str]:
        """The line as it stands in a file."""
        return [
            self.invoice, "R", f"{self.month}-{self.day:02}", self.amount, "", "BRL", self.description,
        ]  # fmt: skip


def csv_of(header: Sequence[str], rows: Rows) -> str:
    """A csv file."""
    text = io.StringIO()
    csv.writer(text).writerows([header, *rows])
    return text.getvalue()


def billing(*lines: Line) -> str:
    """A csv file of billing."""
    return csv_of(BILLING, [line.cells for line in lines])


def lines(*numbers: int, amount: str = "10.00") -> list[Line]:
    """Lines by the numbers of their invoices."""
    return [Line(f"I{number:03}", amount) for number in numbers]


def workbook(path: Path, *, billed: Rows, moved: Rows) -> Path:
    """An .xlsx with both sheets."""
    book = openpyxl.Workbook()
    book.remove(book.active)
    for name, header, rows in (("Billing", BILLING, billed), ("Movements", MOVEMENTS, moved)):
        sheet = book.create_sheet(name)
        for row in (header, *rows):
            sheet.append([cell or None for cell in row])
    book.save(path)
    return path


def zipped(path: Path, **members: str | bytes) -> Path:
    """A zip of csv files: the names without their ending."""
    return packed(path, {f"{name}.csv": member for name, member in members.items()})


def stored(connection: psycopg.Connection[Any], schema: str | None = None) -> Mapping[str, tuple[Any, ...]]:
    """What stands in the sheet of billing: amount, day and description by invoice."""
    table = "sheet_billing" if schema is None else f"{schema}.sheet_billing"
    query = f"SELECT invoice, amount, billed_on::text, description FROM {table}"
    rows = connection.execute(query.encode()).fetchall()
    connection.rollback()
    return {row[0]: row[1:] for row in rows}


def placed(connection: psycopg.Connection[Any], table: str = "sheet_billing", key: str = "invoice") -> list[Any]:
    """Which transaction wrote each row of a sheet, and where it lies."""
    rows = connection.execute(WHERE.format(table=table, key=key).encode()).fetchall()
    connection.rollback()
    return rows
