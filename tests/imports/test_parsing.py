"""Many files at once: each has a process of its own, and what happens to one happens to its file alone."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from lastro import InvalidInput
from lastro.imports import FileReport, Progress, Source, parse, parser_process, parsing, report_of, staged_rows, take
from lastro.imports.reports import document_of_report
from tests.imports.conftest import HEADER, ROWS, STAGED, Read, narrow, spec
from tests.imports.making import by_csv, by_hand, by_openpyxl, by_xlsxwriter, by_xlwt, packed

# A parser that does what its file's name says, before it is the real one.
STUNTS = """
import os, signal
from lastro.imports import parser

read, say = parser.read_file, parser._say

def read_file(name, *args, **settings):
    stunt = name.split(".")[0]
    if stunt == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    if stunt == "aborts":
        os.abort()
    if stunt == "raises":
        raise LookupError("nothing is known of this")
    if stunt == "hangs":
        signal.pause()
    if stunt == "chatty":
        print("a reader prints", flush=True)
        os.write(1, b"and writes")
    return read(name, *args, **settings)

def break_off(said, document):
    if "breaks-off" in str(document):
        said.write(str(document)[:9])
        said.flush()
        os._exit(0)
    say(said, document)

parser.read_file, parser._say = read_file, break_off
parser.main()
"""


@pytest.fixture
def stunts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Parsers that die in the way that the file's name says."""
    (tmp_path / "stunts.py").write_text(STUNTS)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(parser_process, "PARSER", "stunts")


def _parse(sources: list[Source], folder: Path, **settings: Any) -> list[FileReport]:
    folder.mkdir()
    return parse(sources, [spec()], folder=folder, **settings)


@pytest.mark.req("4.1")
def test_the_files_of_a_zip(tmp_path: Path) -> None:
    """Each file of a zip has a report in the archive's order, its rows staged in a folder of its own, and its progress told."""
    table = [HEADER, *ROWS]
    files = [
        by_openpyxl(tmp_path / "a.xlsx", table),
        by_xlwt(tmp_path / "b.xls", table),
        by_csv(tmp_path / "c.csv", [["Reference", "Amount"], ["A", "1,5"], ["B", "2.50"]]),
        by_csv(tmp_path / "d.csv", [["Nothing"], ["A"]]),
    ]
    members: dict[str, str | bytes] = {file.name: file.read_bytes() for file in files}
    archive = packed(tmp_path / "x.zip", {**members, "../e.csv": "Reference\nA\n"})
    (tmp_path / "taken").mkdir()
    told: list[Progress] = []
    sources = take(archive, tmp_path / "taken").sources
    reports = _parse(sources, tmp_path / "staged", on_progress=told.append)
    assert [(report.file, report.status, report.rows, report.rejected) for report in reports] == [
        ("a.xlsx", "parsed", 3, 0),
        ("b.xls", "parsed", 3, 0),
        ("c.csv", "rejected", 1, 1),
        ("d.csv", "error", 0, 0),
        ("../e.csv", "error", 0, 0),
    ]
    for report in reports[:2]:
        assert [fields for _, fields in staged_rows(report.sheets[0].staged)] == STAGED
    assert reports[2].sheets[0].rejections[0].cell == "B2"
    assert reports[4].error == "has a name that leads out of its folder"
    assert {progress.file for progress in told if progress.share == 1.0} == {file.name for file in files}


@pytest.mark.req("4.6")
@pytest.mark.usefixtures("stunts")
def test_a_parser_that_dies_takes_its_file_alone(tmp_path: Path) -> None:
    """Killed, aborted, fallen over or broken off: that file ends in an error that says how, and the others go on."""
    names = ["killed.csv", "good-1.csv", "aborts.csv", "raises.csv", "breaks-off.csv", "good-2.csv"]
    sources = [Source(name, by_csv(tmp_path / name, [["Reference", "Note"], ["A", "x"]])) for name in names]
    reports = {report.file: report for report in _parse(sources, tmp_path / "staged")}
    assert [report.status for report in reports.values()] == ["error", "parsed", "error", "error", "error", "parsed"]
    assert "by SIGKILL" in str(reports["killed.csv"].error)
    assert "by SIGABRT" in str(reports["aborts.csv"].error)
    assert "with code 1: LookupError: nothing is known of this" in str(reports["raises.csv"].error)
    assert "ended its parser with code 0" in str(reports["breaks-off.csv"].error)


@pytest.mark.req("4.6")
@pytest.mark.usefixtures("stunts")
def test_one_parser_reads_one_file_after_another(tmp_path: Path) -> None:
    """With a single parser a file that kills it is followed by others, read by the next one."""
    names = ["good-1.csv", "good-2.csv", "killed.csv", "good-3.csv", "aborts.csv"]
    sources = [Source(name, by_csv(tmp_path / name, [["Reference", "Note"], ["A", "x"]])) for name in names]
    reports = _parse(sources, tmp_path / "staged", parsers=1)
    assert [report.status for report in reports] == ["parsed", "parsed", "error", "parsed", "error"]


@pytest.mark.req("4.6")
def test_memory_has_a_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A sheet whose cells would fill the machine's memory ends its own parser, and says what it had."""
    monkeypatch.setattr(parser_process, "PARSER_MEMORY_BYTES_MAX", 400 * 2**20)
    far = "".join(f'<row r="{n}"><c r="A{n}"><v>1</v></c></row>' for n in range(1, 60_000))
    wide = far + '<row r="60000"><c r="ZZ60000"><v>1</v></c></row>'
    hungry = by_hand(tmp_path / "hungry.xlsx", wide)
    good = by_csv(tmp_path / "good.csv", [["Reference", "Note"], ["A", "x"]])
    reports = _parse([Source("hungry.xlsx", hungry), Source("good.csv", good)], tmp_path / "staged")
    assert [report.status for report in reports] == ["error", "parsed"]
    assert "by SIGABRT" in str(reports[0].error)
    assert "beyond 400 MiB of memory" in str(reports[0].error)


@pytest.mark.usefixtures("stunts")
def test_what_a_reader_prints_is_no_answer(tmp_path: Path) -> None:
    """A library that prints is not taken for the parser."""
    sources = [Source("chatty.csv", by_csv(tmp_path / "chatty.csv", [["Reference", "Note"], ["A", "x"]]))]
    assert _parse(sources, tmp_path / "staged")[0].status == "parsed"


def test_nothing_is_imported_from_the_working_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A module that lies among the downloads is not what a parser runs."""
    (tmp_path / "json.py").write_text("raise SystemExit('taken over')")
    monkeypatch.chdir(tmp_path)
    sources = [Source("good.csv", by_csv(tmp_path / "good.csv", [["Reference", "Note"], ["A", "x"]]))]
    assert _parse(sources, tmp_path / "staged")[0].status == "parsed"


@pytest.mark.usefixtures("stunts")
def test_time_has_a_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A parser that doesn't end is ended."""
    monkeypatch.setattr(parser_process, "PARSER_S_MAX", 3)
    sources = [Source("hangs.csv", by_csv(tmp_path / "hangs.csv", [["Reference", "Note"], ["A", "x"]]))]
    assert _parse(sources, tmp_path / "staged")[0].error == "took its parser more than 3 s"


@pytest.mark.usefixtures("stunts")
def test_an_interrupted_import_leaves_no_parser(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever stops an import stops its parsers."""
    started: list[subprocess.Popen[str]] = []
    begun = threading.Event()

    class Watched(subprocess.Popen[str]):
        def __init__(self, *args: Any, **settings: Any) -> None:
            super().__init__(*args, **settings)
            started.append(self)
            begun.set()

    monkeypatch.setattr(subprocess, "Popen", Watched)
    sources = [
        Source(name, by_csv(tmp_path / name, [["Reference", "Note"], ["A", "x"]])) for name in ("good.csv", "hangs.csv")
    ]

    def stop(progress: Progress) -> None:
        assert begun.wait(30)
        raise KeyboardInterrupt(progress.file)

    with pytest.raises(KeyboardInterrupt):
        _parse(sources, tmp_path / "staged", on_progress=stop)
    assert started
    assert all(process.poll() is not None for process in started)


def test_a_missing_reader_is_said_before_anything_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the package that reads a format the call is refused with what to install."""
    monkeypatch.setattr(parsing, "find_spec", lambda name: None)
    source = Source("x.xlsx", by_openpyxl(tmp_path / "x.xlsx", [["Reference"]]))
    with pytest.raises(InvalidInput, match=r"python_calamine: pip install \"lastro\[imports\]\""):
        _parse([source], tmp_path / "staged")
    with pytest.raises(InvalidInput, match="parsers must be 1 to 4"):
        parse([], [spec()], folder=tmp_path, parsers=5)


def test_the_ledger_imports_no_reader() -> None:
    """Importing the ledger imports no reader, and nothing of the imports."""
    code = "import sys, lastro; print(*sorted({'python_calamine', 'xlrd', 'lastro.imports'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.strip() == ""


def test_a_report_is_plain_json(tmp_path: Path, read: Read) -> None:
    """A report comes back from its document as it was."""
    path = by_xlsxwriter(tmp_path / "x.xlsx", [["Reference", "Value"], ["A", 1], ["B", "x"]])
    report = read(path, narrow("integer")).report
    assert report.status == "rejected"
    assert report_of(document_of_report(report)) == report
