"""
Statements as people get them: a zip of workbooks (.ods), each with a part of the billing and of the movements.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterable, Sequence
from datetime import date
from pathlib import Path
from typing import Final
from xml.sax.saxutils import escape, quoteattr
from zlib import crc32

from lastro.imports.formats import ODS_MIMETYPE
from lastro.rehearsal.marketplace import CURRENCY
from lastro.rehearsal.statements.lines import Line, Said

WORKBOOKS: Final = 2
# A statement of fewer movements is one workbook: none may be without a line.
LINES_MIN: Final = 100
MOVEMENTS: Final = ("Movement", "Reference", "Moved on", "Amount", "Currency", "Kind")
BILLING: Final = ("Invoice", "Reference", "Billed on", "Amount", "Currency", "Description")

_MANIFEST: Final = (
    '<?xml version="1.0" encoding="UTF-8"?>\n'
    '<manifest:manifest xmlns:manifest="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0" manifest:version="1.2">'
    f'<manifest:file-entry manifest:full-path="/" manifest:media-type="{ODS_MIMETYPE.decode()}"/>'
    '<manifest:file-entry manifest:full-path="content.xml" manifest:media-type="text/xml"/></manifest:manifest>'
)
_BEGINNING: Final = (
    '<?xml version="1.0" encoding="UTF-8"?>\n'
    '<office:document-content xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0" '
    'xmlns:table="urn:oasis:names:tc:opendocument:xmlns:table:1.0" '
    'xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0" office:version="1.2">'
    "<office:body><office:spreadsheet>"
)
_END: Final = "</office:spreadsheet></office:body></office:document-content>"


def write_zip(path: Path, said: Said) -> Path:
    """
    Write a statement as a zip of workbooks, and return its path. An order's lines are in one of them, always the same.
    """
    workbooks = WORKBOOKS if len(said.movements) >= LINES_MIN else 1

    def part(lines: Iterable[Line], number: int) -> list[Line]:
        return [line for line in lines if crc32(line.reference.encode()) % workbooks == number]

    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
        for number in range(workbooks):
            content = (
                f"{_BEGINNING}{_table('Billing', BILLING, part(said.billing, number))}"
                f"{_table('Movements', MOVEMENTS, part(said.movements, number))}{_END}"
            )
            packed.writestr(f"statement {said.period} part {number + 1}.ods", _workbook(content))
    return path


def _workbook(content: str) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as workbook:
        # First and not packed: by this the format is known.
        workbook.writestr("mimetype", ODS_MIMETYPE, zipfile.ZIP_STORED)
        workbook.writestr("META-INF/manifest.xml", _MANIFEST)
        workbook.writestr("content.xml", content)
    return file.getvalue()


def _table(name: str, header: Sequence[str], lines: Iterable[Line]) -> str:
    rows = [_row(*map(_text, header))]
    rows += [
        _row(
            _text(line.number),
            _text(line.reference),
            _date(line.on),
            _number(line.amount),
            _text(CURRENCY),
            _text(line.text),
        )
        for line in lines
    ]
    return f"<table:table table:name={quoteattr(name)}>{''.join(rows)}</table:table>"


def _row(*cells: str) -> str:
    return f"<table:table-row>{''.join(cells)}</table:table-row>"


def _text(text: str) -> str:
    return f'<table:table-cell office:value-type="string"><text:p>{escape(text)}</text:p></table:table-cell>'


def _date(day: date) -> str:
    return f'<table:table-cell office:value-type="date" office:date-value="{day.isoformat()}"/>'


def _number(cents: int) -> str:
    sign, whole = ("-", -cents) if cents < 0 else ("", cents)
    value = f"{sign}{whole // 100}.{whole % 100:02}"
    return f'<table:table-cell office:value-type="float" office:value="{value}"/>'
