"""Which database a command works on: never one that a mistyped name has just made, and psql the one that is named."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Run


@pytest.mark.parametrize(
    "command", [("accounts",), ("balance", "shop", "BRL"), ("adopt", "status"), ("work", "expire")]
)
def test_a_mistyped_file_isnt_made(run: Run, tmp_path: Path, command: tuple[str, ...]) -> None:
    """A SQLite file that isn't there is refused by all but what makes a ledger."""
    there = {"LASTRO_DATABASE_URL": f"sqlite:///{tmp_path}/typo.db"}
    answer = run(*command, "--json", env=there)
    assert (answer.code, answer.error()["code"]) == (1, "refused")
    assert f"there is no file '{tmp_path}/typo.db'" in answer.error()["message"]
    assert list(tmp_path.iterdir()) == []


def test_migrate_makes_a_file(run: Run, tmp_path: Path) -> None:
    """`lastro migrate` is what makes a ledger, and everything works on it from then on."""
    there = {"LASTRO_DATABASE_URL": f"sqlite:///{tmp_path}/ledger.db"}
    assert run("migrate", env=there).code == 0
    assert run("accounts", env=there).code == 0


def test_psql_opens_the_database_that_is_named(run: Run, capfd: pytest.CaptureFixture[str], ledger_name: str) -> None:
    """By the variable, with the ledger's tables in the search path; another kind of database is refused."""
    assert run("migrate").code == 0
    capfd.readouterr()
    assert run("db", "psql", "-Atc", "SELECT count(*), current_schema() FROM transfer").code == 0
    assert capfd.readouterr().out.strip() == f"0|{ledger_name}"
    refused = run("db", "psql", "--json", env={"LASTRO_DATABASE_URL": "sqlite:///file.db"})
    assert (refused.code, refused.error()["code"]) == (1, "refused")
    both = run("db", "psql", "--data", "here", "--database-url", "postgresql://u@h/d")
    assert both.code == 2


def test_a_refusal_speaks_of_commands(run: Run) -> None:
    """What the library calls a method the terminal calls a command, with names that a shell takes as they are."""
    assert run("migrate").code == 0
    answer = run("balance", "it's here", "BRL")
    assert answer.code == 1
    assert "lastro accounts open 'it'\"'\"'s here' BRL" in answer.err
    assert "ledger." not in answer.err
