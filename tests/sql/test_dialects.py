"""Each dialect says the same steps: the same names, and of what a plan reads the same columns."""

from __future__ import annotations

import re
import sqlite3

import psycopg
import pytest

from lastro import Ledger
from lastro.engine.sqlite_cursor import statements_of
from lastro.schema.migrations import foundation, migrations
from lastro.sql.catalogue import catalogue

# What an engine asks for itself, where the dialect needs more than the plans say.
OWN_STEPS: dict[str, set[str]] = {"mysql": set(), "sqlite": {"session.moment", "session.write_lock"}}
DIALECTS = tuple(OWN_STEPS)
# What PostgreSQL puts aside and gives back in the same breath; no plan reads it.
SETTINGS = {"callers_lock_timeout", "nothing_to_restore", "lock_timeout"}
# Steps whose rows no plan looks at.
UNREAD = {"accounts.open", "accounts.close", "counting.bump", "schema.lock", "schema.limit_lock_wait", "schema.note"}
UNREAD |= {"kinds.lock", "kinds.hold_writers", "kinds.put"}
UNREAD |= {"closed_periods.hold", "closed_periods.note", "closed_periods.move_bound"}
# Parameters that can't be NULL where a statement is only run for its columns.
VALUES = {"rows_max": 1, "original_id": 1, "already": 0, "amount": 1, "original_amount": 1, "transfer_id": 1}


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
        if (more := parameters("\n".join(statement.texts)) - given.get(name, set()) - {"now"})
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
    compared = 0
    for name, statement in catalogue("postgres", ledger_name).items():
        twin = statements_of(ledger_name)[name]
        if twin.refused or name in UNREAD or statement.text.startswith(("COPY", "SAVEPOINT", "ROLLBACK", "RELEASE")):
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


def parameters(text: str) -> set[str]:
    """The names of a text's parameters: `a__b` are the lists a and b side by side, `place` an element's own place."""
    names = re.findall(r"%\((\w+)\)s", text)
    return {part for name in names for part in name.split("__")} - {"place"}
