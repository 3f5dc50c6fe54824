"""Archives: whatever a zip holds, each member is taken or refused with its reason, and nothing is written where it says."""

from __future__ import annotations

import contextlib
import io
import os
import random
import stat
import struct
import zipfile
import zlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lastro import InvalidInput
from lastro.imports import Taken, archives, limits, take, unpacking
from lastro.imports.cells import FileRefused
from lastro.imports.member_names import compared, refuse_unsafe
from tests.imports.making import packed

CSV = b"Reference,Value\nA,1\n"


def _take(path: Path, *, code_page: str = "cp437") -> Taken:
    folder = path.parent / "taken"
    folder.mkdir(exist_ok=True)
    for file in folder.iterdir():
        file.unlink()
    return take(path, folder, code_page=code_page)


def _why(taken: Taken) -> dict[str, str | None]:
    return {source.name: source.refused for source in taken.sources}


def _entry(name: str | bytes, *, flag: int = 0, mode: int = 0) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo("placeholder" if isinstance(name, bytes) else name)
    info.external_attr, info.flag_bits = mode << 16, flag
    return info


def _raw_names(path: Path, names: list[bytes], *, flag: int = 0) -> Path:
    """A zip whose names are these bytes: written under names of the same length, then put in their place."""
    stand_ins = [bytes([65 + number]) * len(name) for number, name in enumerate(names)]
    packed(path, {stand_in.decode(): CSV for stand_in in stand_ins})
    whole = path.read_bytes()
    for stand_in, name in zip(stand_ins, names, strict=True):
        whole = whole.replace(stand_in, name)
    path.write_bytes(whole)
    if flag:
        _set_flags(path, flag)
    return path


def _set_flags(path: Path, flag: int) -> None:
    whole = bytearray(path.read_bytes())
    for mark, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        at = whole.find(mark)
        while at >= 0:
            bits = struct.unpack_from("<H", whole, at + offset)[0] | flag
            struct.pack_into("<H", whole, at + offset, bits)
            at = whole.find(mark, at + 4)
    path.write_bytes(whole)


def test_members_are_taken_in_their_order(tmp_path: Path) -> None:
    """The spreadsheets of a zip are copied out under names of ours, in the archive's order; folders are no members."""
    path = packed(tmp_path / "x.zip", {"b.csv": CSV, "folder/": b"", "folder/a.CSV": b"x", "c.xlsx": b"PK"})
    taken = _take(path)
    assert [(source.name, source.refused) for source in taken.sources] == [
        ("b.csv", None),
        ("folder/a.CSV", None),
        ("c.xlsx", None),
    ]
    assert [source.path.name for source in taken.sources if source.path] == ["0001.csv", "0002.csv", "0003.xlsx"]
    assert taken.sources[0].path is not None
    assert taken.sources[0].path.read_bytes() == CSV


def test_a_file_alone_is_itself(tmp_path: Path) -> None:
    """What is no archive is read where it lies."""
    path = tmp_path / "x.csv"
    path.write_bytes(CSV)
    assert _take(path) == Taken([archives.Source("x.csv", path)], [])


@pytest.mark.case("C089")
def test_each_member_has_its_own_refusal(tmp_path: Path) -> None:
    """Traversal, absolute paths, links, archives in the archive and other files are refused each by itself; the rest go on."""
    path = tmp_path / "x.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for name in (
            "../up.csv",
            "a/../../up.csv",
            "..\\up.csv",
            "/etc/x.csv",
            "C:\\x.csv",
            "\\\\host\\x.csv",
            "line\nbreak.csv",
        ):
            archive.writestr(_entry(name), CSV)
        archive.writestr(_entry("link.csv", mode=stat.S_IFLNK | 0o777), "/etc/passwd")
        archive.writestr(_entry("pipe.csv", mode=stat.S_IFIFO | 0o644), b"")
        archive.writestr("inner.zip", packed(tmp_path / "inner.zip", {"a.csv": CSV}).read_bytes())
        archive.writestr("readme.txt", "hello")
        archive.writestr("no-ending", "hello")
        archive.writestr(_entry("good.csv", mode=stat.S_IFREG | 0o644), CSV)
    taken = _take(path)
    reasons = _why(taken)
    assert reasons.pop("good.csv") is None
    assert sorted(filter(None, reasons.values())) == sorted(
        ["has a name that leads out of its folder"] * 3
        + ["has an absolute path for a name"] * 3
        + ["has control characters in its name", "is a link", "is no plain file"]
        + ["is an archive within the archive: send its files themselves"]
        + ["isn't called .xlsx, .xls, .ods or .csv, and nothing else is read"] * 2
    )
    assert [file.name for file in (tmp_path / "taken").iterdir()] == [f"{len(taken.sources):04}.csv"]
    assert not (tmp_path / "up.csv").exists()


@pytest.mark.case("C089")
@pytest.mark.parametrize(
    "names",
    [
        ("a.csv", "A.CSV"),
        ("\u00e9.csv", "e\u0301.csv"),
        ("a.csv", "./a.csv"),
        ("stra\u00dfe.csv", "STRASSE.csv"),
        ("a.csv", " a.csv"),
    ],
)
def test_two_members_of_one_name_are_both_refused(names: tuple[str, str], tmp_path: Path) -> None:
    """Which of two is meant nobody can say, whether their names differ by case, by how accents are written, or not at all."""
    taken = _take(packed(tmp_path / "x.zip", {names[0]: CSV, names[1]: CSV, "other.csv": CSV}))
    refused = [source.refused for source in taken.sources if source.refused]
    assert refused == ["is there under this name more than once (case and accents apart)"] * 2


@pytest.mark.case("C089")
def test_the_same_name_twice(tmp_path: Path) -> None:
    """A name that stands in the archive twice is refused twice."""
    path = tmp_path / "x.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a.csv", CSV)
        with pytest.warns(UserWarning, match="Duplicate"):
            archive.writestr("a.csv", b"other")
    assert all("more than once" in str(source.refused) for source in _take(path).sources)


@pytest.mark.case("C089")
def test_names_in_any_encoding(tmp_path: Path) -> None:
    """The flag, then UTF-8, then the code page: names of Windows, macOS and 7-Zip are read as they were written."""
    name = "relat\u00f3rio_mar\u00e7o.csv"
    decomposed = "relato\u0301rio_marc\u0327o.csv"
    assert [source.name for source in _take(packed(tmp_path / "a.zip", {name: CSV})).sources] == [name]
    for number, raw in enumerate((name.encode("utf-8"), decomposed.encode("utf-8"))):
        path = _raw_names(tmp_path / f"b{number}.zip", [raw])
        assert [source.name for source in _take(path).sources] == [name]
    windows = _raw_names(tmp_path / "c.zip", [name.encode("cp850")])
    assert [source.name for source in _take(windows, code_page="cp850").sources] == [name]
    cyrillic = "\u043e\u0442\u0447\u0451\u0442.csv"
    assert [
        source.name
        for source in _take(_raw_names(tmp_path / "d.zip", [cyrillic.encode("cp866")]), code_page="cp866").sources
    ] == [cyrillic]


@pytest.mark.case("C089")
def test_the_field_for_unicode_names(tmp_path: Path) -> None:
    """A name that the archive gives in the field for it is taken from there."""
    info = _entry("report.csv")
    name = "relat\u00f3rio.csv".encode()
    info.extra = struct.pack("<HHBI", 0x7075, len(name) + 5, 1, zlib.crc32(b"report.csv")) + name
    path = tmp_path / "x.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(info, CSV)
    assert [source.name for source in _take(path).sources] == ["relat\u00f3rio.csv"]


@pytest.mark.case("C089")
def test_what_programs_leave_behind_is_passed_over(tmp_path: Path) -> None:
    """Resource forks, lock files and thumbnails are no members that anybody means; they are told, not refused."""
    names = ["__MACOSX/._x.csv", "._y.csv", "~$z.xlsx", ".~lock.x.ods#", ".DS_Store", "Thumbs.db", "desktop.ini"]
    taken = _take(packed(tmp_path / "x.zip", {**dict.fromkeys(names, b"junk"), "x.csv": CSV}))
    assert ([source.name for source in taken.sources], taken.passed_over) == (["x.csv"], names)


@pytest.mark.case("C089")
def test_encrypted_members_are_refused(tmp_path: Path) -> None:
    """A member with a password is refused before it is opened."""
    path = packed(tmp_path / "x.zip", {"a.csv": CSV})
    _set_flags(path, 0x1)
    assert _why(_take(path)) == {"a.csv": "is encrypted"}


@pytest.mark.case("C089")
def test_a_bomb_is_stopped_while_it_grows(tmp_path: Path) -> None:
    """A member that grows beyond what packing explains is refused on the way, whatever size the archive says it has."""
    path = packed(tmp_path / "x.zip", {"bomb.csv": b"0" * (64 * limits.MIB), "good.csv": CSV})
    lying = bytearray(path.read_bytes())
    at = lying.find(b"PK\x01\x02")
    struct.pack_into("<I", lying, at + 24, 50)
    path.write_bytes(lying)
    reasons = _why(_take(path))
    assert "damaged" in str(reasons["bomb.csv"]) or "times its packed size" in str(reasons["bomb.csv"])
    assert reasons["good.csv"] is None
    honest = packed(tmp_path / "y.zip", {"bomb.csv": b"0" * (64 * limits.MIB), "good.csv": CSV})
    assert f"{limits.UNPACK_RATIO_MAX} times its packed size" in str(_why(_take(honest))["bomb.csv"])
    assert sum(file.stat().st_size for file in (tmp_path / "taken").iterdir()) == len(CSV)


@pytest.mark.case("C089")
def test_sizes_and_counts_are_limited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A member too large, members too large together, and too many of them are refused."""
    noise = os.urandom(3 * limits.MIB)
    path = packed(tmp_path / "x.zip", dict.fromkeys(("a.csv", "b.csv", "c.csv"), noise))
    monkeypatch.setattr(archives, "MEMBER_BYTES_MAX", 2 * limits.MIB)
    assert all("more than 2 MiB" in str(why) for why in _why(_take(path)).values())
    monkeypatch.setattr(archives, "MEMBER_BYTES_MAX", 4 * limits.MIB)
    monkeypatch.setattr(archives, "ARCHIVE_BYTES_MAX", 7 * limits.MIB)
    reasons = _why(_take(path))
    assert [reasons["a.csv"], reasons["b.csv"]] == [None, None]
    assert "7 MiB in all" in str(reasons["c.csv"])
    monkeypatch.setattr(archives, "MEMBERS_MAX", 2)
    with pytest.raises(InvalidInput, match=r"x\.zip holds 3 files; at most 2"):
        _take(path)


def test_damage_is_the_members_own(tmp_path: Path) -> None:
    """A member whose bytes changed is refused, its neighbours aren't; a broken directory refuses the archive."""
    path = packed(tmp_path / "x.zip", {"a.csv": os.urandom(2_000), "b.csv": CSV})
    whole = bytearray(path.read_bytes())
    whole[200] ^= 0xFF
    path.write_bytes(whole)
    reasons = _why(_take(path))
    assert "damaged" in str(reasons["a.csv"])
    assert reasons["b.csv"] is None
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(InvalidInput, match="damaged"):
        _take(path)
    with pytest.raises(InvalidInput, match="without a file"):
        _take(packed(tmp_path / "empty.zip", {"folder/": b""}))


def test_no_damaged_zip_ends_in_another_error(tmp_path: Path) -> None:
    """A zip with bytes changed anywhere is taken apart as far as it goes, or refused."""
    draw = random.Random(1)
    path = packed(tmp_path / "x.zip", {"a.csv": CSV * 20, "folder/\u00e9.csv": CSV, "b.xlsx": os.urandom(300)})
    whole = path.read_bytes()
    for _ in range(200):
        changed = bytearray(whole)
        for _ in range(draw.choice((1, 2, 5))):
            changed[draw.randrange(len(changed))] = draw.randrange(256)
        path.write_bytes(changed)
        with contextlib.suppress(InvalidInput):
            for source in _take(path).sources:
                assert (source.path is None) == (source.refused is not None)


@given(name=st.text(st.sampled_from("aB.\\/:~_ \u00e9e\u0301\u00df\n\u202e"), min_size=1, max_size=12))
def test_a_name_that_passes_stays_in_its_folder(name: str) -> None:
    """Any name that isn't refused names a place below its folder, and is compared the same when it is compared twice."""
    assert compared(compared(name)) == compared(name)
    try:
        refuse_unsafe(name)
    except FileRefused:
        return
    assert not name.startswith(("/", "\\"))
    assert ".." not in name.replace("\\", "/").split("/")
    assert "\n" not in name


@given(blocks=st.lists(st.binary(max_size=50), max_size=20), packed_bytes=st.integers(0, 10), most=st.integers(0, 500))
def test_what_is_counted_is_what_came(blocks: list[bytes], packed_bytes: int, most: int) -> None:
    """Reading ends with a refusal exactly when more bytes came than either limit allows."""
    monkeypatch = pytest.MonkeyPatch()
    monkeypatch.setattr(unpacking, "UNPACK_FREE_BYTES", 20)
    monkeypatch.setattr(unpacking, "UNPACK_RATIO_MAX", 10)
    whole = b"".join(blocks)
    source = unpacking.Unpacked(io.BytesIO(whole), packed_bytes=packed_bytes, bytes_max=most, what="it")
    monkeypatch.undo()
    allowed = min(max(20, packed_bytes * 10), most)
    came = b""
    try:
        while block := source.read(7):
            came += block
    except FileRefused:
        assert len(whole) > allowed
    else:
        assert came == whole
        assert len(whole) <= allowed
