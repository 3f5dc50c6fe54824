"""What .xls, .ods and .csv hold beside plain data, and files that aren't what their names say."""

from __future__ import annotations

import gzip
import zipfile
from pathlib import Path
from typing import Any

import pytest

from lastro.imports import formats, ods
from lastro.imports.xls import EMPTY_TEXT
from lastro.imports.xlsx_pieces import UNCALCULATED
from tests.imports.conftest import Read, narrow, spec
from tests.imports.making import Formula, by_csv, by_hand, by_odfpy, by_openpyxl, by_xlwt, packed

ROWS: list[list[Any]] = [["Reference", "Value"], ["A", 1], ["B", 2], ["C", 3]]
ODS = "urn:oasis:names:tc:opendocument:xmlns"


# --- .xls -------------------------------------------------------------------------------------------------------------


@pytest.mark.case("C088")
def test_xls_errors_and_formulas(tmp_path: Path, read: Read) -> None:
    """An error is told from an empty cell, and a formula that was never calculated is rejected."""

    def change(_: Any, sheet: Any) -> None:
        sheet.row(1).set_cell_error(1, "#DIV/0!")
        sheet.write(4, 0, "D")

    path = by_xlwt(tmp_path / "x.xls", [*ROWS[:2], ["B", Formula("1+1")], ["C", 3]], change=lambda *_: None)
    assert [(cell, reason) for cell, _, reason in read(path, narrow("integer")).rejected] == [("B3", EMPTY_TEXT)]
    path = by_xlwt(tmp_path / "y.xls", [ROWS[0], ["A", None], *ROWS[2:]], change=change)
    outcome = read(path, narrow("integer"))
    assert outcome.rejected == [("B2", "#DIV/0!", "is the error #DIV/0!")]
    assert outcome.rows == [["B", "2"], ["C", "3"], ["D", None]]


@pytest.mark.case("C088")
def test_xls_hidden_and_merged(tmp_path: Path, read: Read) -> None:
    """Hidden rows, columns and sheets, and merged cells, are seen in an .xls too."""

    def rows(_: Any, sheet: Any) -> None:
        sheet.row(2).hidden = True

    def columns(_: Any, sheet: Any) -> None:
        sheet.col(1).hidden = True

    def sheets(book: Any, sheet: Any) -> None:
        book.add_sheet("Shown")
        sheet.visibility = 1
        book.set_active_sheet(1)

    def merged(_: Any, sheet: Any) -> None:
        sheet.write_merge(4, 5, 0, 0, "D")
        sheet.write(5, 1, 5)

    for change, why in ((rows, "row 3"), (columns, "hidden columns (value)"), (sheets, "hidden the sheet")):
        assert why in read(by_xlwt(tmp_path / "x.xls", ROWS, change=change), narrow("integer")).error
    outcome = read(by_xlwt(tmp_path / "x.xls", ROWS, change=merged), narrow("integer"))
    assert [cell for cell, _, _ in outcome.rejected] == ["A6"]


def test_xls_dates_count_by_the_books_system(tmp_path: Path, read: Read) -> None:
    """A book of the 1904 system is read by it, and refused where the spec insists on the other."""

    def mac(book: Any, sheet: Any) -> None:
        book.dates_1904 = True
        import xlwt

        sheet.write(1, 1, 43538, xlwt.easyxf(num_format_str="YYYY-MM-DD"))

    path = by_xlwt(tmp_path / "x.xls", [["Reference", "Value"], ["A", None]], change=mac)
    assert read(path, narrow("date")).rows == [["A", "2023-03-15"]]
    assert "system of 1904" in read(path, narrow("date", date_system=1900)).error


@pytest.mark.parametrize("cut", [100, 3_000, 5_000])
def test_a_damaged_xls(cut: int, tmp_path: Path, read: Read) -> None:
    """A damaged .xls is refused, however its reader fails."""
    path = by_xlwt(tmp_path / "x.xls", ROWS)
    whole = path.read_bytes()
    path.write_bytes(whole[:cut])
    assert read(path, narrow("integer")).error
    path.write_bytes(whole[:600] + b"\xff" * 400 + whole[1_000:])
    assert read(path, narrow("integer")).error


# --- .ods -------------------------------------------------------------------------------------------------------------


def _content(rows: str, *, columns: str = "") -> str:
    spaces = " ".join(f'xmlns:{name}="{ODS}:{name}:1.0"' for name in ("office", "table", "text", "style"))
    extended = 'xmlns:calcext="urn:org:documentfoundation:names:experimental:calc:xmlns:calcext:1.0"'
    return (
        f"<office:document-content {spaces} {extended}><office:body><office:spreadsheet>"
        f'<table:table table:name="Sheet">{columns}{rows}</table:table>'
        "</office:spreadsheet></office:body></office:document-content>"
    )


def _ods(path: Path, content: str) -> Path:
    return packed(path, {"mimetype": formats.ODS_MIMETYPE, "content.xml": content})


def _text(text: str, attributes: str = "") -> str:
    return f'<table:table-cell office:value-type="string"{attributes}><text:p>{text}</text:p></table:table-cell>'


def _number(number: str, attributes: str = "") -> str:
    return f'<table:table-cell office:value-type="float" office:value="{number}"{attributes}/>'


def _line(*cells: str, attributes: str = "") -> str:
    return f"<table:table-row{attributes}>{''.join(cells)}</table:table-row>"


ODS_HEAD = _line(_text("Reference"), _text("Value"))


@pytest.mark.case("C088")
def test_ods_errors_and_formulas(tmp_path: Path, read: Read) -> None:
    """An error, which LibreOffice saves as an empty text, and a formula without a result are rejected by their cells."""
    error = '<table:table-cell table:formula="of:=1/0" office:value-type="string" office:string-value="" calcext:value-type="error"><text:p>#DIV/0!</text:p></table:table-cell>'
    rows = ODS_HEAD + _line(_text("A"), error) + _line(_text("B"), '<table:table-cell table:formula="of:=1+1"/>')
    outcome = read(_ods(tmp_path / "x.ods", _content(rows + _line(_text("C"), _number("3")))), narrow("integer"))
    assert outcome.rejected == [("B2", "#DIV/0!", "is the error #DIV/0!"), ("B3", "formula", UNCALCULATED)]
    assert outcome.numbered == [(4, ["C", "3"])]
    assert read(by_odfpy(tmp_path / "y.ods", [*ROWS, ["D", Formula("=1+1")]]), narrow("integer")).rejected[0][0] == "B5"


@pytest.mark.case("C088")
def test_ods_repeated_hidden_and_merged(tmp_path: Path, read: Read) -> None:
    """Rows and cells that are said once and meant several times keep their numbers; hidden and merged ones are seen."""
    rows = (
        ODS_HEAD
        + _line("<table:table-cell/>", attributes=' table:number-rows-repeated="3"')
        + _line(_text("A", ' table:number-rows-spanned="2"'), _number("1"))
        + _line("<table:covered-table-cell/>", _number("2"))
        + _line(_text("B"), _number("3"), attributes=' table:visibility="filter"')
        + _line("<table:table-cell/>", attributes=' table:number-rows-repeated="1048567"')
    )
    path = _ods(tmp_path / "x.ods", _content(rows))
    assert "row 7" in read(path, narrow("integer")).error
    outcome = read(path, narrow("integer", hidden="read"))
    assert outcome.numbered == [(5, ["A", "1"]), (7, ["B", "3"])]
    assert [cell for cell, _, _ in outcome.rejected] == ["A6"]
    columns = '<table:table-column/><table:table-column table:visibility="collapse"/>'
    hidden = _ods(tmp_path / "y.ods", _content(ODS_HEAD + _line(_text("A"), _number("1")), columns=columns))
    assert "hidden columns (value)" in read(hidden, narrow("integer")).error
    assert "hidden the sheet" in read(by_odfpy(tmp_path / "z.ods", ROWS, hidden=True), narrow("integer")).error


def test_ods_texts(tmp_path: Path, read: Read) -> None:
    """A text is its paragraphs with their blanks, without the notes that somebody stuck to the cell."""
    note = "<office:annotation><text:p>a note</text:p></office:annotation>"
    cell = f'<table:table-cell office:value-type="string">{note}<text:p>a<text:s text:c="2"/>b<text:tab/><text:span>c</text:span></text:p><text:p>d</text:p></table:table-cell>'
    path = _ods(tmp_path / "x.ods", _content(ODS_HEAD + _line(_text("A"), cell)))
    assert read(path, narrow("text")).rows == [["A", "a  b\tc\nd"]]


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (
            _content(ODS_HEAD + _line(_text("A"), _number("1"), attributes=' table:number-rows-repeated="99999999"')),
            "more than",
        ),
        (_content(ODS_HEAD + _line(_text("A"), _number("1", ' table:number-columns-repeated="99999"'))), "702 columns"),
        ('<!DOCTYPE a [<!ENTITY b "c">]>' + _content(ODS_HEAD), "document type"),
        (_content(ODS_HEAD)[:-30], "damaged"),
        (_content(ODS_HEAD + _line(_text("A"), _number("one"))), "damaged"),
    ],
)
def test_a_hostile_ods(content: str, why: str, tmp_path: Path, read: Read) -> None:
    """Repeats beyond a sheet, entities and damage are refused."""
    assert why in read(_ods(tmp_path / "x.ods", content), narrow("integer")).error


def test_ods_rows_come_in_batches(tmp_path: Path, read: Read, monkeypatch: pytest.MonkeyPatch) -> None:
    """A row that is repeated over several batches is there each time."""
    monkeypatch.setattr(ods, "BATCH_ROWS", 7)
    rows = ODS_HEAD + _line(_text("A"), _number("1"), attributes=' table:number-rows-repeated="40"')
    assert [number for number, _ in read(_ods(tmp_path / "x.ods", _content(rows)), narrow("integer")).numbered] == [
        *range(2, 42)
    ]


# --- .csv -------------------------------------------------------------------------------------------------------------

CSV_ROWS = [["Reference", "Value", "Memo"], ["A", "açaí €", ""], ["B", "x", "y"]]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_encodings_and_delimiters_are_found(encoding: str, delimiter: str, tmp_path: Path, read: Read) -> None:
    """Byte order marks, UTF-8 and cp1252, and each delimiter, are found by the stated rule, and the report says which."""
    path = by_csv(tmp_path / "x.csv", CSV_ROWS, encoding=encoding, delimiter=delimiter)
    outcome = read(path, narrow("text"))
    assert outcome.rows == [["A", "açaí €"], ["B", "x"]]
    assert outcome.report.sheets[0].notes == {"encoding": encoding, "delimiter": repr(delimiter)}


def test_a_declared_encoding_is_kept_to(tmp_path: Path, read: Read) -> None:
    """What is declared is used, and a file that isn't text in it is refused."""
    path = by_csv(tmp_path / "x.csv", CSV_ROWS[:2], encoding="utf-16-le")
    assert "NUL bytes" in read(path, narrow("text")).error
    assert read(path, narrow("text", encoding="utf-16-le")).rows == [["A", "açaí €"]]
    old = by_csv(tmp_path / "y.csv", [["Reference", "Value"], ["A", "é"]], encoding="cp850")
    assert read(old, narrow("text", encoding="cp850")).rows == [["A", "é"]]
    assert "isn't text in utf-8" in read(old, narrow("text", encoding="utf-8")).error
    for encoding in ("utf-8", "utf-16-le", "utf-16"):
        marked = tmp_path / "z.csv"
        marked.write_bytes("\ufeffReference,Value\nA,é\n".encode("utf-16-le" if "16" in encoding else "utf-8"))
        assert read(marked, narrow("text", encoding=encoding)).rows == [["A", "é"]]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("Reference,Value\nA,1\nB,2,3\nC,3\n", "row 3"),
        ("Reference,Value\nA\nB,2\nC,3\n", "row 2"),
    ],
)
def test_a_ragged_row_is_rejected(text: str, why: str, tmp_path: Path, read: Read) -> None:
    """A row with more or fewer cells than the header may have its values in wrong columns; it is rejected, others aren't."""
    path = tmp_path / "x.csv"
    path.write_text(text)
    outcome = read(path, narrow("integer"))
    assert [cell for cell, _, _ in outcome.rejected] == [why]
    assert len(outcome.rows) == text.count("\n") - 2


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('Reference,Value\nA,"1\nB,2\n', "isn't csv below row 1"),
        ('Reference,Value\nA,"1"2\n', "isn't csv below row 1"),
        (f"Reference,Value\nA,{'x' * 40_000}\n", "isn't csv below row 1"),
        ("Ref;Value\nA;1\n", "whichever delimiter"),
        ("Reference\nA\n", "several delimiters"),
        ("\nReference,Value\nA,1\n", "whichever delimiter"),
    ],
)
def test_csv_that_can_be_read_in_two_ways_is_refused(text: str, why: str, tmp_path: Path, read: Read) -> None:
    """Open quotes, text behind a quote, endless cells and unclear delimiters refuse the file."""
    path = tmp_path / "x.csv"
    path.write_text(text)
    assert why in read(path, narrow("text")).error


def test_quoted_lines_and_blank_lines(tmp_path: Path, read: Read) -> None:
    """A cell may hold lines and delimiters; blank lines are no rows, and rows count as records."""
    path = tmp_path / "x.csv"
    path.write_bytes(b'Reference,Value\r\nA,"one\r\ntwo, three"\r\n\r\nB,\r\n,\r\n')
    outcome = read(path, narrow("text"))
    assert outcome.numbered == [(2, ["A", "one\r\ntwo, three"]), (4, ["B", None])]
    assert outcome.report.sheets[0].blank == 1


# --- what files say they are ------------------------------------------------------------------------------------------


@pytest.mark.case("C089")
@pytest.mark.parametrize(
    ("name", "content", "why"),
    [
        ("x.xlsx", b"", "is empty"),
        ("x.xlsx", b"Reference,Value\nA,1\n", "is an .csv"),
        ("x.csv", b"%PDF-1.7", "is a PDF"),
        ("x.xls", b"<html><table><tr><td>1</td></tr></table></html>", "is a web page"),
        ("x.xls", b'<?xml version="1.0"?><Workbook/>', "is XML"),
        ("x.csv", gzip.compress(b"Reference"), "packed by gzip"),
        ("x.csv", b"Reference\0Va\0lue\n", "is no text"),
        ("x.xlsx", b"PK\x03\x04 and then nothing", "is damaged"),
        ("x.xls", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 600, "a document of another program"),
        ("x.xlsx", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + "EncryptedPackage".encode("utf-16-le"), "is encrypted"),
        ("x.xlsm", b"PK\x03\x04", "isn't called"),
        ("x", b"Reference", "isn't called"),
    ],
)
def test_a_file_that_is_not_what_its_name_says(name: str, content: bytes, why: str, tmp_path: Path, read: Read) -> None:
    """A file's first bytes decide what it is, and a name that says otherwise is refused."""
    path = tmp_path / "file"
    path.write_bytes(content)
    assert why in read(path, spec(), name=name).error


@pytest.mark.case("C089")
def test_spreadsheets_under_each_others_names(tmp_path: Path, read: Read) -> None:
    """An .xls called .xlsx, an .ods called .xlsx, a zip called .xlsx and an .xlsm are told apart."""
    assert "is called .xlsx, and is an .xls" in read(by_xlwt(tmp_path / "a.xls", ROWS), name="a.xlsx").error
    assert "is called .xlsx, and is an .ods" in read(by_odfpy(tmp_path / "b.ods", ROWS), name="b.xlsx").error
    assert "is called .xls, and is an .xlsx" in read(by_openpyxl(tmp_path / "c.xlsx", ROWS), name="c.xls").error
    assert "is a zip archive" in read(packed(tmp_path / "d.zip", {"a": "b"}), name="d.xlsx").error
    plain = by_hand(tmp_path / "e.xlsx", "")
    with zipfile.ZipFile(plain) as archive:
        parts = {name: archive.read(name).decode() for name in archive.namelist()}
    types = parts["[Content_Types].xml"]
    macros = types.replace(
        "vnd.openxmlformats-officedocument.spreadsheetml.sheet.main", "vnd.ms-excel.sheet.macroEnabled.main"
    )
    assert "an .xlsm" in read(packed(tmp_path / "f.xlsx", {**parts, "[Content_Types].xml": macros})).error
    binary = types.replace(
        "vnd.openxmlformats-officedocument.spreadsheetml.sheet.main", "vnd.ms-excel.sheet.binary.macroEnabled.main"
    )
    assert "an .xlsb" in read(packed(tmp_path / "g.xlsx", {**parts, "[Content_Types].xml": binary})).error


# --- periods and several sheets ---------------------------------------------------------------------------------------


@pytest.mark.case("C083")
def test_a_row_outside_the_period_is_rejected(tmp_path: Path, read: Read) -> None:
    """With a period declared, a row of another month is rejected: its file can't be of that period."""
    path = by_csv(tmp_path / "x.csv", [["Reference", "Value"], ["A", "2026-11-30"], ["B", "2026-12-01"]])
    dated = narrow("date", required=True, period="value")
    outcome = read(path, dated, period="2026-11")
    assert (outcome.rows, outcome.rejected) == (
        [["A", "2026-11-30"]],
        [("B3", "2026-12-01", "lies outside the period 2026-11")],
    )
    moments = by_csv(tmp_path / "y.csv", [["Reference", "Value"], ["A", "2026-11-30 23:30"], ["B", "2026-12-01 00:30"]])
    timed = narrow("datetime", required=True, period="value", zone="America/Sao_Paulo")
    assert read(moments, timed, period="2026-11").rows == [["A", "2026-12-01 02:30:00+00:00"]]
    assert len(read(moments, timed).rows) == 2
