"""`lastro adopt …`: an adoption from the terminal, there and back, for people and for machines."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from lastro import Ledger
from tests.adopting.old_table import BALANCE, ID, TABLE, OldTable
from tests.cli.conftest import Run
from tests.cli.test_commands import _no_text

pytestmark = pytest.mark.case("C001")


@pytest.fixture
def table(ledger: Ledger, server_url: str) -> OldTable:
    """The old table, with three users."""
    table = OldTable(ledger, server_url)
    table.add({1: 1000, 2: 250, 3: 0})
    return table


@pytest.fixture
def declaration(ledger: Ledger, tmp_path: Path) -> str:
    """Its declaration, as a file."""
    path = tmp_path / "users.toml"
    path.write_text(
        f"name = 'users'\nschema = '{ledger._operations.ledger}'\ntable = '''{TABLE}'''\nid = '{ID}'\n"
        f"balance = '{BALANCE}'\naccount = 'customer:{{{ID}}}'\ncurrency = 'BRL'\n",
        encoding="utf-8",
    )
    return str(path)


def told(run: Run, *arguments: str, code: int = 0) -> Any:
    """What a command told machines: amounts are texts."""
    answer = run("adopt", *arguments, "--json")
    assert (answer.code, answer.err) == (code, "")
    assert list(_no_text(answer.json())) == []
    return answer.json()


def test_there_and_back_from_the_terminal(run: Run, table: OldTable, declaration: str) -> None:
    """Each command does its step and says what it did; differences and problems end with 1."""
    planned = told(run, "plan", declaration)
    assert (planned["rows"], planned["most"], planned["problems"]) == (3, "1000", [])
    imported = told(run, "import", declaration, "--actor", "ana")
    assert (imported["done"], imported["figures"]["imported"]) == (True, 3)
    assert "nothing was changed" in run("adopt", "import", declaration).out
    assert told(run, "shadow", "users", "--dry-run")["done"] is False
    assert told(run, "shadow", "users")["adoption"]["phase"] == "shadow"

    table.change(1, 5)
    compared = run("adopt", "compare", "users")
    assert compared.code == 1
    assert "1 × old_write_without_posting" in compared.out
    assert "customer:1" in compared.out
    assert "10.05" in compared.out
    (difference,) = told(run, "differences", "users")["differences"]
    assert (difference["expected"], difference["found"]) == ("1005", "1000")
    assert told(run, "cutover", "users", "--dry-run", code=1)["problems"]
    assert run("adopt", "cutover", "users").code == 1
    assert told(run, "adjust", "users", "--reason", "a test", "--actor", "ana")["figures"] == {
        "adjusted": 1,
        "remaining": 0,
    }
    assert told(run, "compare", "users")["differences"] == []
    assert "nothing differs" in run("adopt", "differences", "users").out

    done = told(run, "cutover", "users", "--block-max", "9000", "--compared-within", "600")
    assert (done["adoption"]["phase"], done["adoption"]["guarded"]) == ("ledger", True)
    assert run("post", "--key", "k", "--kind", "top-up", "--debit", "world", "--credit", "customer:3", "--currency", "BRL",
               "--minor", "7").code == 0  # fmt: skip
    assert told(run, "mirror", "users")["figures"] == {"rows": 3, "written": 1}
    assert table.balances() == {1: 1005, 2: 250, 3: 7}
    assert told(run, "rollback", "users", "--dry-run")["figures"] == {"rows": 3, "would_write": 0}
    assert told(run, "rollback", "users")["adoption"]["phase"] == "shadow"

    (standing,) = told(run, "status")["adoptions"]
    assert (standing["name"], standing["phase"], standing["rows"]) == ("users", "shadow", 3)
    assert told(run, "abandon", "users", "--dry-run")["figures"] == {"accounts": 3}
    assert "shadow" in run("adopt", "status", "users").out
    whats = [event["what"] for event in told(run, "events", "users")["events"]]
    assert whats[-1] == "begun"
    assert "rolled back" in run("adopt", "events", "users", "--limit", "1").out


def test_to_the_end_from_the_terminal(run: Run, table: OldTable, declaration: str) -> None:
    """A row that came too late is admitted, what the mirror leaves alone ends with 1, and either end is said."""
    for step in (("import", declaration), ("shadow", "users"), ("compare", "users"), ("cutover", "users")):
        told(run, *step)
    table.run(f"ALTER TABLE {table.name} DISABLE TRIGGER USER")
    table.add({7: 70})
    table.run(f"ALTER TABLE {table.name} ENABLE TRIGGER USER")
    compared = run("adopt", "compare", "users")
    assert compared.code == 1
    assert "1 × not_taken_over: the row came among the declared ones after the cut-over" in compared.out
    advice = told(run, "compare", "users", code=1)["advice"]
    assert list(advice) == ["not_taken_over"]
    assert run("adopt", "finish", "users").code == 1
    told(run, "finish", "users", "--dry-run", code=1)
    admitted = told(run, "admit", "users", "--row", "7", "--reason", "late", "--actor", "ana")
    assert admitted["figures"] == {"admitted": 1, "discarded": 0}
    table.run(f"ALTER TABLE {table.name} ADD CHECK ({table.balance} < 2000)")
    assert run("post", "--key", "k", "--kind", "top-up", "--debit", "world", "--credit", "customer:1", "--currency", "BRL",
               "--minor", "1500").code == 0  # fmt: skip
    mirrored = run("adopt", "mirror", "users")
    assert mirrored.code == 1
    assert "account 'customer:1' holds 2500 BRL" in mirrored.out
    assert run("reverse", "k", "undo").code == 0
    assert told(run, "finish", "users", "--actor", "ana")["adoption"]["phase"] == "finished"
    assert "finished" in run("adopt", "status", "users").out
    assert run("adopt", "abandon", "users", "--keep-balances").code == 1


def test_what_goes_wrong_is_said(run: Run, table: OldTable, declaration: str, tmp_path: Path) -> None:
    """A declaration that can't be read, a table that can't be adopted, a step out of order: a sentence and a code."""
    assert run("adopt", "status").out.strip() == "nothing is being adopted"
    missing = run("adopt", "plan", str(tmp_path / "nothing.toml"), "--json")
    assert (missing.code, missing.error()["code"]) == (1, "invalid_input")
    unknown = run("adopt", "compare", "users", "--json")
    assert (unknown.code, unknown.error()["code"]) == (1, "unknown_adoption")
    table.set(2, -1)
    table.set(1, "NULL")
    planned = run("adopt", "plan", declaration)
    assert planned.code == 1
    assert "\nproblem: 1 rows have no balance" in planned.out
    assert "\nproblem: 1 rows have a balance below zero" in planned.out
    assert "\\u000a" not in planned.out
    table.set(1, 1000)
    left = run("adopt", "import", declaration)
    assert "1 rows have no account yet" in left.out
    assert "1 × row_without_account" in left.out
    early = run("adopt", "cutover", "users", "--json")
    assert (early.code, early.error()["code"]) == (1, "adoption_not_ready")
    assert run("adopt", "shadow", "users").code == 1
