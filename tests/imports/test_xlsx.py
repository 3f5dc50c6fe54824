"""What .xlsx files hold beside plain data: each oddity written by hand or by a library, and read or refused by its cell."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from lastro.imports import xlsx_pieces
from lastro.imports.limits import COLUMNS_MAX, GAP_ROWS_MAX
from tests.imports.conftest import Read, narrow, spec
from tests.imports.making import Formula, by_hand, by_openpyxl, by_xlsxwriter, packed

HEAD = '<row r="1"><c r="A1" t="inlineStr"><is><t>Reference</t></is></c><c r="B1" t="inlineStr"><is><t>Value</t></is></c></row>'


def _row(number: int, cell: str, *, attributes: str = "", reference: str | None = None) -> str:
    named = reference or f"K{number}"
    return (
        f'<row r="{number}"{attributes}><c r="A{number}" t="inlineStr"><is><t>{named}</t></is></c>'
        f"{cell.format(number)}</row>"
    )


def _money(value: str) -> str:
    return f'<c r="B{{0}}"><v>{value}</v></c>'


# --- errors and formulas ----------------------------------------------------------------------------------------------


@pytest.mark.case("C088")
@pytest.mark.parametrize(
    "error", ["#N/A", "#REF!", "#DIV/0!", "#VALUE!", "#NAME?", "#NUM!", "#NULL!", "#SPILL!", "#CALC!"]
)
def test_an_error_is_named_with_its_cell(error: str, tmp_path: Path, read: Read) -> None:
    """An error cell is rejected with its address and its name, also one that the reader doesn't know; others go on."""
    data = HEAD + _row(2, f'<c r="B{{0}}" t="e"><f>A1</f><v>{error}</v></c>') + _row(3, _money("1.5"))
    outcome = read(by_hand(tmp_path / "x.xlsx", data), narrow("money", currency="BRL"))
    assert outcome.rejected == [("B2", error, f"is the error {error}")]
    assert outcome.numbered == [(3, ["K3", "150"])]


@pytest.mark.case("C088")
@pytest.mark.parametrize(
    "cell", ["<c r='B{0}'><f>1+1</f></c>", '<c r="B{0}"><f>1+1</f><v></v></c>', '<c r="B{0}"><f>1+1</f><v/></c>']
)
def test_a_formula_without_a_result_is_an_error(cell: str, tmp_path: Path, read: Read) -> None:
    """A formula that no program has calculated is rejected by its cell, never read as empty or 0."""
    outcome = read(by_hand(tmp_path / "x.xlsx", HEAD + _row(2, cell)), narrow("money", currency="BRL"))
    ((place, _, reason),) = outcome.rejected
    assert (place, reason) == ("B2", xlsx_pieces.UNCALCULATED)


@pytest.mark.case("C088")
def test_openpyxl_leaves_no_result(tmp_path: Path, read: Read) -> None:
    """Openpyxl writes a formula without its result; the cell is rejected."""
    path = by_openpyxl(tmp_path / "x.xlsx", [["Reference", "Value"], ["A", Formula("=1+1")], ["B", 2]])
    outcome = read(path, narrow("money", currency="BRL"))
    assert [(cell, reason) for cell, _, reason in outcome.rejected] == [("B2", xlsx_pieces.UNCALCULATED)]


@pytest.mark.case("C088")
def test_a_result_that_is_left_to_be_calculated(tmp_path: Path, read: Read) -> None:
    """XlsxWriter writes 0 beside a formula and leaves it to Excel: such a result is refused, unless the spec takes it."""
    rows = [["Reference", "Value"], ["A", Formula("=1+1", 0)], ["B", 2]]
    path = by_xlsxwriter(tmp_path / "x.xlsx", rows)
    assert [(cell, reason) for cell, _, reason in read(path, narrow("money", currency="BRL")).rejected] == [
        ("B2", xlsx_pieces.FORMULA_AT_RISK)
    ]
    assert read(path, narrow("money", currency="BRL", uncalculated="read")).rows == [["A", "0"], ["B", "200"]]


def test_a_calculated_formula_is_its_result(tmp_path: Path, read: Read) -> None:
    """A formula with its result is that; one whose result is an empty text is empty."""
    cells = [
        '<c r="B{0}"><f>1+1</f><v>2</v></c>',
        '<c r="B{0}" t="str"><f>""</f><v></v></c>',
        '<c r="B{0}" t="str"><f t="shared" si="0"/><v/></c>',
    ]
    data = HEAD + "".join(_row(number, cell) for number, cell in enumerate(cells, start=2))
    outcome = read(by_hand(tmp_path / "x.xlsx", data), narrow("money", currency="BRL"))
    assert outcome.rows == [["K2", "200"], ["K3", None], ["K4", None]]


def test_marks_where_the_reader_sees_nothing(tmp_path: Path, read: Read) -> None:
    """An error in a row, or a column, that holds nothing else is rejected all the same, and the rows keep their numbers."""
    data = (
        HEAD + '<row r="2"><c r="B2" t="e"><v>#N/A</v></c></row>' + '<row r="4"><c r="A4" t="e"><v>#REF!</v></c></row>'
    )
    outcome = read(by_hand(tmp_path / "x.xlsx", data), narrow("money", currency="BRL"))
    assert [(cell, value) for cell, value, _ in outcome.rejected] == [("A2", ""), ("B2", "#N/A"), ("A4", "#REF!")]


# --- hidden and merged ------------------------------------------------------------------------------------------------


@pytest.mark.case("C088")
@pytest.mark.parametrize("hidden", ["refuse", "read", "skip"])
def test_hidden_rows(hidden: str, tmp_path: Path, read: Read) -> None:
    """Hidden rows with data refuse the file and are counted, unless the spec says to read or to skip them."""

    def hide(sheet: Any) -> None:
        sheet.row_dimensions[3].hidden = True
        sheet.row_dimensions[9].hidden = True

    path = by_openpyxl(tmp_path / "x.xlsx", [["Reference", "Value"], ["A", 1], ["B", 2], ["C", 3]], change=hide)
    outcome = read(path, narrow("integer", hidden=hidden))
    if hidden == "refuse":
        assert "hidden rows with data (row 3)" in outcome.error
        return
    assert outcome.numbered == [
        (n, [k, v]) for n, k, v in ((2, "A", "1"), (3, "B", "2"), (4, "C", "3")) if hidden == "read" or n != 3
    ]
    assert outcome.report.sheets[0].hidden == 1


@pytest.mark.case("C088")
def test_filtered_rows_are_hidden_rows(tmp_path: Path, read: Read) -> None:
    """What a filter hides is hidden."""

    def filtered(_: Any, sheet: Any) -> None:
        sheet.autofilter("A1:B4")
        sheet.filter_column("A", "x == A")
        sheet.set_row(2, options={"hidden": True})

    rows = [["Reference", "Value"], ["A", 1], ["B", 2], ["A2", 3]]
    assert "row 3" in read(by_xlsxwriter(tmp_path / "x.xlsx", rows, change=filtered), narrow("integer")).error


@pytest.mark.case("C088")
def test_hidden_columns_and_sheets(tmp_path: Path, read: Read) -> None:
    """A hidden column that is declared, or a hidden sheet that is meant, refuses the file; read where that is declared."""

    def hide_column(sheet: Any) -> None:
        sheet.column_dimensions["B"].hidden = True

    def hide_sheet(sheet: Any) -> None:
        sheet.parent.create_sheet("Shown")
        sheet.sheet_state = "hidden"

    rows = [["Reference", "Value"], ["A", 1]]
    for change, why in ((hide_column, "hidden columns (value)"), (hide_sheet, "hidden the sheet")):
        path = by_openpyxl(tmp_path / "x.xlsx", rows, change=change)
        assert why in read(path, narrow("integer")).error
        assert read(path, narrow("integer", hidden="read")).rows == [["A", "1"]]


@pytest.mark.case("C088")
def test_merged_cells(tmp_path: Path, read: Read) -> None:
    """What a merged cell covers is rejected, filled down only where declared, and never filled across."""

    def merge(sheet: Any) -> None:
        sheet.merge_cells("A2:A4")
        sheet.merge_cells("A6:B6")

    rows = [["Reference", "Value"], ["A", 1], [None, 2], [None, 3], ["B", 4], ["C", None], ["D", 6]]
    path = by_openpyxl(tmp_path / "x.xlsx", rows, change=merge)
    refused = read(path, narrow("integer"))
    assert [cell for cell, _, _ in refused.rejected] == ["A3", "A4", "A6", "B6"]
    assert "A2:A4" in refused.rejected[0][2]
    filling = narrow("integer")
    filling = replace(filling, columns=(replace(filling.columns[0], merged="fill"), filling.columns[1]))
    filled = read(path, filling)
    assert filled.rows == [["A", "1"], ["A", "2"], ["A", "3"], ["B", "4"], ["D", "6"]]
    assert [cell for cell, _, _ in filled.rejected] == ["A6", "B6"]


# --- rows -------------------------------------------------------------------------------------------------------------


@pytest.mark.case("C088")
def test_formatted_empty_rows_are_no_data(tmp_path: Path, read: Read) -> None:
    """A tail of rows that are only formatted, down to the end of the sheet, costs nothing and is no data."""
    blank = '<c r="A{0}" s="0"/><c r="B{0}"/>'
    data = HEAD + _row(2, _money("1")) + "".join(f'<row r="{n}">{blank.format(n)}</row>' for n in range(3, 500))
    data += '<row r="1048576" customFormat="1" ht="12.8" hidden="false"/>'
    outcome = read(by_hand(tmp_path / "x.xlsx", data), narrow("integer"))
    assert outcome.numbered == [(2, ["K2", "1"])]


@pytest.mark.case("C088")
def test_totals_are_left_out_where_they_are_declared(tmp_path: Path, read: Read) -> None:
    """A row of totals is none of the data where a spec says how it begins; elsewhere it is rejected like any other."""
    rows = [["Reference", "Value"], ["A", 1], ["B", 2], ["TOTAL geral", "3,00"]]
    path = by_openpyxl(tmp_path / "x.xlsx", rows)
    assert read(path, narrow("integer")).rejected[0][0] == "B4"
    outcome = read(path, narrow("integer", totals={"column": "reference", "texts": ["total"]}))
    assert (outcome.rows, outcome.report.status, outcome.report.sheets[0].totals) == (
        [["A", "1"], ["B", "2"]],
        "parsed",
        1,
    )


@pytest.mark.case("C083")
def test_a_sheet_without_rows_is_a_mistake(tmp_path: Path, read: Read) -> None:
    """A header and nothing below it, nothing at all, and no header where it should be are refused."""
    assert (
        "no row below it" in read(by_openpyxl(tmp_path / "a.xlsx", [["Reference", "Value"]]), narrow("integer")).error
    )
    assert "has no row 1" in read(by_hand(tmp_path / "b.xlsx", ""), narrow("integer")).error
    low = by_openpyxl(tmp_path / "c.xlsx", [[], ["Reference", "Value"], ["A", 1]])
    assert "has nothing in row 1" in read(low, narrow("integer")).error
    assert read(low, narrow("integer", header_row=2)).numbered == [(3, ["A", "1"])]


def test_headers(tmp_path: Path, read: Read) -> None:
    """Headers are found by any of their names, in any order, without case; a missing one is named, with those that are there."""
    rows = [["x", " NOTE ", "Paid  On", "reference"], [1, "n", date(2026, 1, 2), "A"]]
    outcome = read(by_openpyxl(tmp_path / "a.xlsx", rows))
    (sheet,) = outcome.report.sheets
    assert outcome.rows == [["A", "2026-01-02", "n"]]
    assert (sheet.fields, sheet.missing) == (
        ("reference", "paid_on", "note"),
        ("amount", "rate", "at", "done", "count"),
    )
    assert sheet.unread == ("x",)
    twice = by_openpyxl(tmp_path / "b.xlsx", [["Reference", "reference"], ["A", "B"]])
    assert "two columns for reference: A1 and B1" in read(twice).error
    other = by_openpyxl(tmp_path / "c.xlsx", [["Ref", "Note"], ["A", "B"]])
    assert "no column for reference in row 1; its headers are 'note', 'Ref'" in read(other).error


def test_a_sheet_is_found_by_name_or_number(tmp_path: Path, read: Read) -> None:
    """A spec means a sheet by its name, without case, or by its number; a missing one is named with those that are there."""

    def more(sheet: Any) -> None:
        second = sheet.parent.create_sheet("Billing")
        second.append(["Reference", "Value"])
        second.append(["B", 2])

    path = by_openpyxl(tmp_path / "x.xlsx", [["Reference", "Value"], ["A", 1]], change=more)
    assert [read(path, narrow("integer", sheet=sheet)).rows for sheet in (1, "BILLING", 2)] == [
        [["A", "1"]],
        *[[["B", "2"]]] * 2,
    ]
    missing = read(path, narrow("integer", sheet="Movements")).error
    assert missing == "has no sheet Movements for payments; its sheets are Sheet, Billing"


def test_a_stray_cell_far_below_is_a_row(tmp_path: Path, read: Read) -> None:
    """A cell a million rows below the others makes no room for those between: it is one more row, judged like any other."""
    data = HEAD + _row(2, _money("1")) + _row(1_048_576, _money("7"), reference="far")
    outcome = read(by_hand(tmp_path / "x.xlsx", data), narrow("integer"))
    assert outcome.numbered == [(2, ["K2", "1"]), (1_048_576, ["far", "7"])]
    xml = io.BytesIO(f"<worksheet><sheetData>{data}</sheetData></worksheet>".encode())
    pieces = xlsx_pieces.SheetXml(xml, at_risk=False).pieces()
    assert [(piece.first_row, piece.last_row) for piece in pieces] == [(1, 2), (1_048_576, 1_048_576)]


def test_rows_need_not_say_their_numbers(tmp_path: Path, read: Read, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows and cells without an address stand where they come, in the pieces behind the first too."""
    monkeypatch.setattr(xlsx_pieces, "PIECE_BYTES", 400)
    cell = '<c t="inlineStr"><is><t>{}</t></is></c>'
    data = f"<row>{cell.format('Reference')}{cell.format('Value')}</row>"
    data += "".join(f"<row>{cell.format(f'K{n}')}<c><v>{n}</v></c></row>" for n in range(2, 60))
    outcome = read(by_hand(tmp_path / "x.xlsx", data), narrow("integer"))
    assert outcome.numbered == [(n, [f"K{n}", str(n)]) for n in range(2, 60)]


@pytest.mark.parametrize("piece_bytes", [300, 1_000, 5_000])
def test_pieces_make_no_difference(
    piece_bytes: int, tmp_path: Path, read: Read, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However small the pieces, gaps, hidden rows, errors, merges and shared texts come out as from one."""
    cells = {
        7: '<c r="B{0}" t="e"><v>#N/A</v></c>',
        11: '<c r="B{0}"><f>1</f></c>',
        20: '<c r="B{0}" t="s"><v>1</v></c>',
    }
    numbers = [*range(2, 30), 30 + GAP_ROWS_MAX * 3, 31 + GAP_ROWS_MAX * 3]
    data = HEAD + "".join(
        _row(n, cells.get(n, _money(str(n))), attributes=' hidden="1"' if n in (5, 31 + GAP_ROWS_MAX * 3) else "")
        for n in numbers
    )
    merged = '<mergeCells count="1"><mergeCell ref="B12:B14"/></mergeCells>'
    path = by_hand(tmp_path / "x.xlsx", data, after=merged, strings=["zero", "one"])
    whole = read(path, narrow("integer", hidden="read"))
    monkeypatch.setattr(xlsx_pieces, "PIECE_BYTES", piece_bytes)
    parts = read(path, narrow("integer", hidden="read"))
    assert (parts.numbered, parts.rejected) == (whole.numbered, whole.rejected)
    assert [cell for cell, _, _ in whole.rejected] == ["B7", "B11", "B13", "B14", "B20"]
    assert whole.report.sheets[0].hidden == parts.report.sheets[0].hidden == 2


def test_a_prefixed_namespace(tmp_path: Path, read: Read) -> None:
    """Some programs write every tag with a prefix."""
    data = (
        (HEAD + _row(2, _money("5")) + _row(3, '<c r="B{0}" t="e"><v>#N/A</v></c>'))
        .replace("<", "<x:")
        .replace("<x:/", "</x:")
    )
    sheet = f'<?xml version="1.0"?><x:worksheet xmlns:x="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><x:sheetData>{data}</x:sheetData></x:worksheet>'
    path = by_hand(tmp_path / "x.xlsx", "", parts={"xl/worksheets/sheet1.xml": sheet})
    outcome = read(path, narrow("integer"))
    assert (outcome.rows, [cell for cell, _, _ in outcome.rejected]) == ([["K2", "5"]], ["B3"])


# --- hostile and damaged ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (HEAD + _row(2, '<c r="XFD{0}"><v>1</v></c>'), "XFD2"),
        (HEAD + _row(2, '<c r="B1048576"><v>1</v></c>'), "cells of other rows"),
        (HEAD + _row(3, _money("1")) + _row(2, _money("1")), "out of order"),
        (HEAD + _row(2, _money("1")) + _row(2, _money("1")), "out of order"),
        (HEAD + _row(1_048_577, _money("1")), "row 1048577"),
        (HEAD + _row(2, '<c r="B{0}" t="e"><v>#N/A</v></c>') + "<!-- <row> -->", "document type, entities or comments"),
        (HEAD + _row(2, '<c r="B{0}" t="zz"><v>1</v></c>'), "damaged"),
        (HEAD + '<row r="2"><c r="A2"><v>1</v>', "damaged"),
    ],
)
def test_rows_that_no_program_writes(data: str, why: str, tmp_path: Path, read: Read) -> None:
    """A sheet whose XML is not what sheets are made of is refused with what is wrong, in bounded memory."""
    assert why in read(by_hand(tmp_path / "x.xlsx", data), narrow("integer")).error


def test_an_entity_bomb_is_refused_unread(tmp_path: Path, read: Read) -> None:
    """A document type, and so every entity, is refused in each part that is read."""
    bomb = '<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]>'
    plain = by_hand(tmp_path / "plain.xlsx", HEAD + _row(2, '<c r="B{0}" t="s"><v>0</v></c>'), strings=["5"])
    with zipfile.ZipFile(plain) as archive:
        parts = {name: archive.read(name).decode() for name in archive.namelist()}
    for part in ("xl/workbook.xml", "xl/sharedStrings.xml", "xl/worksheets/sheet1.xml", "xl/_rels/workbook.xml.rels"):
        path = packed(tmp_path / "bomb.xlsx", {**parts, part: bomb + parts[part]})
        assert "entities" in read(path, narrow("integer")).error, part


def test_a_comment_is_refused_wherever_it_stands(tmp_path: Path, read: Read, monkeypatch: pytest.MonkeyPatch) -> None:
    """What could hide rows from one of two readers is refused in each piece, and behind the rows."""
    monkeypatch.setattr(xlsx_pieces, "MIB", 300)
    monkeypatch.setattr(xlsx_pieces, "PIECE_BYTES", 600)
    rows = [_row(number, _money("1")) for number in range(2, 60)]
    for place in (0, 30, 58):
        data = HEAD + "".join([*rows[:place], "<!-- </row> -->", *rows[place:]])
        assert "comments" in read(by_hand(tmp_path / "x.xlsx", data), narrow("integer")).error
    behind = by_hand(tmp_path / "x.xlsx", HEAD + "".join(rows), after="<!-- mergeCell -->")
    assert "comments" in read(behind, narrow("integer")).error


@pytest.mark.parametrize("cut", [0.3, 0.6, 0.95])
def test_a_truncated_file_is_damaged(cut: float, tmp_path: Path, read: Read) -> None:
    """A file that broke off is refused whole: no row of it is staged."""
    path = by_xlsxwriter(tmp_path / "x.xlsx", [["Reference", "Value"], *[[f"K{n}", n] for n in range(2_000)]])
    whole = path.read_bytes()
    path.write_bytes(whole[: int(len(whole) * cut)])
    outcome = read(path, narrow("integer"))
    assert "damaged" in outcome.error
    assert list(tmp_path.glob("staged-*/*")) == []


def test_a_flipped_byte_is_damage_not_data(tmp_path: Path, read: Read) -> None:
    """A byte that changed under way in a packed sheet is found, not read."""
    path = by_xlsxwriter(tmp_path / "x.xlsx", [["Reference", "Value"], *[[f"K{n}", n * 7] for n in range(500)]])
    with zipfile.ZipFile(path) as archive:
        info = archive.getinfo("xl/worksheets/sheet1.xml")
    raw = bytearray(path.read_bytes())
    raw[info.header_offset + 60 + info.compress_size // 2] ^= 0x55
    path.write_bytes(raw)
    assert "damaged" in read(path, narrow("integer")).error


def test_columns_have_a_limit(tmp_path: Path, read: Read) -> None:
    """The last column that is read is ZZ."""
    rows = [["Reference", *[f"h{n}" for n in range(COLUMNS_MAX - 2)], "Value"], ["A", *[1] * (COLUMNS_MAX - 2), 5]]
    assert read(by_openpyxl(tmp_path / "a.xlsx", rows), narrow("integer")).rows == [["A", "5"]]
    wide = [[*row[:1], 0, *row[1:]] for row in rows]
    assert "AAA" in read(by_openpyxl(tmp_path / "b.xlsx", wide), narrow("integer")).error


@pytest.mark.parametrize("make", [by_openpyxl, by_xlsxwriter])
def test_a_bad_cell_is_reported_with_all_that_is_known(make: Callable[..., Path], tmp_path: Path, read: Read) -> None:
    """A rejected cell is told with file, sheet, cell, value and reason; its row is kept aside with every cell."""
    rows = [["Reference", "Amount", "Paid on"], ["A", "12,50", "30/11/2026"], ["B", 1.005, None], ["C", 1, None]]
    outcome = read(make(tmp_path / "bad.xlsx", rows, sheet="Novembro"), spec())
    assert outcome.report.status == "rejected"
    assert [(one.file, one.sheet, one.cell, one.value) for one in outcome.report.sheets[0].rejections] == [
        ("bad.xlsx", "Novembro", "B2", "12,50"),
        ("bad.xlsx", "Novembro", "C2", "30/11/2026"),
        ("bad.xlsx", "Novembro", "B3", "1.005"),
    ]
    assert outcome.numbered == [(4, ["C", "100", None])]
    aside = outcome.report.sheets[0].aside.read_text("utf-8").splitlines()
    assert [line.split(',"')[0][:9] for line in aside] == ['{"row": 2', '{"row": 3']
    assert '"reference": "A"' in aside[0]
