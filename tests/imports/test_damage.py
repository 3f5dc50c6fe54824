"""Files with bytes changed, lost and doubled anywhere: each is read or refused, and nothing else ever comes of it."""

from __future__ import annotations

import io
import random
import zipfile
from pathlib import Path

import pytest

from tests.imports.conftest import HEADER, ROWS, Read, spec
from tests.imports.making import by_csv, by_odfpy, by_openpyxl, by_xlsxwriter, by_xlwt

WRITERS = {"a.xlsx": by_openpyxl, "b.xlsx": by_xlsxwriter, "c.xls": by_xlwt, "d.ods": by_odfpy, "e.csv": by_csv}
CHANGES = 60
SCRAPS = (b"<", b">", b'"', b"9999999", b"\0", b"</row>", b"<row>", b"<c>", b"&amp;", b"\xff")


def _changed(whole: bytes, draw: random.Random) -> bytes:
    """The bytes with one to five changes: another byte, some lost, a scrap put in, a part doubled."""
    changed = bytearray(whole)
    for _ in range(draw.choice((1, 1, 2, 5))):
        at = draw.randrange(len(changed))
        kind = draw.randrange(4)
        if kind == 0:
            changed[at] = draw.randrange(256)
        elif kind == 1:
            del changed[at : at + draw.randrange(1, 30)]
        elif kind == 2:
            changed[at:at] = draw.choice(SCRAPS)
        else:
            start = draw.randrange(len(changed))
            changed[at:at] = changed[start : start + draw.randrange(1, 60)]
    return bytes(changed)


def _changed_within(whole: bytes, draw: random.Random) -> bytes:
    """The same changes in one of the parts of a package, which is whole as an archive."""
    with zipfile.ZipFile(io.BytesIO(whole)) as package:
        parts = {name: package.read(name) for name in package.namelist()}
    name = draw.choice([name for name, part in parts.items() if part])
    parts[name] = _changed(parts[name], draw)
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as package:
        for part, content in parts.items():
            package.writestr(part, content)
    return packed.getvalue()


@pytest.mark.parametrize("name", WRITERS)
def test_no_damage_ends_in_another_error(name: str, tmp_path: Path, read: Read) -> None:
    """Whatever happened to a file, it is read or refused in words; one that is refused leaves no rows."""
    draw = random.Random(name)
    rows = [*ROWS, *[[f"K{number}", number / 100, None, None, None, None, number, "x"] for number in range(40)]]
    path = WRITERS[name](tmp_path / name, [HEADER, *rows])
    whole = path.read_bytes()
    for number in range(CHANGES):
        package = name.endswith((".xlsx", ".ods")) and number % 4
        path.write_bytes((_changed_within if package else _changed)(whole, draw))
        report = read(path, spec()).report
        assert report.status in {"parsed", "rejected", "error"}
        if report.status == "error":
            assert report.error
            assert list((tmp_path / f"staged-{number + 1}").iterdir()) == []
