"""`lastro import` and `lastro imports`: what is merged, refused, shown and queued, to people and to machines."""

from __future__ import annotations

from pathlib import Path

import pytest

from lastro import Ledger
from tests.cli.conftest import Run
from tests.imports.conftest import in_process
from tests.imports.months import MONTH, Line, billing, lines, zipped

__all__ = ["in_process"]

FEES = """
[fees]
files = "fees*.csv"
key = ["code"]
[fees.columns]
code = { type = "text", required = true }
fee = { type = "money", currency = "BRL" }
"""


@pytest.mark.req("4.1")
def test_a_zip_is_merged(run: Run, tmp_path: Path, in_process: None) -> None:
    """Each file is told with its counts; one that is refused with its log; and the exit code says whether all are merged."""
    path = zipped(tmp_path / "sent.zip", billing_a=billing(*lines(1, 2)), billing_b=billing(*lines(3, 3)))
    answer = run("import", str(path), "--period", MONTH)
    assert answer.code == 1
    assert answer.out.splitlines() == [
        "file\tstatus\tsheet\tinserted\tupdated\tunchanged\tdeleted\tquarantined",
        "billing_a.csv\tmerged\tbilling\t2\t0\t0\t0\t0",
        "billing_b.csv\terror\t\t\t\t\t\t",
        "1 of 2 files are merged (request 1)",
        "billing_b.csv: billing_b.csv: read 2 rows as billing, 0 rejected",
        "billing_b.csv: error: billing_b.csv has keys more than once (invoice, reference): I003, R in the rows 2, 3",
    ]
    path = zipped(tmp_path / "sent.zip", billing_a=billing(*lines(1, 2)))
    answer = run("import", str(path), "--period", MONTH, "--json")
    assert answer.code == 0
    (file,) = answer.json()["files"]
    assert (file["status"], file["sheets"][0]["unchanged"]) == ("merged", 2)
    assert file["log"][-1]["line"].startswith("billing: 0 inserted")
    # The list of all, and one's log.
    listed = run("imports").out.splitlines()
    assert listed[1].split("\t")[:4] == [str(file["file_id"]), "billing_a.csv", "merged", "billing"]
    assert len(listed) == 1 + 3
    told = run("imports", str(file["file_id"]))
    assert "read 2 rows as billing" in told.out
    assert run("imports", "99", "--json").error()["code"] == "unknown_import"


@pytest.mark.req("4.2")
def test_a_dry_run_a_guard_and_a_quarantine(run: Run, tmp_path: Path, in_process: None) -> None:
    """What would change is shown and nothing stored; what shrinks too much is refused unless it may; bad rows are kept aside."""
    whole = zipped(tmp_path / "whole.zip", billing=billing(*lines(1, 2, 3)))
    assert run("import", str(whole), "--period", MONTH).code == 0
    cut = zipped(tmp_path / "cut.zip", billing=billing(Line("I001", "20.00")))
    answer = run("import", str(cut), "--period", MONTH, "--dry-run")
    assert answer.code == 1
    assert "billing.csv\trefused\tbilling\t0\t1\t0\t2\t0" in answer.out
    assert "billing.csv: billing updated (row 2): amount 1000 → 2000" in answer.out
    assert "billing.csv would be refused: billing lacks 2 of the 3 rows" in answer.out
    told = run("import", str(cut), "--period", MONTH, "--dry-run", "--json").json()["files"][0]
    assert [change["sort"] for change in told["changes"]] == ["deleted", "deleted", "updated"]
    assert told["changes"][2]["after"]["amount"] == "2000"
    assert "--allow-shrink" in run("import", str(cut), "--period", MONTH).out
    assert run("import", str(cut), "--period", MONTH, "--allow-shrink").code == 0
    bad = zipped(tmp_path / "bad.zip", billing=billing(Line("I001", "1,5"), Line("I002")))
    answer = run("import", str(bad), "--period", MONTH)
    assert answer.code == 1
    assert "billing.csv, D2: '1,5' is no number" in answer.out
    answer = run("import", str(bad), "--period", MONTH, "--quarantine")
    assert answer.code == 0
    assert "billing.csv\tmerged\tbilling\t1\t0\t0\t0\t1" in answer.out


@pytest.mark.req("4.1")
def test_sheets_of_ones_own_and_the_queue(run: Run, ledger: Ledger, tmp_path: Path, in_process: None) -> None:
    """A sheet that isn't declared is refused before anything is stored; declared and queued, a worker merges it."""
    (tmp_path / "fees.toml").write_text(FEES)
    path = tmp_path / "fees-11.csv"
    path.write_text("code,fee\nA,1.50\nB,\n")
    settings = ("--specs", str(tmp_path / "fees.toml"))
    refused = run("import", str(path), *settings, "--json").error()
    assert "sheet fees has no table yet" in refused["message"]
    assert ledger.imports.files() == []
    answer = run("import", str(path), *settings, "--declare", "--queue")
    assert answer.code == 0
    assert "fees-11.csv\twaiting" in answer.out
    assert ledger.imports.work().merged == 1
    assert run("import", str(path), *settings, "--json").json()["files"][0]["sheets"][0]["unchanged"] == 2
    assert run("import", str(path), "--check", "--dry-run").code == 2
