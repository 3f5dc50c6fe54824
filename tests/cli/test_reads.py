"""`lastro reads`: a read model made, filled and looked at from the terminal."""

from __future__ import annotations

import psycopg
import pytest
from psycopg import sql

from lastro import Ledger
from tests.cli.conftest import Run
from tests.support.money import fund


@pytest.mark.req("3.13")
def test_a_read_model_from_the_terminal(ledger: Ledger, run: Run, server_url: str) -> None:
    """Made once, filled once, rebuilt to the same, and its standing shown."""
    fund(ledger, "ana", 1_000)
    schema = f"{ledger._operations.ledger[:40]}_shown"
    there = ("--schema", schema)
    assert run("reads", "status", *there, "--json").code == 1
    try:
        assert run("reads", "migrate", *there, "--json").json() == {"applied": ["0001_reads"]}
        assert run("reads", "fill", *there).out == "new entries\n2\n"
        assert run("reads", "fill", *there, "--json").json() == {"entries": 0}
        assert run("reads", "rebuild", "--model", server_url, *there, "--json").json() == {"entries": 2}
        assert run("reads", "status", *there, "--json").json()["events"] == 0
    finally:
        with psycopg.connect(server_url, autocommit=True) as connection:
            connection.execute(sql.SQL("DROP SCHEMA IF EXISTS {} CASCADE").format(sql.Identifier(schema)))
