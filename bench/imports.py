"""
Reading spreadsheets: a large .xlsx beside what its reader does bare, the memory of it, and eight files of one zip at once.
"""

from __future__ import annotations

import random
import tempfile
import time
import zipfile
from datetime import date, timedelta
from pathlib import Path
from statistics import median
from typing import Any

from bench.figures import Run, in_process
from lastro.imports import Source, parse, specs_of

COLUMNS = 30
FILES = 8
PARSERS = 4
BLOCK_ROWS = 1_000
# Each kind of column as its spec declares it, and how many there are of six.
KINDS: tuple[dict[str, Any], ...] = (
    {"type": "text", "required": True},
    {"type": "money", "currency": "BRL"},
    {"type": "decimal", "places": 2},
    {"type": "date"},
    {"type": "text"},
    {"type": "integer"},
)
CODES = ("BRL", "EUR", "USD")
_EPOCH = date(1899, 12, 30)
_FIRST_DAY = date(2026, 1, 1)
_NAMESPACE = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"


def measure(run: Run) -> None:
    """One large file beside the bare reader, then eight smaller ones."""
    with tempfile.TemporaryDirectory(prefix="lastro-bench-") as name:
        folder = Path(name)
        large = _written(folder / "large.xlsx", run.scale.sheet_rows, run.next_seed())
        _beside_the_reader(run, large, folder)
        large.unlink()
        small = [
            _written(folder / f"{number}.xlsx", run.scale.sheet_rows // PARSERS, run.next_seed())
            for number in range(FILES)
        ]
        _at_once(run, small, folder)


def _beside_the_reader(run: Run, path: Path, folder: Path) -> None:
    """The bare reader, this one, the bare reader, …: each in a process of its own, timed without its start."""
    ours: list[dict[str, Any]] = []
    bare: list[dict[str, Any]] = []
    ratios: list[float] = []
    for number in range(run.scale.rounds):
        staged = folder / f"staged-{number}"
        staged.mkdir()
        before = in_process("bench.sheet_reader", {"path": str(path), "way": "bare"})
        ours.append(
            in_process(
                "bench.sheet_reader",
                {"path": str(path), "way": "lastro", "specs": specs_document(), "folder": str(staged)},
            )
        )
        after = in_process("bench.sheet_reader", {"path": str(path), "way": "bare"})
        bare += [before, after]
        ratios.append((before["elapsed_s"] + after["elapsed_s"]) / 2 / ours[-1]["elapsed_s"])
        for file in staged.iterdir():
            file.unlink()
    run.note(
        "imports.xlsx",
        rows=ours[0]["rows"],
        columns=COLUMNS,
        ratio=median(ratios),
        elapsed_s=median(one["elapsed_s"] for one in ours),
        cpu_s=median(one["cpu_s"] for one in ours),
        peak_mib=max(one["peak_mib"] for one in ours),
        bare_s=median(one["elapsed_s"] for one in bare),
        bare_cpu_s=median(one["cpu_s"] for one in bare),
        bare_peak_mib=max(one["peak_mib"] for one in bare),
    )


def _at_once(run: Run, paths: list[Path], folder: Path) -> None:
    """Eight files by four parsers, and by one, one after another."""
    sources = [Source(path.name, path) for path in paths]
    specs = specs_of(specs_document())
    took: dict[int, list[float]] = {1: [], PARSERS: []}
    for number in range(run.scale.rounds):
        for parsers, times in took.items():
            with tempfile.TemporaryDirectory(dir=folder) as staged:
                began = time.perf_counter()
                reports = parse(sources, specs, folder=Path(staged), parsers=parsers)
                times.append(time.perf_counter() - began)
            if any(report.status != "parsed" for report in reports):
                raise RuntimeError(f"round {number}: {[report.error for report in reports]}")
    run.note(
        "imports.eight_files",
        rows_each=reports[0].rows,
        parsers=PARSERS,
        at_once_s=median(took[PARSERS]),
        one_after_another_s=median(took[1]),
        times=median(took[PARSERS]) / median(took[1]),
    )


def specs_document(name: str = "billing") -> dict[str, Any]:
    """The spec of the files that are written here."""
    columns = {f"h{column}": KINDS[column % len(KINDS)] for column in range(COLUMNS)}
    return {name: {"key": ["h0"], "columns": columns}}


def written(path: Path, rows: int, seeds: list[int]) -> Path:
    """A zip of .xlsx, one a seed, whose rows have keys of their own."""
    with tempfile.TemporaryDirectory() as folder, zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        for number, seed in enumerate(seeds):
            book = _written(Path(folder, f"{number}.xlsx"), rows, seed, prefix=f"{number}-")
            archive.write(book, book.name)
    return path


def _written(path: Path, rows: int, seed: int, *, prefix: str = "") -> Path:
    """An .xlsx as Excel writes one: shared texts, numbers, dates by their format; by hand, for no library is as quick."""
    draw = random.Random(seed)
    # The headers, then the codes, then a text for each reference.
    strings = [f"h{column}" for column in range(COLUMNS)] + list(CODES)
    letters = [_letters(column) for column in range(COLUMNS)]
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        with archive.open("xl/worksheets/sheet1.xml", "w") as sheet:
            sheet.write(f'<worksheet xmlns="{_NAMESPACE}"><sheetData>'.encode())
            header = "".join(f'<c r="{letter}1" t="s"><v>{column}</v></c>' for column, letter in enumerate(letters))
            sheet.write(f'<row r="1" spans="1:{COLUMNS}">{header}</row>'.encode())
            for start in range(2, rows + 2, BLOCK_ROWS):
                lines = []
                for row in range(start, min(start + BLOCK_ROWS, rows + 2)):
                    cells = [
                        _cell(f"{letter}{row}", column, draw, strings, prefix) for column, letter in enumerate(letters)
                    ]
                    lines.append(f'<row r="{row}" spans="1:{COLUMNS}">{"".join(cells)}</row>')
                sheet.write("".join(lines).encode())
            sheet.write(b"</sheetData></worksheet>")
        with archive.open("xl/sharedStrings.xml", "w") as shared:
            shared.write(f'<sst xmlns="{_NAMESPACE}">'.encode())
            shared.write("".join(f"<si><t>{text}</t></si>" for text in strings).encode())
            shared.write(b"</sst>")
        for name, part in _PARTS.items():
            archive.writestr(name, part)
    return path


def _cell(place: str, column: int, draw: random.Random, strings: list[str], prefix: str) -> str:
    kind = column % len(KINDS)
    if kind == 0:
        strings.append(f"Reference {prefix}{place}")
        return f'<c r="{place}" t="s"><v>{len(strings) - 1}</v></c>'
    if kind == 3:
        serial = (_FIRST_DAY - _EPOCH + timedelta(days=draw.randrange(360))).days
        return f'<c r="{place}" s="1"><v>{serial}</v></c>'
    if kind == 4:
        return f'<c r="{place}" t="s"><v>{COLUMNS + draw.randrange(len(CODES))}</v></c>'
    number = draw.randrange(10**6) if kind == 5 else draw.randrange(1, 10**7) / 100
    return f'<c r="{place}"><v>{number!r}</v></c>'


def _letters(column: int) -> str:
    first, second = divmod(column, 26)
    return (chr(64 + first) if first else "") + chr(65 + second)


_PARTS = {
    "[Content_Types].xml": f'<Types xmlns="{_PACKAGE}/content-types"><Override PartName="/xl/workbook.xml" '
    'ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml"/></Types>',
    "_rels/.rels": f'<Relationships xmlns="{_PACKAGE}/relationships"><Relationship Id="r1" '
    f'Type="{_OFFICE}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
    "xl/workbook.xml": f'<workbook xmlns="{_NAMESPACE}" xmlns:r="{_OFFICE}"><sheets><sheet name="Billing" sheetId="1" '
    'r:id="r1"/></sheets></workbook>',
    "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{_PACKAGE}/relationships">'
    + "".join(
        f'<Relationship Id="r{number}" Type="{_OFFICE}/{kind}" Target="{target}"/>'
        for number, kind, target in (
            (1, "worksheet", "worksheets/sheet1.xml"),
            (2, "sharedStrings", "sharedStrings.xml"),
            (3, "styles", "styles.xml"),
        )
    )
    + "</Relationships>",
    "xl/styles.xml": f'<styleSheet xmlns="{_NAMESPACE}"><cellXfs count="2"><xf numFmtId="0"/>'
    '<xf numFmtId="14" applyNumberFormat="1"/></cellXfs></styleSheet>',
}
