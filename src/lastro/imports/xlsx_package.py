"""
The package of an .xlsx: its parts, read within limits, and what its workbook says of its sheets and its dates.
"""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from posixpath import dirname, join, normpath
from typing import Final, NamedTuple
from xml.etree.ElementTree import Element, ParseError, XMLParser, fromstring

from lastro.imports.cells import FileRefused
from lastro.imports.dates import DateSystem
from lastro.imports.limits import DIRECTORY_BYTES_MAX, PARTS_MAX, SHEETS_MAX
from lastro.imports.unpacking import DAMAGE, Unpacked

ROOT_RELATIONS: Final = "_rels/.rels"
# What an XML part of a spreadsheet never has and an entity bomb needs. Text holds "<" as "&lt;" only.
DECLARATION: Final = b"<!"
_TRUE: Final = frozenset({"1", "true", "on"})


class SheetPart(NamedTuple):
    """
    A worksheet as the workbook lists it: its name, the part that holds it, and whether it is hidden.
    """

    name: str
    part: str
    hidden: bool


class Workbook(NamedTuple):
    """
    What a workbook says: its worksheets, its date system, and whether it leaves its formulas to be calculated.
    """

    sheets: tuple[SheetPart, ...]
    date_system: DateSystem
    uncalculated: bool
    strings: str | None
    styles: str | None


class Package:
    """
    An .xlsx opened as the archive that it is. Parts are found whatever the case of their names.
    """

    def __init__(self, archive: zipfile.ZipFile) -> None:
        self._archive = archive
        infos = archive.infolist()
        if len(infos) > PARTS_MAX:
            raise FileRefused(f"holds {len(infos)} parts; at most {PARTS_MAX} are read")
        self._parts = {info.filename.lstrip("/").casefold(): info for info in infos}
        if len(self._parts) < len(infos):
            raise FileRefused("holds two parts of one name")

    @contextmanager
    def opened(self, part: str, *, bytes_max: int) -> Iterator[Unpacked]:
        """Open a part, which there must be, and which may have so many bytes."""
        info = self._parts.get(part.casefold())
        if info is None:
            raise FileRefused(f"is damaged: its part {part} is missing")
        try:
            with self._archive.open(info) as source:
                yield Unpacked(source, packed_bytes=info.compress_size, bytes_max=bytes_max, what=f"its part {part}")
        except DAMAGE as error:
            raise FileRefused(f"is damaged: {error}") from None

    def has(self, part: str) -> bool:
        """Whether there is such a part."""
        return part.casefold() in self._parts

    def size(self, part: str) -> int:
        """How long a part says it is, which nobody has to believe."""
        info = self._parts.get(part.casefold())
        return 0 if info is None else info.file_size

    def workbook(self) -> Workbook:
        """Read what the workbook says."""
        (book,) = self._related(ROOT_RELATIONS, "officeDocument") or [("", "xl/workbook.xml")]
        root = self._xml(book[1])
        relations = join(dirname(book[1]), "_rels", f"{book[1].rsplit('/', 1)[-1]}.rels")
        targets = dict(self._related(relations, "worksheet", folder=dirname(book[1])))
        parts = {
            kind: next((target for _, target in self._related(relations, kind, folder=dirname(book[1]))), None)
            for kind in ("sharedStrings", "styles")
        }
        sheets = tuple(_sheets(root, targets))
        if len(sheets) > SHEETS_MAX:
            raise FileRefused(f"has {len(sheets)} sheets; at most {SHEETS_MAX} are read")
        return Workbook(
            sheets=sheets,
            date_system=1904 if _flag(root, "workbookPr", "date1904") else 1900,
            uncalculated=_flag(root, "calcPr", "fullCalcOnLoad"),
            strings=parts["sharedStrings"],
            styles=parts["styles"],
        )

    def _xml(self, part: str) -> Element:
        """Read a small part as a tree; one with a declaration, whose entities could grow, is refused."""
        with self.opened(part, bytes_max=DIRECTORY_BYTES_MAX) as source:
            raw = source.read(DIRECTORY_BYTES_MAX + 1)
        if DECLARATION in raw:
            raise FileRefused(f"is refused: its part {part} declares a document type or entities")
        try:
            return fromstring(raw, parser=XMLParser())  # noqa: S314  (expat resolves nothing outside; no entities above)
        except ParseError as error:
            raise FileRefused(f"is damaged: its part {part} isn't XML ({error})") from None

    def _related(self, relations: str, kind: str, *, folder: str = "") -> list[tuple[str, str]]:
        """The relations of a kind: each one's id, and the part that it leads to."""
        if not self.has(relations):
            return []
        found = []
        for relation in self._xml(relations):
            target = relation.get("Target", "")
            if relation.get("Type", "").endswith(f"/{kind}") and relation.get("TargetMode") != "External":
                path = target.lstrip("/") if target.startswith("/") else normpath(join(folder, target))
                found.append((relation.get("Id", ""), path))
        return found


def _sheets(workbook: Element, targets: dict[str, str]) -> Iterator[SheetPart]:
    for element in workbook.iter():
        if _local(element) != "sheet":
            continue
        link = next((value for name, value in element.attrib.items() if name.endswith("}id")), "")
        # Charts and macros are sheets as well; only worksheets have rows.
        if link in targets:
            hidden = element.get("state", "visible") != "visible"
            yield SheetPart(element.get("name", ""), targets[link], hidden)


def _flag(workbook: Element, tag: str, attribute: str) -> bool:
    return any(element.get(attribute) in _TRUE for element in workbook.iter() if _local(element) == tag)


def _local(element: Element) -> str:
    return element.tag.rsplit("}", 1)[-1]
