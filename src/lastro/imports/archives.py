"""
A zip taken apart: each member that may be read copied out under a name of ours, each other one refused with its reason.

Nothing that an archive says of itself is believed: sizes are counted while they come, and names are for messages only.
"""

from __future__ import annotations

import stat
import zipfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from lastro.errors import InvalidInput
from lastro.imports.cells import FileRefused
from lastro.imports.formats import is_archive, said_format
from lastro.imports.limits import (
    ARCHIVE_BYTES_MAX,
    MEMBER_BYTES_MAX,
    MEMBERS_MAX,
    MIB,
)
from lastro.imports.member_names import CODE_PAGE, compared, left_over, name_of, refuse_unsafe
from lastro.imports.unpacking import DAMAGE, Unpacked

_ENCRYPTED_FLAG: Final = 0x1
_NESTED: Final = ("zip", "7z", "rar", "gz", "tgz", "tar", "bz2", "xz", "jar")
BLOCK_BYTES: Final = 256 * 1024


class Source(NamedTuple):
    """
    A file to read: the name it was sent under, and where it lies; or no path, and why it isn't read.
    """

    name: str
    path: Path | None = None
    refused: str | None = None


class Taken(NamedTuple):
    """
    What was sent: the files in their order, and the names of what was passed over because nobody means it.
    """

    sources: list[Source]
    passed_over: list[str]


def take(path: Path, folder: Path, *, code_page: str = CODE_PAGE) -> Taken:
    """
    Return the files of *path*: a zip's members, copied into *folder*, or the one file that it is.

    Names without a flag are read as UTF-8 where they are that, and else by *code_page*. Raises `InvalidInput` for an
    archive that can't be taken apart at all: damaged, without a file, or with too many.
    """
    if said_format(path.name) is not None:
        return Taken([Source(path.name, path)], [])
    try:
        if not is_archive(path):
            return Taken([Source(path.name, path)], [])
        with zipfile.ZipFile(path) as archive:
            return _taken(archive, folder, code_page)
    except FileRefused as why:
        raise InvalidInput(f"{path.name} {why}", argument="file") from None
    except DAMAGE as error:
        raise InvalidInput(f"{path.name} is a damaged zip: {error}", argument="file") from None


def _taken(archive: zipfile.ZipFile, folder: Path, code_page: str) -> Taken:
    infos = [info for info in archive.infolist() if not info.is_dir()]
    if not infos:
        raise FileRefused("is a zip without a file in it")
    if len(infos) > MEMBERS_MAX:
        raise FileRefused(f"holds {len(infos)} files; at most {MEMBERS_MAX} are taken from one archive")
    sources: list[Source] = []
    passed_over: list[str] = []
    named = list(_named(infos, code_page))
    times = Counter(compared(name) for _, name, refused in named if refused is None)
    room = ARCHIVE_BYTES_MAX
    for number, (info, name, refused) in enumerate(named, start=1):
        if refused is None and left_over(name):
            passed_over.append(name)
            continue
        try:
            if refused is not None:
                raise FileRefused(refused)
            _refuse_kind(info, name)
            if times[compared(name)] > 1:
                raise FileRefused("is there under this name more than once (case and accents apart)")
            target = folder / f"{number:04}.{said_format(name)}"
            room -= _copied(archive, info, target, room)
            sources.append(Source(name, target))
        except FileRefused as why:
            sources.append(Source(name, None, str(why)))
    return Taken(sources, passed_over)


def _named(infos: list[zipfile.ZipInfo], code_page: str) -> Iterator[tuple[zipfile.ZipInfo, str, str | None]]:
    for info in infos:
        try:
            name = name_of(info, code_page)
        except FileRefused as why:
            yield info, ascii(info.orig_filename)[1:-1], str(why)
            continue
        try:
            refuse_unsafe(name)
        except FileRefused as why:
            yield info, name, str(why)
        else:
            yield info, name, None


def _refuse_kind(info: zipfile.ZipInfo, name: str) -> None:
    """Refuse what isn't a plain, open spreadsheet file, by what the directory says."""
    mode = info.external_attr >> 16
    if mode and not stat.S_ISREG(mode) and stat.S_IFMT(mode):
        raise FileRefused("is a link" if stat.S_ISLNK(mode) else "is no plain file")
    if info.flag_bits & _ENCRYPTED_FLAG:
        raise FileRefused("is encrypted")
    if name.rsplit(".", 1)[-1].casefold() in _NESTED:
        raise FileRefused("is an archive within the archive: send its files themselves")
    if said_format(name) is None:
        raise FileRefused("isn't called .xlsx, .xls, .ods or .csv, and nothing else is read")


def _copied(archive: zipfile.ZipFile, info: zipfile.ZipInfo, target: Path, room: int) -> int:
    """Copy a member out, counting; return its bytes."""
    most = min(MEMBER_BYTES_MAX, room)
    what = "it" if most == MEMBER_BYTES_MAX else f"it and those before it (of {ARCHIVE_BYTES_MAX // MIB} MiB in all)"
    try:
        with archive.open(info) as packed, target.open("xb") as copy:
            source = Unpacked(packed, packed_bytes=info.compress_size, bytes_max=most, what=what)
            while block := source.read(BLOCK_BYTES):
                copy.write(block)
    except DAMAGE as error:
        target.unlink(missing_ok=True)
        raise FileRefused(f"is damaged: {error}") from None
    except FileRefused:
        target.unlink(missing_ok=True)
        raise
    return source.bytes_read
