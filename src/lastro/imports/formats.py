"""
Which format a file is of: its first bytes say so, and they must agree with its name.
"""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Final, Literal, TypeAlias, get_args

from lastro.imports.cells import FileRefused
from lastro.imports.limits import DIRECTORY_BYTES_MAX, PARTS_MAX
from lastro.imports.unpacking import DAMAGE

Format: TypeAlias = Literal["xlsx", "xls", "ods", "csv"]
FORMATS: Final[tuple[Format, ...]] = get_args(Format)

HEAD_BYTES: Final = 4_096
ODS_MIMETYPE: Final = b"application/vnd.oasis.opendocument.spreadsheet"

_ZIP: Final = b"PK\x03\x04"
_EMPTY_ZIP: Final = b"PK\x05\x06"
_OLE: Final = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
# The names that a compound file gives its streams, as they stand in it.
_ENCRYPTED: Final = "EncryptedPackage".encode("utf-16-le")
_WORKBOOK: Final = tuple(name.encode("utf-16-le") for name in ("Workbook", "Book"))
# What is often sent under a spreadsheet's name, or as csv, and is neither.
_OTHERS: Final = (
    (b"%PDF", "a PDF"), (b"<html", "a web page"), (b"<!doctype html", "a web page"), (b"<table", "a web page"),
    (b"<?xml", "XML"), (b"{\\rtf", "rich text"), (b"\x89png", "a picture"), (b"\xff\xd8\xff", "a picture"),
    (b"gif8", "a picture"), (b"rar!", "a RAR archive"), (b"7z\xbc\xaf", "a 7-Zip archive"), (b"\x1f\x8b", "packed by gzip"),
    (b"\x7felf", "a program"), (b"mz\x90", "a program"),
)  # fmt: skip


def format_of(path: Path, name: str) -> Format:
    """
    Return the format of the file at *path*, which was sent under *name*.

    Raises `FileRefused` for a name that isn't a spreadsheet's, an empty file, and a file that isn't what its name says.
    """
    said = said_format(name)
    if said is None:
        raise FileRefused(f"isn't called .{', .'.join(FORMATS)}, and nothing else is read")
    with path.open("rb") as file:
        head = file.read(HEAD_BYTES)
    if not head:
        raise FileRefused("is empty")
    found = _content(path, head)
    if found != said:
        raise FileRefused(f"is called .{said}, and is {_named(found)}")
    return said


def said_format(name: str) -> Format | None:
    """
    Return the format that a name says, or None.
    """
    ending = name.rsplit(".", 1)[-1].casefold() if "." in name else ""
    return next((known for known in FORMATS if known == ending), None)


def is_archive(path: Path) -> bool:
    """
    Whether the file at *path* is a zip that is no spreadsheet itself.
    """
    with path.open("rb") as file:
        head = file.read(HEAD_BYTES)
    return head.startswith((_ZIP, _EMPTY_ZIP)) and _packed(path) == "a zip archive"


def _content(path: Path, head: bytes) -> str:
    if head.startswith((_ZIP, _EMPTY_ZIP)):
        return _packed(path)
    if head.startswith(_OLE):
        return _compound(path)
    start = head.removeprefix(b"\xef\xbb\xbf").lstrip()[:32].lower()
    for mark, named in _OTHERS:
        if start.startswith(mark.lower()):
            return named
    # Text in UTF-16 has its NUL bytes on one side of each pair.
    return "csv" if b"\0" not in head[::2] or b"\0" not in head[1::2] else "no text"


def _packed(path: Path) -> str:
    try:
        with zipfile.ZipFile(path) as archive:
            infos = archive.infolist()
            if len(infos) > PARTS_MAX:
                return "a zip archive"
            names = {info.filename.lstrip("/").casefold() for info in infos}
            if "mimetype" in names and archive.open(infos[0]).read(len(ODS_MIMETYPE) + 1).strip() == ODS_MIMETYPE:
                return "ods"
            if "[content_types].xml" not in names:
                return "a zip archive"
            with archive.open(
                next(info for info in infos if info.filename.casefold() == "[content_types].xml")
            ) as types:
                declared = types.read(DIRECTORY_BYTES_MAX)
    except DAMAGE as error:
        raise FileRefused(f"is damaged: {error}") from None
    if b"sheet.binary.macroEnabled" in declared:
        return "an .xlsb"
    if b"spreadsheetml.sheet.main" in declared or b"spreadsheetml.template.main" in declared:
        return "xlsx"
    if b"ms-excel.sheet.macroEnabled" in declared:
        return "an .xlsm, a workbook with macros"
    return "a document of another Office program"


def _compound(path: Path) -> str:
    whole = path.read_bytes()
    if _ENCRYPTED in whole:
        raise FileRefused("is encrypted: save it without a password")
    return "xls" if any(name in whole for name in _WORKBOOK) else "a document of another program"


def _named(found: str) -> str:
    return f"an .{found}" if found in FORMATS else found
