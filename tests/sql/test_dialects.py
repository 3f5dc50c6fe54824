"""Each dialect says the same steps: the same names, and of what a plan reads the same columns."""

from __future__ import annotations

import re
import sqlite3
from pathlib import Path

import psycopg
import pytest
from sqlalchemy import create_engine

from lastro import Ledger
from lastro.engine.generic_text import statements_of as generic_statements
from lastro.engine.generic_text import types_of
from lastro.engine.sqlite_cursor import statements_of
from lastro.schema.migrations import foundation, migrations
from lastro.sql.catalogue import catalogue
from tests.support.generic import forced

# What an engine asks for itself, where the dialect needs more than the plans say.
OWN_STEPS: dict[str, set[str]] = {"generic": set(), "mysql": set(), "sqlite": {"session.write_lock"}}
DIALECTS = tuple(OWN_STEPS)
# What an engine makes of the parameters that it is given, and what it draws itself.
OWN_PARAMETERS: dict[str, set[str]] = {
    "generic": {
        "account_digest", "account_digests", "after_digest", "drawn_gap", "drawn_id", "fresh_id", "key_digest",
        "key_digests", "keys_count", "name_digest", "newest_id", "prefix_pattern",
    }
}  # fmt: skip
# What one statement of a step finds for the next ones.
FOUND: dict[str, set[str]] = {"accounts.lock": {"account_id"}, "locked.write": {"new_id"}}
# The accounts of a batch, above whose newest transfer the generic engine draws; the other dialects have a sequence.
GIVEN_TO_ALL = {"batch.draw_ids": {"account_ids"}}
# What PostgreSQL puts aside and gives back in the same breath; no plan reads it.
SETTINGS = {"callers_lock_timeout", "nothing_to_restore", "lock_timeout"}
# Steps whose rows no plan looks at.
UNREAD = {
    "points_earning.note_earning",
    "points_earning.keep_room",
    "points_earning.give_room_back",
    "points_members.join",
    "points_rebuilding.begin",
    "points_rebuilding.note",
    "points_rebuilding.finish",
    "accounts.open",
    "accounts.close",
    "counting.bump",
    "schema.lock",
    "schema.limit_lock_wait",
    "schema.note",
    "kinds.lock",
    "kinds.hold_writers",
    "kinds.put",
    "closed_periods.hold",
    "closed_periods.note",
    "closed_periods.move_bound",
    "closings.begin",
    "closings.wait",
    "closings.advance",
    "closings.finish",
    "closings.follow",
    "incidents.open",
    "adjusting.write",
    "adopting.hold",
    "adopting.begin",
    "adopting.note_event",
    "adopting.note_look",
    "adopting.put_difference",
    "adopting.open_accounts",
    "adopting.begin_mirroring",
}
# Steps that return what they wrote, and can't write the NULLs with which statements are run here for their columns.
RETURN_WRITTEN = {"points_rules.define": {"defined_at"}, "points_earning.note_cancelled": {"cancelled_at"}}
# What the generic dialect needs beside the step's columns, to order by.
EXTRA = {"digest"}
# Parameters that can't be NULL where a statement is only run for its columns.
VALUES = {
    "rows_max": 1,
    "accounts_max": 1,
    "lots_max": 1,
    "original_id": 1,
    "already": 0,
    "amount": 1,
    "original_amount": 1,
    "transfer_id": 1,
    "candidate_id": 1,
    "checked_id": 1,
    "trigger_name": "t",
    "table_name": "own_table",
    "balance": "own_balance",
}
# What stands in the statements for a table of the application's own is a table here.
OWN_TABLE = (
    "CREATE TABLE own_table "
    "(own_id bigint, own_id_2 bigint, own_balance bigint, own_currency text, own_only text, own_null text)"
)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_each_dialect_has_every_step(dialect: str) -> None:
    """A plan finds each step in each dialect; one that a dialect can't do is refused there, and never missing."""
    assert set(catalogue(dialect)) - OWN_STEPS[dialect] == set(catalogue("postgres"))


@pytest.mark.parametrize("dialect", DIALECTS)
def test_each_dialect_takes_the_same_parameters(dialect: str) -> None:
    """No statement asks for a parameter that the plan doesn't give: each is one of PostgreSQL's, or the moment."""
    given = {name: parameters("\n".join(statement.texts)) for name, statement in catalogue("postgres").items()}
    given["batch.copy_transfers"] = set(re.findall(r"\w+", catalogue("postgres")["batch.copy_transfers"].text))
    foreign = {
        name: more
        for name, statement in catalogue(dialect).items()
        if (
            more := parameters("\n".join(statement.texts))
            - given.get(name, set())
            - GIVEN_TO_ALL.get(name, set())
            - OWN_PARAMETERS.get(dialect, set())
            - (FOUND.get(name, set()) if dialect == "generic" else set())
            - {"now"}
        )
    }
    assert foreign == {}


def test_what_is_read_has_the_same_columns(
    ledger: Ledger, connection: psycopg.Connection[object], ledger_name: str
) -> None:
    """Each step that returns rows returns the columns that PostgreSQL returns, in SQLite as well."""
    del ledger  # asked for so that its tables are there
    lite = sqlite3.connect(":memory:")
    lite.executescript(foundation("sqlite", ledger_name))
    for migration in migrations("sqlite", ledger_name):
        lite.executescript(migration.script)
    lite.execute(OWN_TABLE)
    connection.execute(OWN_TABLE.replace("own_table", f"{ledger_name}.own_table").encode())
    connection.commit()
    compared = 0
    for name, statement in catalogue("postgres", ledger_name).items():
        twin = statements_of(ledger_name)[name]
        if twin.refused or name in UNREAD or statement.text.startswith(("COPY", "SAVEPOINT", "ROLLBACK", "RELEASE")):
            continue
        if name in RETURN_WRITTEN:
            for text in (statement.text, twin.texts[-1]):
                assert set(re.findall(r"RETURNING (\w+)$", text)) == RETURN_WRITTEN[name], name
            continue
        given = {name: VALUES.get(name) for name in parameters(statement.text) | {"now"}}
        cursor = connection.execute(statement.text.encode(), given)
        expected = {column.name for column in cursor.description or ()} - SETTINGS
        found = set[str]()
        for text in twin.texts:
            lite_cursor = lite.execute(text, given)
            if lite_cursor.description:
                found = {column[0] for column in lite_cursor.description}
        assert found - SETTINGS == expected, name
        connection.rollback()
        lite.rollback()
        compared += 1
    lite.close()
    assert compared > 30


def test_the_generic_dialect_reads_the_same_columns(
    ledger: Ledger, connection: psycopg.Connection[object], ledger_name: str, tmp_path: Path
) -> None:
    """The same of the statements that any database takes: SQLite takes them too."""
    del ledger
    engine = create_engine(f"sqlite:///{tmp_path}/generic.db")
    with forced(str(engine.url), ledger_name) as anywhere, engine.connect() as plain:
        anywhere.migrate()
        compared = 0
        for name, said in generic_statements(ledger_name, types_of(engine.dialect)).items():
            statement = catalogue("postgres", ledger_name)[name]
            if said.refused or name in UNREAD | {"auditing.tails"} or statement.text.startswith(("COPY", "SAVEPOINT")):
                continue
            if statement.text.startswith(("ROLLBACK", "RELEASE")):
                continue
            given = {name: VALUES.get(name) for name in parameters(statement.text) | {"now"}}
            expected = {column.name for column in connection.execute(statement.text.encode(), given).description or ()}
            found = set[str]()
            for one in said.texts:
                bound = {name: VALUES.get(name) for name in one.params} | {one.listed or "": [None]}
                result = (
                    plain.execute(one.statement, bound)
                    if not one.rebases and "INSERT" not in str(one.statement)
                    else None
                )
                if result is not None and result.returns_rows:
                    found = {column.rstrip("_") for column in list(result.keys())}
            assert found - SETTINGS - EXTRA == expected - SETTINGS, name
            connection.rollback()
            plain.rollback()
            compared += 1
    engine.dispose()
    assert compared > 30


def parameters(text: str) -> set[str]:
    """The names of a text's parameters: `a__b` are the lists a and b side by side, `each_a` one of a, `place` an element's own place."""
    names = re.findall(r"%\((?:each_)?(\w+)\)s", text)
    return {part for name in names for part in name.split("__")} - {"place"}
