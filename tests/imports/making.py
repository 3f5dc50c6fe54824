"""Spreadsheets for the tests: one table written by several libraries, and oddities written by hand where none would."""

from __future__ import annotations

import csv
import subprocess
import zipfile
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime
from pathlib import Path
from typing import Any, NamedTuple

import openpyxl
import xlsxwriter
import xlwt
from odf import opendocument, style, table, text

NAMESPACE = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
PACKAGE = "http://schemas.openxmlformats.org/package/2006"
CONVERT_S = 120

Table = Sequence[Sequence[Any]]


class Formula(NamedTuple):
    """A formula, and the result that its program left beside it; None where it left none."""

    text: str
    cached: str | float | None = None


def by_openpyxl(path: Path, rows: Table, *, sheet: str = "Sheet", change: Callable[[Any], None] | None = None) -> Path:
    """Write with openpyxl, which leaves formulas without a result."""
    book = openpyxl.Workbook()
    worksheet = book.active
    worksheet.title = sheet
    for row in rows:
        worksheet.append([cell.text if isinstance(cell, Formula) else cell for cell in row])
    if change is not None:
        change(worksheet)
    book.save(path)
    return path


def by_xlsxwriter(
    path: Path,
    rows: Table,
    *,
    sheet: str = "Sheet",
    change: Callable[[Any, Any], None] | None = None,
    **options: Any,
) -> Path:
    """Write with XlsxWriter."""
    book = xlsxwriter.Workbook(str(path), options)
    dated, timed = book.add_format({"num_format": "yyyy-mm-dd"}), book.add_format({"num_format": "yyyy-mm-dd hh:mm:ss"})
    worksheet = book.add_worksheet(sheet)
    for r, row in enumerate(rows):
        for c, cell in enumerate(row):
            if isinstance(cell, Formula):
                worksheet.write_formula(r, c, cell.text, None, "" if cell.cached is None else cell.cached)
            elif isinstance(cell, datetime):
                worksheet.write_datetime(r, c, cell, timed)
            elif isinstance(cell, date):
                worksheet.write_datetime(r, c, cell, dated)
            elif isinstance(cell, str):
                worksheet.write_string(r, c, cell)
            elif cell is not None:
                worksheet.write(r, c, cell)
    if change is not None:
        change(book, worksheet)
    book.close()
    return path


def by_xlwt(path: Path, rows: Table, *, sheet: str = "Sheet", change: Callable[[Any, Any], None] | None = None) -> Path:
    """Write an .xls with xlwt."""
    book = xlwt.Workbook()
    worksheet = book.add_sheet(sheet)
    dated, timed = (xlwt.easyxf(num_format_str=form) for form in ("YYYY-MM-DD", "YYYY-MM-DD HH:MM:SS"))
    for r, row in enumerate(rows):
        for c, cell in enumerate(row):
            if isinstance(cell, Formula):
                worksheet.write(r, c, xlwt.Formula(cell.text.removeprefix("=")))
            elif isinstance(cell, datetime):
                worksheet.write(r, c, cell, timed)
            elif isinstance(cell, date):
                worksheet.write(r, c, cell, dated)
            elif cell is not None:
                worksheet.write(r, c, cell)
    if change is not None:
        change(book, worksheet)
    book.save(str(path))
    return path


def by_odfpy(path: Path, rows: Table, *, sheet: str = "Sheet", hidden: bool = False) -> Path:
    """Write an .ods with odfpy."""
    document = opendocument.OpenDocumentSpreadsheet()
    hiding = style.Style(name="ta1", family="table")
    hiding.addElement(style.TableProperties(display="false" if hidden else "true"))
    document.automaticstyles.addElement(hiding)
    sheet_element = table.Table(name=sheet, stylename=hiding)
    for row in rows:
        line = table.TableRow()
        for cell in row:
            line.addElement(_odf_cell(cell))
        sheet_element.addElement(line)
    document.spreadsheet.addElement(sheet_element)
    document.save(str(path))
    return path


def _odf_cell(cell: Any) -> Any:
    if cell is None or cell == "":
        return table.TableCell()
    if isinstance(cell, Formula):
        if cell.cached is None:
            return table.TableCell(formula=f"of:{cell.text}")
        return table.TableCell(formula=f"of:{cell.text}", valuetype="float", value=str(cell.cached))
    if isinstance(cell, bool):
        return table.TableCell(valuetype="boolean", booleanvalue="true" if cell else "false")
    if isinstance(cell, datetime):
        return table.TableCell(valuetype="date", datevalue=cell.isoformat())
    if isinstance(cell, date):
        return table.TableCell(valuetype="date", datevalue=cell.isoformat())
    if isinstance(cell, int | float):
        return table.TableCell(valuetype="float", value=repr(cell))
    written = table.TableCell(valuetype="string")
    written.addElement(text.P(text=cell))
    return written


def by_csv(path: Path, rows: Table, *, encoding: str = "utf-8", delimiter: str = ",") -> Path:
    """Write a .csv with the standard library."""
    with path.open("w", encoding=encoding, newline="") as file:
        csv.writer(file, delimiter=delimiter).writerows(
            [["" if cell is None else str(cell) for cell in row] for row in rows]
        )
    return path


def by_hand(
    path: Path,
    data: str,
    *,
    sheet: str = "Sheet",
    before: str = "",
    after: str = "",
    book: str = "",
    strings: Sequence[str] = (),
    parts: Mapping[str, str | bytes] | None = None,
) -> Path:
    """
    Write an .xlsx whose rows are the XML in *data*: *before* and *after* them in the sheet, *book* in the workbook.
    """
    shared = "".join(f"<si><t>{one}</t></si>" for one in strings)
    made: dict[str, str | bytes] = {
        "[Content_Types].xml": f'<Types xmlns="{PACKAGE}/content-types"><Override PartName="/xl/workbook.xml" '
        'ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml"/></Types>',
        "_rels/.rels": f'<Relationships xmlns="{PACKAGE}/relationships"><Relationship Id="r1" '
        f'Type="{OFFICE}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
        "xl/workbook.xml": f'<workbook xmlns="{NAMESPACE}" xmlns:r="{OFFICE}">{book}<sheets><sheet name="{sheet}" '
        'sheetId="1" r:id="r1"/></sheets></workbook>',
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{PACKAGE}/relationships"><Relationship Id="r1" '
        f'Type="{OFFICE}/worksheet" Target="worksheets/sheet1.xml"/><Relationship Id="r2" '
        f'Type="{OFFICE}/sharedStrings" Target="sharedStrings.xml"/></Relationships>',
        "xl/sharedStrings.xml": f'<sst xmlns="{NAMESPACE}">{shared}</sst>',
        "xl/worksheets/sheet1.xml": f'<worksheet xmlns="{NAMESPACE}">{before}<sheetData>{data}</sheetData>{after}'
        "</worksheet>",
        **(parts or {}),
    }
    return packed(path, made)


def packed(path: Path, members: Mapping[str, str | bytes]) -> Path:
    """Pack the members into a zip."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, member in members.items():
            archive.writestr(name, member)
    return path


def by_libreoffice(soffice: Path, source: Path, ending: str, folder: Path) -> Path:
    """Have LibreOffice open *source* and save it as *ending*, with a profile of its own."""
    folder.mkdir(exist_ok=True)
    done = subprocess.run(
        [
            soffice, f"-env:UserInstallation={(folder / 'profile').as_uri()}", "--headless", "--norestore",
            "--convert-to", ending, "--outdir", folder, source,
        ],
        capture_output=True, text=True, check=False, timeout=CONVERT_S,
    )  # fmt: skip
    made = folder / f"{source.stem}.{ending.split(':', maxsplit=1)[0]}"
    assert made.exists(), done.stdout + done.stderr
    return made
