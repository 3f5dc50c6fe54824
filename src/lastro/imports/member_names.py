"""
The names of an archive's members: decoded by what is known of them, made comparable, and never used as paths.
"""

from __future__ import annotations

import re
import unicodedata
import zipfile
from typing import Final

from lastro.imports.cells import FileRefused
from lastro.imports.limits import MEMBER_NAME_BYTES_MAX, NAME_CHARACTERS_MAX

CODE_PAGE: Final = "cp437"

_UTF_8_FLAG: Final = 0x800
_UNICODE_PATH: Final = 0x7075
# A version, the checksum of the name it stands for, and the name in UTF-8.
_UNICODE_PATH_HEAD_BYTES: Final = 5
_EXTRA_HEAD_BYTES: Final = 4
# Windows drops dots and blanks at a name's end.
_EDGES: Final = re.compile(r"^\s+|[\s.]+$")
_DRIVE: Final = re.compile(r"[A-Za-z]:")
# What programs leave beside the files that people mean.
_BESIDE: Final = ("__macosx/", "thumbs.db", "desktop.ini")
_LEFT_OVER: Final = ("._", "~$", ".~lock.", ".ds_store")


def name_of(info: zipfile.ZipInfo, code_page: str) -> str:
    """
    Return a member's name: by its Unicode field or flag, or as UTF-8 where it is that, or else by *code_page*.

    Raises `FileRefused` for a name that none of them reads, or that no file may have.
    """
    # zipfile has read what had no flag as cp437, which gives every byte back.
    raw = info.orig_filename.encode("utf-8" if info.flag_bits & _UTF_8_FLAG else CODE_PAGE, "surrogatepass")
    if len(raw) > MEMBER_NAME_BYTES_MAX:
        raise FileRefused(f"has a name of more than {MEMBER_NAME_BYTES_MAX} bytes")
    name = _unicode_path(info.extra)
    if name is None:
        try:
            name = raw.decode("utf-8")
        except UnicodeDecodeError:
            try:
                name = raw.decode(code_page)
            except UnicodeDecodeError:
                raise FileRefused(f"has a name that isn't text in UTF-8 or {code_page}") from None
    return unicodedata.normalize("NFC", name)


def refuse_unsafe(name: str) -> None:
    """
    Raise `FileRefused` for a name that leads out of its folder, or that can't be shown.
    """
    parts = re.split(r"[/\\]", name)
    if name.startswith(("/", "\\")) or _DRIVE.match(name):
        raise FileRefused("has an absolute path for a name")
    if ".." in parts:
        raise FileRefused("has a name that leads out of its folder")
    if not all(character.isprintable() for character in name):
        raise FileRefused("has control characters in its name")
    if len(parts[-1]) > NAME_CHARACTERS_MAX:
        raise FileRefused(f"has a name of more than {NAME_CHARACTERS_MAX} characters")


def compared(name: str) -> str:
    """
    Return a name as names are compared: two that a file system may take for one are one.
    """
    # Folding may take a normal form apart, so that it is normalised on both sides.
    plain = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name.replace("\\", "/")).casefold())
    parts = (_EDGES.sub("", part) for part in plain.split("/"))
    return "/".join(part for part in parts if part)


def left_over(name: str) -> bool:
    """
    Whether a member is what a program left beside the files that people mean: resource forks, locks, thumbnails.
    """
    plain = name.replace("\\", "/").casefold()
    return plain.startswith(_BESIDE) or plain.rsplit("/", 1)[-1].startswith((*_LEFT_OVER, *_BESIDE))


def _unicode_path(extra: bytes) -> str | None:
    """The name that the field for it holds, where there is one."""
    while len(extra) >= _EXTRA_HEAD_BYTES:
        kind, length = int.from_bytes(extra[:2], "little"), int.from_bytes(extra[2:4], "little")
        field, extra = extra[_EXTRA_HEAD_BYTES:][:length], extra[_EXTRA_HEAD_BYTES + length :]
        if kind == _UNICODE_PATH and len(field) > _UNICODE_PATH_HEAD_BYTES:
            try:
                return field[_UNICODE_PATH_HEAD_BYTES:].decode("utf-8")
            except UnicodeDecodeError:
                return None
    return None
