"""`lastro import --check`: what is said of good and bad files, to people and to machines, with which exit code."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Answer, Run
from tests.imports.making import by_csv, by_openpyxl, packed

BILLING = [["Invoice", "Reference", "Date", "Amount", "Currency"], ["I1", "R1", "2026-11-02", "12.50", "BRL"]]
SPECS = """
[fees]
key = ["code"]
[fees.columns]
code = { type = "text", required = true }
fee = { type = "money", currency = "BRL", decimal_mark = "," }
"""


@pytest.fixture
def environment() -> dict[str, str]:
    """Reading needs no database, and so no test here starts one."""
    return {}


def _check(run: Run, path: Path, *more: str) -> Answer:
    return run("import", str(path), "--check", *more)


@pytest.mark.req("4.1")
def test_a_zip_is_checked(run: Run, tmp_path: Path) -> None:
    """Each file of a zip is told with its rows; one that can't be read, and each bad cell, by its reason."""
    good = by_csv(tmp_path / "billing-1.csv", BILLING)
    bad = by_csv(tmp_path / "billing-2.csv", [*BILLING, ["I2", "", "03/11/2026", "1,5", "BRL"]])
    files: dict[str, str | bytes] = {file.name: file.read_bytes() for file in (good, bad)}
    archive = packed(tmp_path / "november.zip", {**files, "notes.txt": "hello", ".DS_Store": "junk"})
    answer = _check(run, archive)
    assert answer.code == 1
    assert answer.out.splitlines()[:4] == [
        "file\tsheet\tspec\tstatus\trows\trejected",
        "billing-1.csv\tbilling-1.csv\tbilling\tparsed\t1\t0",
        "billing-2.csv\tbilling-2.csv\tbilling\trejected\t1\t1",
        "notes.txt\t\t\terror\t0\t0",
    ]
    assert "1 of 3 files are good; nothing was stored" in answer.out
    assert "billing-2.csv, billing-2.csv, D3: '1,5' is no number as its column is written" in answer.out
    assert "notes.txt: isn't called .xlsx" in answer.out
    told = _check(run, archive, "--json").json()
    assert [(file["file"], file["status"]) for file in told["files"]] == [
        ("billing-1.csv", "parsed"),
        ("billing-2.csv", "rejected"),
        ("notes.txt", "error"),
    ]
    assert told["passed_over"] == [".DS_Store"]
    assert [one["cell"] for one in told["files"][1]["sheets"][0]["rejections"]] == ["B3", "C3", "D3"]


def test_specs_of_ones_own(run: Run, tmp_path: Path) -> None:
    """A TOML file says what the sheets must be; a good file ends with 0."""
    specs = tmp_path / "specs.toml"
    specs.write_text(SPECS)
    path = by_openpyxl(tmp_path / "fees.xlsx", [["Code", "Fee"], ["A", "1,50"]])
    answer = _check(run, path, "--specs", str(specs), "--json")
    assert answer.code == 0
    (file,) = answer.json()["files"]
    assert (file["status"], file["sheets"][0]["fields"]) == ("parsed", ["code", "fee"])


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["nowhere.zip", "--check"], 1, "there is no file"),
        (["{file}", "--check", "--period", "2026-13"], 1, "takes a month"),
        (["{file}", "--check", "--code-page", "klingon"], 1, "names no encoding"),
        (["{file}", "--check", "--specs", "nowhere.toml"], 1, "can't be read"),
        (["{file}"], 2, "no database is named"),
    ],
)
def test_what_is_not_understood(arguments: list[str], code: int, said: str, run: Run, tmp_path: Path) -> None:
    """A command line that can't be meant is refused before anything is read."""
    file = by_csv(tmp_path / "billing.csv", BILLING)
    answer = run("import", *(argument.format(file=file) for argument in arguments), "--json")
    assert answer.code == code
    assert said in answer.error()["message"]
