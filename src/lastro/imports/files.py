"""
One file through the specs that mean it: opened by its format, each sheet read, and what came of it told.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from lastro.imports.cells import FileRefused, shown
from lastro.imports.formats import Format, format_of
from lastro.imports.reading import Place, read_sheet
from lastro.imports.reports import FileReport, SheetReport, failed
from lastro.imports.sheets import Book
from lastro.imports.specs import SheetSpec

# Which package reads a format, where it isn't the standard library.
NEEDED: Final[dict[Format, str]] = {"xlsx": "python_calamine", "xls": "xlrd"}
SHEETS_NAMED_MAX: Final = 10


def read_file(
    name: str,
    path: Path,
    specs: Sequence[SheetSpec],
    *,
    folder: Path,
    period: str | None = None,
    on_rows: Callable[[int, float], None] = lambda rows, share: None,
) -> FileReport:
    """
    Read the file at *path*, sent under *name*, and stage its rows in *folder*, which is this file's own.

    Nothing is raised for what is wrong with the file: the report says it. A file that can't be read leaves no rows.
    """
    sheets: list[SheetReport] = []
    try:
        book = _opened(name, path, folder)
        try:
            for spec, index in _meant(name, book, specs):
                place = Place(
                    file=name,
                    sheet=book.sheets[index].name,
                    staged=folder / f"{spec.name}.copy",
                    aside=folder / f"{spec.name}.rejected.jsonl",
                )
                sheets.append(_read(book, index, spec, place, period=period, on_rows=on_rows))
        finally:
            book.close()
    except FileRefused as why:
        for spec in specs:
            for ending in ("copy", "rejected.jsonl"):
                (folder / f"{spec.name}.{ending}").unlink(missing_ok=True)
        return failed(name, str(why))
    rejected = any(sheet.rejected for sheet in sheets)
    return FileReport(file=name, status="rejected" if rejected else "parsed", sheets=tuple(sheets))


def _opened(name: str, path: Path, folder: Path) -> Book:
    found = format_of(path, name)
    # Each reader is imported with its format: two of them are extras.
    if found == "xlsx":
        from lastro.imports.xlsx import XlsxBook

        return XlsxBook(path, folder)
    if found == "xls":
        from lastro.imports.xls import XlsBook

        return XlsBook(path)
    if found == "ods":
        from lastro.imports.ods import OdsBook

        return OdsBook(path)
    from lastro.imports.csv_text import CsvBook

    return CsvBook(path, name)


def _meant(name: str, book: Book, specs: Sequence[SheetSpec]) -> list[tuple[SheetSpec, int]]:
    """The specs that mean this file, each with the sheet that it means."""
    if name.casefold().endswith(".csv"):
        fitting = [spec for spec in specs if spec.fits(name.rsplit("/", 1)[-1])] if len(specs) > 1 else list(specs)
        if len(fitting) != 1:
            which = "no spec" if not fitting else f"several specs ({', '.join(spec.name for spec in fitting)})"
            raise FileRefused(f"is meant by {which}: a csv file's name says of which sheet it is (`files`)")
        return [(fitting[0], 0)]
    meant = [(spec, _index(book, spec)) for spec in specs]
    twice = {index for _, index in meant if sum(index == other for _, other in meant) > 1}
    if twice:
        raise FileRefused(f"has one sheet for several specs: {shown(book.sheets[twice.pop()].name)}")
    return meant


def _index(book: Book, spec: SheetSpec) -> int:
    if isinstance(spec.sheet, int):
        index = spec.sheet - 1 if spec.sheet <= len(book.sheets) else None
    else:
        wanted = spec.sheet.strip().casefold()
        index = next((i for i, sheet in enumerate(book.sheets) if sheet.name.strip().casefold() == wanted), None)
    if index is None:
        named = ", ".join(shown(sheet.name) for sheet in book.sheets[:SHEETS_NAMED_MAX])
        raise FileRefused(f"has no sheet {shown(spec.sheet)} for {spec.name}; its sheets are {named or 'none'}")
    if book.sheets[index].hidden and spec.hidden != "read":
        raise FileRefused(f'has hidden the sheet {shown(spec.sheet)}: show it, or declare hidden = "read"')
    return index


def _read(
    book: Book,
    index: int,
    spec: SheetSpec,
    place: Place,
    *,
    period: str | None,
    on_rows: Callable[[int, float], None],
) -> SheetReport:
    sheet = book.opened(index, spec)
    if spec.date_system is not None and sheet.date_system != spec.date_system:
        raise FileRefused(
            f"counts its dates by the system of {sheet.date_system}, and {spec.name} declares {spec.date_system}"
        )
    try:
        return read_sheet(sheet, spec, place, period=period, on_rows=on_rows)
    except FileRefused as why:
        raise FileRefused(f"{shown(place.sheet)} {why}" if len(book.sheets) > 1 else str(why)) from None
