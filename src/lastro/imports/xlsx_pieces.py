"""
The XML of an .xlsx sheet in pieces of some megabytes, each of whole rows, and what the reader would keep quiet about.

python-calamine gives "" for an error and for a formula without a result, says nothing of hidden rows, and makes room for
every cell between the first and the last one. So each piece is looked through before it gets there: such cells are
noted, errors are cut out, and rows that stand far apart go into pieces of their own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from lastro.imports.cells import FileRefused, Merge, Unreadable, column_of, shown
from lastro.imports.limits import (
    COLUMNS_MAX,
    GAP_ROWS_MAX,
    HEAD_BYTES_MAX,
    MERGES_MAX,
    MIB,
    PIECE_BYTES,
    PIECES_MAX,
    ROW_BYTES_MAX,
    ROWS_MAX,
    TAIL_BYTES_MAX,
)
from lastro.imports.unpacking import Source
from lastro.imports.xlsx_package import DECLARATION

UNCALCULATED: Final = "is a formula that was never calculated: open the file in its program, let it calculate, save it"
FORMULA_AT_RISK: Final = (
    "is a formula whose program left it to be calculated at the next opening, so that its value may be an old one: "
    'open the file in its program and save it, or declare uncalculated = "read"'
)

DECLARED: Final = "is refused: a sheet's XML holds a document type, entities or comments"

_NAMESPACE: Final = b"http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_DATA: Final = re.compile(rb"<((?:[A-Za-z_][\w.-]*:)?)sheetData\s*(/?)>")
_ROOT: Final = re.compile(rb"<(?:[A-Za-z_][\w.-]*:)?worksheet\b[^>]*>")
_NUMBER: Final = re.compile(rb"\br\s*=\s*[\"']([0-9]{1,7})[\"']")
_HIDDEN: Final = re.compile(rb"\bhidden\s*=\s*[\"'](?:1|true|on)[\"']")
_ADDRESS: Final = re.compile(rb"\br\s*=\s*[\"']([A-Z]{1,3})([0-9]{1,7})[\"']")
_TYPE: Final = re.compile(rb"\bt\s*=\s*[\"'](\w+)[\"']")
_VALUE: Final = re.compile(rb"<(?:[A-Za-z_][\w.-]*:)?v(?:\s[^>]*)?>([^<]*)</")
_EMPTY_VALUE: Final = re.compile(rb"<(?:[A-Za-z_][\w.-]*:)?v\s*/>")
_FORMULA: Final = re.compile(rb"<(?:[A-Za-z_][\w.-]*:)?f[\s/>]")
_ERROR: Final = re.compile(rb"\bt\s*=\s*[\"']e[\"']")
# Three letters name column 702 and those behind it; Excel's last one is XFD.
_FAR_COLUMN: Final = re.compile(rb' r="[A-Z][A-Z][A-Z]')
_MERGE: Final = re.compile(rb"mergeCell\s[^>]*?ref\s*=\s*[\"']([A-Z]{1,3})([0-9]{1,7}):([A-Z]{1,3})([0-9]{1,7})[\"']")
_COLUMN: Final = re.compile(rb"<(?:[A-Za-z_][\w.-]*:)?col\s[^>]*>")
_FROM: Final = re.compile(rb"\bmin\s*=\s*[\"']([0-9]{1,5})[\"']")
_TO: Final = re.compile(rb"\bmax\s*=\s*[\"']([0-9]{1,5})[\"']")


class Piece(NamedTuple):
    """
    Whole rows of a sheet: a worksheet of its own as XML, from its first row to its last, and what was seen in it.
    """

    xml: list[bytes]
    first_row: int
    last_row: int
    hidden: frozenset[int]
    # By row and column: what stands there, in place of what the reader says.
    marks: dict[tuple[int, int], Unreadable]


class SheetXml:
    """
    A sheet's XML, to be split once. What stands behind the rows (`merges`) is known when all pieces have been taken.
    """

    def __init__(self, source: Source, *, at_risk: bool) -> None:
        self._source = source
        self._at_risk = at_risk
        self._row = 0
        self._pieces = 0
        self.hidden_columns: frozenset[int] = frozenset()
        self.merges: list[Merge] = []

    def pieces(self) -> Iterator[Piece]:
        """Split the rows into pieces; `FileRefused` where the XML isn't what sheets are made of."""
        rest = self._head()
        if rest is None:
            return
        row_end = b"</" + self._prefix + b"row>"
        while True:
            body, ended = self._filled(rest)
            # The rows' part closes behind its last row, so that only what follows that one has to be searched.
            last = body.rfind(row_end) + len(row_end)
            last = 0 if last < len(row_end) else last
            stop = body.find(b"</" + self._prefix + b"sheetData>", last)
            if stop >= 0:
                yield from self._cut(body[:stop])
                self._tail(body[stop:])
                return
            if ended:
                raise FileRefused("is damaged: a sheet's XML breaks off")
            if len(body) - last > ROW_BYTES_MAX:
                raise FileRefused(f"has a row of more than {ROW_BYTES_MAX // MIB} MiB")
            if last:
                yield from self._cut(body[:last])
            rest = body[last:]

    def _filled(self, rest: bytes) -> tuple[bytes, bool]:
        """Read on until there is enough for a piece, or no more: what there is then, and whether it is the end."""
        blocks, length = [rest], len(rest)
        while True:
            block = self._read()
            blocks.append(block)
            length += len(block)
            if not block or length >= PIECE_BYTES:
                return b"".join(blocks), not block

    def _head(self) -> bytes | None:
        """Read up to the first row; None for a sheet without any. What follows is returned."""
        head = b""
        while (data := _DATA.search(head)) is None:
            block = self._read()
            head += block
            if not block or len(head) > HEAD_BYTES_MAX:
                raise FileRefused("is damaged: a sheet has no rows' part in its XML")
        if DECLARATION in head:
            raise FileRefused(DECLARED)
        root = _ROOT.search(head)
        if root is None or b"\0" in head[: data.end()]:
            raise FileRefused("has a sheet that isn't XML in UTF-8")
        self._prefix = data[1]
        self._opening = root[0] + b"<" + self._prefix + b"sheetData>"
        self._closing = b"</" + self._prefix + b"sheetData></" + self._prefix + b"worksheet>"
        self._rows = re.compile(rb"<" + re.escape(self._prefix) + rb"row(?=[\s/>])([^>]*)>")
        self.hidden_columns = frozenset(_hidden_columns(head[: data.start()]))
        if data[2]:
            self._tail(head[data.end() :])
            return None
        return head[data.end() :]

    def _cut(self, body: bytes) -> Iterator[Piece]:
        """The pieces of some whole rows: one, or more where rows stand far apart."""
        if _holds(body, DECLARATION, b"!"):
            raise FileRefused(DECLARED)
        first, last = self._rows.search(body), self._last_row(body)
        if first is None or last is None:
            return
        start, stop = _NUMBER.search(first[1]), _NUMBER.search(last[1])
        hidden = b"h" in body and _HIDDEN.search(body)
        if start and stop and not hidden and self._row < int(start[1]):
            rows = int(stop[1]) - int(start[1]) + 1
            # One byte is counted much quicker than four; where no text holds it, that settles the matter.
            if body.count(b"w") == 2 * rows or body.count(b"<" + self._prefix + b"row") == rows:
                self._row = int(stop[1])
                yield self._piece(body, int(start[1]), int(stop[1]), frozenset())
                return
        yield from self._cut_slowly(body)

    def _cut_slowly(self, body: bytes) -> Iterator[Piece]:
        """Row by row: numbers that aren't said, gaps, hidden rows, rows without a cell."""
        parts: list[bytes] = []
        hidden: set[int] = set()
        start = 0
        row_end = b"</" + self._prefix + b"row>"
        for found in self._rows.finditer(body):
            said = _NUMBER.search(found[1])
            number = int(said[1]) if said else self._row + 1
            if not self._row < number:
                raise FileRefused(f"has rows out of order: row {number} stands behind row {self._row}")
            stop = found.end() if found[0].endswith(b"/>") else body.find(row_end, found.end()) + len(row_end)
            before, self._row = self._row, number
            if found[0].endswith(b"/>") or body.startswith(row_end, found.end()):
                continue
            if parts and number - before > GAP_ROWS_MAX:
                yield self._piece(b"".join(parts), start, before, frozenset(hidden))
                parts, hidden = [], set()
            start = start if parts else number
            if _HIDDEN.search(found[1]):
                hidden.add(number)
            # A row that doesn't say its number would be counted from the piece's beginning.
            opened = (
                found[0]
                if said
                else found[0][: found.start(1) - found.start()]
                + b' r="%d"' % number
                + found[0][found.start(1) - found.start() :]
            )
            parts += [opened, body[found.end() : stop]]
        if parts:
            yield self._piece(b"".join(parts), start, self._row, frozenset(hidden))

    def _last_row(self, body: bytes) -> re.Match[bytes] | None:
        return self._rows.match(body, body.rfind(b"<" + self._prefix + b"row"))

    def _piece(self, body: bytes, start: int, stop: int, hidden: frozenset[int]) -> Piece:
        self._pieces += 1
        if stop > ROWS_MAX or self._pieces > PIECES_MAX:
            raise FileRefused(f"has more rows, or rows further apart, than are read: row {stop}")
        # In a large piece the search would cost more than it saves: its cells are many anyway, and a parser's memory
        # has its limit.
        far = _FAR_COLUMN.search(body) if len(body) < MIB else None
        if far:
            place = _ADDRESS.search(body, far.start())
            named = place[0].decode() if place else far[0].decode()
            raise FileRefused(f"has the cell {named.strip()} beyond the {COLUMNS_MAX} columns that are read")
        marks: dict[tuple[int, int], Unreadable] = {}
        kept = [body]
        errors = b"#" in body and (b'"e"' in body or b"'e'" in body)
        if errors or _holds(body, b"<" + self._prefix + b"f", b"f"):
            kept = list(self._marked(body, marks))
        return Piece([self._opening, *kept, self._closing], start, stop, hidden, marks)

    def _marked(self, body: bytes, marks: dict[tuple[int, int], Unreadable]) -> Iterator[bytes]:
        """Note errors and formulas without a result, and leave the errors out: an unknown one ends the whole sheet."""
        opening, closing = b"<" + self._prefix + b"c ", b"</" + self._prefix + b"c>"
        suspects = re.compile(rb"\bt\s*=\s*[\"']e[\"']|<" + re.escape(self._prefix) + rb"f[\s/>]")
        done = 0
        for suspect in suspects.finditer(body):
            start = body.rfind(opening, done, suspect.start())
            stop = body.find(closing, suspect.start()) + len(closing)
            if start < 0 or stop < len(closing):
                continue
            cell = body[start:stop]
            mark = self._mark(cell)
            if mark is None:
                continue
            place = _ADDRESS.search(cell)
            if place is None:
                raise FileRefused(f"has a cell that doesn't say where it is, and that {mark.reason}")
            marks[int(place[2]), column_of(place[1].decode())] = mark
            yield body[done:start]
            done = stop
        yield body[done:]

    def _mark(self, cell: bytes) -> Unreadable | None:
        tag = cell[: cell.find(b">") + 1]
        value = _VALUE.search(cell)
        text = value[1].decode("utf-8", "replace") if value else ""
        if _ERROR.search(tag):
            return Unreadable(shown(text) or "error", f"is the error {shown(text)}")
        if not _FORMULA.search(cell):
            return None
        kind = _TYPE.search(tag)
        of_text = kind is not None and kind[1] in (b"str", b"inlineStr")
        if not text and not (of_text and (value or _EMPTY_VALUE.search(cell))):
            return Unreadable("formula", UNCALCULATED)
        return Unreadable(shown(text), FORMULA_AT_RISK) if self._at_risk else None

    def _tail(self, tail: bytes) -> None:
        """Read what stands behind the rows: the merged cells."""
        parts = [tail]
        length = len(tail)
        while block := self._read():
            parts.append(block)
            length += len(block)
            if length > TAIL_BYTES_MAX:
                raise FileRefused(f"has more than {TAIL_BYTES_MAX // MIB} MiB of XML behind its rows")
        whole = b"".join(parts)
        if DECLARATION in whole:
            raise FileRefused(DECLARED)
        for found in _MERGE.finditer(whole):
            top, left = int(found[2]), column_of(found[1].decode())
            self.merges.append(Merge(top, left, int(found[4]), column_of(found[3].decode())))
            if len(self.merges) > MERGES_MAX:
                raise FileRefused(f"has more than {MERGES_MAX} merged cells")

    def _read(self) -> bytes:
        return self._source.read(MIB)


def workbook_of_pieces(numbers: range, *, date_system: int, strings: bool) -> dict[str, bytes]:
    """
    Return the parts, but for sheets, strings and styles, of a workbook whose sheets are the pieces of these numbers.
    """
    office = b"http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    package = b"http://schemas.openxmlformats.org/package/2006"
    listed = b"".join(b'<sheet name="%d" sheetId="%d" r:id="r%d"/>' % (n + 1, n + 1, n + 1) for n in numbers)
    related = [
        b'<Relationship Id="r%d" Type="%s/worksheet" Target="worksheets/sheet%d.xml"/>' % (n + 1, office, n + 1)
        for n in numbers
    ]
    related.append(b'<Relationship Id="styles" Type="%s/styles" Target="styles.xml"/>' % office)
    if strings:
        related.append(b'<Relationship Id="strings" Type="%s/sharedStrings" Target="sharedStrings.xml"/>' % office)
    return {
        "[Content_Types].xml": b'<Types xmlns="%s/content-types"/>' % package,
        "_rels/.rels": b'<Relationships xmlns="%s/relationships"><Relationship Id="r1" '
        b'Type="%s/officeDocument" Target="xl/workbook.xml"/></Relationships>' % (package, office),
        "xl/workbook.xml": b'<workbook xmlns="%s" xmlns:r="%s"><workbookPr date1904="%d"/><sheets>%s</sheets>'
        b"</workbook>" % (_NAMESPACE, office, date_system == 1904, listed),
        "xl/_rels/workbook.xml.rels": b'<Relationships xmlns="%s/relationships">%s</Relationships>'
        % (package, b"".join(related)),
    }


def _holds(body: bytes, needle: bytes, rare: bytes) -> bool:
    """Whether *body* holds *needle*; a single byte of it that few sheets have at all is looked for first, and quicker."""
    return rare in body and needle in body


def _hidden_columns(head: bytes) -> Iterator[int]:
    for found in _COLUMN.finditer(head):
        first, last = _FROM.search(found[0]), _TO.search(found[0])
        if _HIDDEN.search(found[0]) and first and last:
            yield from range(int(first[1]) - 1, min(int(last[1]), COLUMNS_MAX))
