"""The SQL files keep the house rules, and each rule catches what it is there for."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from tests.house import sql_rules as rules
from tests.house.checkout import PACKAGE
from tests.house.python_rules import MODULE_LINES_MAX
from tests.house.sql_rules import Statement

pytestmark = pytest.mark.house

HEADER = "-- name: read\n-- Reads it.\n-- locks: none   returns: 1 row\n"
GOOD = (
    HEADER + "WITH locked AS MATERIALIZED (\n"
    "    SELECT account_id FROM lastro.base WHERE account_id = ANY(%(ids)s::bigint[])\n"
    "    ORDER BY account_id FOR NO KEY UPDATE\n"
    ")\n"
    "-- FOR UPDATE; LIMIT 5 in a comment is prose\n"
    "SELECT account_id, 'LIMIT 10; --' AS text FROM locked ORDER BY account_id LIMIT %(rows_max)s;\n"
)

# rule, a word of the complaint, a file of one statement that breaks it
BROKEN_STATEMENTS: list[tuple[Callable[[Statement], Iterator[str]], str, str]] = [
    (rules.has_its_header, "purpose", "-- name: read\n-- locks: none   returns: 1 row\nSELECT 1;"),
    (rules.has_its_header, "locks:", "-- name: read\n-- Reads it.\n-- returns: 1 row\nSELECT 1;"),
    (rules.has_its_header, "returns:", "-- name: read\n-- Reads it.\n-- locks: none\nSELECT 1;"),
    (rules.has_its_header, "snake_case", GOOD.replace("read", "readIt", 1)),
    (rules.is_one_statement, "2 statements", HEADER + "SELECT 1; SELECT 2;"),
    (rules.is_one_statement, "semicolon", HEADER + "SELECT 1"),
    (rules.is_one_statement, "refused", HEADER + "-- refused: no such thing here\nSELECT 1;"),
    (rules.avoids_the_traps, "LIMIT", HEADER + "SELECT id FROM lastro.tail LIMIT 500;"),
    (
        rules.avoids_the_traps,
        "can ignore",
        HEADER + "DELETE FROM lastro.tail WHERE id IN (SELECT id FROM lastro.tail LIMIT %(n)s FOR UPDATE SKIP LOCKED);",
    ),
    (rules.avoids_the_traps, "without a target", HEADER + "INSERT INTO x VALUES (1) ON CONFLICT DO NOTHING;"),
    (rules.avoids_the_traps, "FOR NO KEY UPDATE", HEADER + "SELECT id FROM lastro.base WHERE id = 1\nFOR UPDATE;"),
    (rules.avoids_the_traps, "FOR NO KEY UPDATE", HEADER + "SELECT id FROM lastro.base FOR UPDATE NOWAIT;"),
    (rules.avoids_the_traps, "INSERT IGNORE", HEADER + "INSERT IGNORE INTO lastro.tail VALUES (1, 2, 3);"),
    (rules.avoids_the_traps, "session state", HEADER + "SET lock_timeout = '3s';"),
    (rules.avoids_the_traps, "session state", HEADER + "SELECT pg_advisory_lock(1);"),
    (rules.avoids_the_traps, "result shape", HEADER + "SELECT * FROM lastro.base;"),
    (rules.avoids_the_traps, "no order", GOOD.replace("ORDER BY account_id", "")),
]

BROKEN_FILES: list[tuple[str, str]] = [
    ("no `-- name:`", "SELECT 1;\n"),
    ("before the first", "SELECT 1;\n" + GOOD),
    ("comes twice", GOOD + GOOD),
]

# a word of the complaint, name, text
BROKEN_MIGRATIONS: list[tuple[str, str, str]] = [
    ("enum", "0001_core.sql", "-- Core.\nCREATE TYPE keeping AS ENUM ('hot');"),
    ("trigger", "0001_core.sql", "-- Core.\nCREATE FUNCTION post(a int) RETURNS int LANGUAGE sql AS $$ SELECT 1 $$;"),
    ("without a name", "0001_core.sql", "-- Core.\nCREATE TABLE lastro.hold (amount bigint CHECK (amount > 0));"),
    ("foreign key", "0001_core.sql", "-- Core.\nCREATE TABLE lastro.tail (account_id bigint REFERENCES lastro.base);"),
    ("comment", "0001_core.sql", "CREATE TABLE lastro.hold (amount bigint);"),
    ("number", "core.sql", "-- Core.\nCREATE TABLE lastro.hold (amount bigint);"),
]

SCHEMA = PACKAGE / "schema"


def _is_migration(path: str) -> bool:
    return path.rsplit("/", 1)[-1][:4].isdigit()


def _complaints(rule: Callable[[Statement], Iterator[str]], path: str, text: str) -> list[str]:
    return [fault for statement in rules.statements(path, text) for fault in rule(statement)]


def test_each_statement_keeps_the_rules() -> None:
    """Every named statement has its header, is one statement, and has none of the shapes that failed before."""
    files = rules.catalogue(PACKAGE / "sql")
    assert files, "no .sql file found"
    faults = [fault for path, text in files for rule in rules.FILE_RULES for fault in rule(path, text)]
    faults += [
        fault for path, text in files for rule in rules.STATEMENT_RULES for fault in _complaints(rule, path, text)
    ]
    assert faults == []


def test_each_migration_keeps_the_rules() -> None:
    """A migration has a number and a purpose, names its checks, and brings nothing that can never leave."""
    migrations = [(path, text) for path, text in rules.catalogue(SCHEMA) if _is_migration(path)]
    assert migrations, "no migration found"
    assert [fault for path, text in migrations for rule in rules.MIGRATION_RULES for fault in rule(path, text)] == []


def test_other_sql_of_the_schema_is_named() -> None:
    """What lies beside the migrations is a catalogue like any other."""
    files = [(path, text) for path, text in rules.catalogue(SCHEMA) if not _is_migration(path)]
    faults = [fault for path, text in files for rule in rules.FILE_RULES for fault in rule(path, text)]
    faults += [fault for path, text in files for fault in _complaints(rules.has_its_header, path, text)]
    assert faults == []


def test_sql_files_are_short() -> None:
    """No SQL file is longer than a module may be."""
    long = {path: lines for path, text in rules.catalogue(PACKAGE) if (lines := text.count("\n")) > MODULE_LINES_MAX}
    assert long == {}


@pytest.mark.parametrize(("rule", "word", "text"), BROKEN_STATEMENTS)
def test_a_statement_that_breaks_a_rule_is_named(
    rule: Callable[[Statement], Iterator[str]], word: str, text: str
) -> None:
    """Each rule catches what it is for, and says so."""
    assert any(word in fault for fault in _complaints(rule, "posting.sql", text))


@pytest.mark.parametrize(("word", "text"), BROKEN_FILES)
def test_a_file_that_breaks_a_rule_is_named(word: str, text: str) -> None:
    """SQL without a name, and a name that comes twice, are caught."""
    assert any(word in fault for fault in rules.file_is_named_throughout("posting.sql", text))


@pytest.mark.parametrize(("word", "path", "text"), BROKEN_MIGRATIONS)
def test_a_migration_that_breaks_a_rule_is_named(word: str, path: str, text: str) -> None:
    """What can never leave, has no name or locks a hot row is caught."""
    assert any(word in fault for fault in rules.migration_can_leave(path, text))


def test_good_sql_is_left_in_peace() -> None:
    """Bounds by name, locks in order, and traps spelt only in comments and strings pass."""
    assert list(rules.file_is_named_throughout("posting.sql", GOOD)) == []
    assert [fault for rule in rules.STATEMENT_RULES for fault in _complaints(rule, "posting.sql", GOOD)] == []
    tail_claim = HEADER + "SELECT transfer_id FROM lastro.tail LIMIT %(rows_max)s FOR UPDATE SKIP LOCKED;"
    assert _complaints(rules.avoids_the_traps, "consolidation.sql", tail_claim) == []
    trigger = (
        "-- Core.\nCREATE FUNCTION lastro.refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN; END; $$;\n"
        "CREATE TABLE lastro.tail (amount bigint, CONSTRAINT tail_amount_not_zero CHECK (amount <> 0));"
    )
    assert list(rules.migration_can_leave("0001_core.sql", trigger)) == []


def test_every_rule_has_been_seen_to_fail() -> None:
    """No statement rule stands in the list that a sample here doesn't break."""
    assert {rule for rule, _, _ in BROKEN_STATEMENTS} == set(rules.STATEMENT_RULES)
