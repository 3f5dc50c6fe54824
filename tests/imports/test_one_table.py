"""One table in every format, written by every library there is: what is staged is the same."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.imports.conftest import HEADER, ROWS, STAGED, Read, spec
from tests.imports.making import (
    Formula,
    Table,
    by_csv,
    by_libreoffice,
    by_odfpy,
    by_openpyxl,
    by_xlsxwriter,
    by_xlwt,
)

WRITERS: dict[str, Callable[..., Path]] = {
    "openpyxl.xlsx": by_openpyxl,
    "xlsxwriter.xlsx": by_xlsxwriter,
    "xlwt.xls": by_xlwt,
    "odfpy.ods": by_odfpy,
    "stdlib.csv": by_csv,
}


def _table() -> Table:
    return [HEADER, *ROWS]


@pytest.mark.req("4.1")
@pytest.mark.parametrize("name", WRITERS)
def test_every_format_stages_the_same(name: str, tmp_path: Path, read: Read) -> None:
    """A table written by any library in any format is staged as the same rows."""
    outcome = read(WRITERS[name](tmp_path / name, _table()))
    assert outcome.rejected == []
    assert outcome.numbered == [(number, row) for number, row in enumerate(STAGED, start=2)]


@pytest.mark.parametrize("options", [{"constant_memory": True}, {"date_1904": True}, {"strings_to_numbers": False}])
def test_the_ways_of_xlsxwriter(options: dict[str, Any], tmp_path: Path, read: Read) -> None:
    """Inline texts, and dates that count from 1904, make no difference."""
    assert read(by_xlsxwriter(tmp_path / "x.xlsx", _table(), **options)).rows == STAGED


@pytest.fixture(scope="module")
def office(tmp_path_factory: pytest.TempPathFactory, need: Callable[..., Path]) -> Callable[[Path, str], Path]:
    """Have LibreOffice save a file in another format; one profile for all, which takes it seconds to make."""
    soffice, folder = need("soffice", name="libreoffice"), tmp_path_factory.mktemp("office")
    return lambda source, ending: by_libreoffice(soffice, source, ending, folder)


@pytest.mark.req("4.1")
@pytest.mark.parametrize("ending", ["xlsx", "xls", "ods"])
def test_libreoffice_writes_the_same(
    ending: str, tmp_path: Path, read: Read, office: Callable[[Path, str], Path]
) -> None:
    """A file that LibreOffice has opened and saved again is staged as the same rows."""
    made = office(by_xlsxwriter(tmp_path / "source.xlsx", _table()), ending)
    # Where no format says so, LibreOffice saves a boolean in an .ods as a number.
    done = {"type": "boolean", "yes": ["true", "1"], "no": ["false", "0"]}
    outcome = read(made, spec(columns={"done": done}))
    assert outcome.rejected == []
    assert outcome.rows == STAGED


@pytest.mark.case("C088")
@pytest.mark.parametrize("ending", ["xlsx", "ods"])
def test_libreoffice_calculates_what_was_not(
    ending: str, tmp_path: Path, read: Read, office: Callable[[Path, str], Path]
) -> None:
    """A formula without a result is refused; once LibreOffice has calculated and saved it, it is read, and an error isn't."""
    rows = [["Reference", "Amount"], ["A", Formula("=1+1.5")], ["B", Formula("=1/0")]]
    source = by_openpyxl(tmp_path / "formulas.xlsx", rows)
    assert [reason.split(":")[0] for _, _, reason in read(source).rejected] == [
        "is a formula that was never calculated"
    ] * 2
    saved = read(office(source, ending))
    assert saved.rows == [["A", "250"]]
    assert saved.rejected == [("B3", "#DIV/0!", "is the error #DIV/0!")]
