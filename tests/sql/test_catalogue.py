"""The catalogue reads a dialect's files: one text a step or several, strings left whole, another ledger's tables."""

from __future__ import annotations

import pytest

from lastro.schema.migrations import removal
from lastro.sql.catalogue import catalogue, for_ledger, texts_of


@pytest.mark.parametrize("dialect", ["postgres", "sqlite", "generic"])
def test_taking_a_ledger_out_names_no_other(dialect: str) -> None:
    """The script that drops a throw-away ledger never speaks of the one that is called by default."""
    script = removal(dialect, "temporary_1")
    assert "temporary_1" in script
    code = [line for line in script.splitlines() if not line.startswith("--")]
    assert "lastro" not in "\n".join(code)


def test_a_step_of_several_statements_is_split_at_its_semicolons() -> None:
    """Each statement is a text of its own, without its semicolon."""
    assert texts_of("INSERT INTO a VALUES (1);\n\nSELECT 1;\n") == ("INSERT INTO a VALUES (1)", "SELECT 1")


def test_a_semicolon_in_a_string_ends_nothing() -> None:
    """Scripts that a statement composes hold semicolons, and quotes."""
    text = "SELECT format('ALTER TABLE a; DROP ''b;'';', 'c')"
    assert texts_of(text + ";") == (text,)


def test_postgres_says_each_step_by_one_text() -> None:
    """The PostgreSQL engine sends one text a step, and refuses none."""
    statements = catalogue("postgres").values()
    assert [statement.name for statement in statements if len(statement.texts) != 1 or statement.refused] == []


@pytest.mark.parametrize(
    ("dialect", "sql", "expected"),
    [
        ("postgres", "FROM lastro.base AS base", 'FROM "order".base AS base'),
        ("sqlite", "FROM lastro_base AS base", "FROM order_base AS base"),
        ("generic", "FROM lastro_base base", "FROM order_base base"),
    ],
)
def test_another_ledger_has_tables_of_its_own(dialect: str, sql: str, expected: str) -> None:
    """A ledger is a schema, or a prefix where there are no schemas."""
    assert for_ledger(sql, "order", dialect=dialect) == expected
    assert for_ledger(sql, "lastro", dialect=dialect) == sql
