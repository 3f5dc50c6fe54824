"""`lastro statement` and `lastro close-days`: for people, for spreadsheets and for machines."""

from __future__ import annotations

import csv
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from lastro import Ledger
from tests.cli.conftest import Run


@pytest.fixture
def shop(ledger: Ledger) -> Ledger:
    """An account with three entries: one dated back, one out, and one with a name that a spreadsheet would run."""
    ledger.open_account("shop", "BRL", keeping="hot")
    occurred = datetime(2026, 1, 1, tzinfo=UTC)
    for key, debit, credit, amount in (
        ("in", "world", "shop", 1_000),
        ("out", "shop", "world", 10),
        ("=1+1", "world", "shop", 5),
    ):
        ledger.post(
            key=key, kind="pay", debit=debit, credit=credit, amount=amount, currency="BRL", occurred_at=occurred
        )
        occurred += timedelta(days=1)
    return ledger


def test_a_statement_on_the_screen_and_in_a_file(run: Run, shop: Ledger, tmp_path: Path) -> None:
    """The same three entries as a table, as JSON, as CSV and as a page; a file's name says its format."""
    del shop
    shown = run("statement", "shop", "BRL", "--by", "occurred", "--since", "2026-01-02T00:00Z").out.splitlines()
    assert shown[0] == "opening balance: 10.00"
    assert shown[1].split("\t")[:4] == ["occurred at", "kind", "amount", "balance"]
    assert [line.split("\t")[2:4] for line in shown[2:-1]] == [["-0.10", "9.90"], ["0.05", "9.95"]]
    assert shown[-1] == "closing balance: 9.95"
    document = run("statement", "shop", "BRL", "--json").json()
    assert (document["opening"], document["closing"]) == ("0", "995")
    assert [(entry["key"], entry["balance"]) for entry in document["entries"]] == [
        ("in", "1000"),
        ("out", "990"),
        ("=1+1", "995"),
    ]
    file = tmp_path / "january.csv"
    answer = run("statement", "shop", "BRL", "--output", str(file), "--json").json()
    assert answer == {"output": str(file), "format": "csv", "lines": 3, "opening": "0", "closing": "995"}
    rows = list(csv.DictReader(file.read_text().splitlines()))
    assert [row["line"] for row in rows] == ["opening", "entry", "entry", "entry", "closing"]
    assert [row["key"] for row in rows] == ["", "in", "out", "'=1+1", ""]
    page = run("statement", "shop", "BRL", "--format", "html").out
    assert page.startswith("<!doctype html>")
    assert [path.name for path in tmp_path.iterdir()] == ["january.csv"]
    piped = run("statement", "shop", "BRL", "--format", "json").out
    assert json.loads(piped) == document


def test_what_cant_be_written_is_said(run: Run, shop: Ledger, tmp_path: Path) -> None:
    """An unknown format, a table in a file, Parquet on the screen: usage; and nothing is left where a file was to be."""
    del shop
    for arguments in (
        ("--format", "pdf"), ("--format", "table", "--output", str(tmp_path / "file")), ("--format", "parquet"),
    ):  # fmt: skip
        answer = run("statement", "shop", "BRL", *arguments)
        assert (answer.code, answer.out) == (2, "")
    assert run("statement", "shopp", "BRL", "--output", str(tmp_path / "x.csv")).code == 1
    assert list(tmp_path.iterdir()) == []


def test_days_are_closed_by_hand(run: Run, shop: Ledger) -> None:
    """The first call closes, the second finds nothing due; a balance at a moment is told by either clock."""
    del shop
    assert run("close-days", "--json").json() == {"marks": 1, "closings": 2, "full": False, "waits_for": []}
    assert run("close-days").out == "marks\tclosings\twaits for\n0\t0\tnothing\n"
    at = ("balance", "shop", "BRL", "--at", "2026-01-02T00:00Z", "--json")
    assert run(*at).json()["posted"] == "0"
    assert run(*at, "--by", "occurred").json()["posted"] == "990"
