"""`lastro match`: for people and for machines, with files beside it and an exit code for a scheduler."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import psycopg

from lastro import Ledger
from tests.cli.conftest import Run
from tests.matching.statement import PERIOD, add_lines, pay_in


def test_from_a_difference_to_none(
    ledger: Ledger, connection: psycopg.Connection[Any], run: Run, tmp_path: Path
) -> None:
    """Exit code 1 while something differs, with a table, JSON and files that say what; 0 once it is corrected."""
    ledger.open_account("shop", "BRL", floor=None)
    pay_in(ledger, "o1", 10_000, 3)
    pay_in(ledger, "o2", 500, 3)
    add_lines(connection, [("o1", 10_000, 3), ("o2", 490, 4)])
    page, csv = tmp_path / "match.html", tmp_path / "match.csv"
    asked = ("match", "--spec", "movements", "--period", PERIOD)
    found = run(*asked, "--csv", str(csv), "--page", str(page), "--all")
    assert found.code == 1
    assert found.out.splitlines() == [
        "outcome\treference\tlines\ttransfers\tdifference",
        "matched\to1\tm00001 2026-11-03 100.00\to1 2026-11-03 100.00\t0.00 BRL",
        "amount differs\to2\tm00002 2026-11-04 4.90\to2 2026-11-03 5.00\t-0.10 BRL",
        "2 lines and 2 transfers: 1 matched, 1 amount differs, 0 missing in ledger, 0 missing in statement",
    ]
    assert len(csv.read_text("utf-8").splitlines()) == 5
    assert "amount differs" in page.read_text("utf-8")
    answer = run(*asked, "--json")
    assert answer.code == 1
    document = answer.json()
    assert (document["matched"], document["differences"], document["groups_left_out"]) == (1, 1, 0)
    assert document["groups"] == [
        {
            "number": 2, "outcome": "amount_differs", "reference": "o2", "currency": "BRL", "difference": "-10",
            "cut_short": False,
            "lines": [{"id": "m00002", "on": "2026-11-04", "amount": "490", "inside": True}],
            "transfers": [{"id": "o2", "on": "2026-11-03", "amount": "500", "inside": True}],
        }
    ]  # fmt: skip
    connection.execute("UPDATE sheet_movements SET amount = 500 WHERE movement = 'm00002'")
    connection.commit()
    spec = tmp_path / "mine.toml"
    spec.write_text('[movements]\naccounts = ["world"]\nside = "debit"\ndate = "moved_on"\n', "utf-8")
    well = run("match", "--spec", str(spec), "--period", PERIOD)
    assert (well.code, len(well.out.splitlines())) == (0, 1)
    shop = run("match", "--spec", str(spec), "--period", PERIOD, "--account", "shop", "--json").json()
    assert (shop["account"], shop["amount_differs"]) == ("shop", 2)


def test_what_cannot_be_matched_is_refused(ledger: Ledger, run: Run, tmp_path: Path) -> None:
    """A spec or a period that is none ends in exit code 1 and a sentence."""
    del ledger
    for spec, period, message in (
        ("fees", PERIOD, "billing, movements"),
        (str(tmp_path / "none.toml"), PERIOD, "can't be read"),
        ("billing", "2026", "a month like 2026-11"),
    ):
        refused = run("match", "--spec", spec, "--period", period)
        assert refused.code == 1
        assert message in refused.err
