"""
A ledger for one part of a run: its accounts, and proof that what a load claims to have posted is there.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
from psycopg import sql

import lastro
from bench.server import BenchServer

CURRENCY = "BRL"
SPREAD_ACCOUNTS = 10_000
CONSOLIDATOR_WAIT_S = 30
POOL_MAX = 16


class Books:
    """
    A ledger with accounts `platform` (hot), `busy` (direct) and 10,000 more that are kept direct, ids 1 … 10,000.
    """

    def __init__(self, server: BenchServer, name: str) -> None:
        self.server = server
        self.name = name
        self.ledger = lastro.connect(server.url, ledger=name, pool_max=POOL_MAX)
        self.ledger.migrate()
        self.ledger.open_account("platform", CURRENCY, keeping="hot")
        self.ledger.open_account("busy", CURRENCY)
        self.connection = psycopg.connect(server.url, autocommit=True)
        # pgbench can only draw numbers, so these accounts have ids in a row; a ledger's own are drawn at random.
        self.execute(
            f"""
            INSERT INTO account (id, name, currency, opened_at)
            SELECT n, 'spread:' || n, '{CURRENCY}', now() FROM generate_series(1, {SPREAD_ACCOUNTS}) AS n;
            INSERT INTO base (account_id, keeping, floor, changed_at)
            SELECT n, 'direct', 0, now() FROM generate_series(1, {SPREAD_ACCOUNTS}) AS n;
            ANALYZE account, base;
            """
        )

    def execute(self, query: str) -> psycopg.Cursor[Any]:
        """Execute SQL with this ledger's tables in the search path."""
        self.connection.execute(f"SET search_path = {self.name}".encode())
        return self.connection.execute(query.encode())

    def value(self, query: str) -> Any:
        """The one value of a query."""
        row = self.execute(query).fetchone()
        assert row is not None
        return row[0]

    def account_id(self, name: str) -> int:
        """The id of an account."""
        found: int = self.value(f"SELECT id FROM account WHERE name = '{name}' AND currency = '{CURRENCY}'")
        return found

    def posted(self) -> int:
        """How many transfers there are."""
        count: int = self.value("SELECT count(*) FROM transfer_key")
        return count

    def close(self) -> None:
        """Drop the ledger."""
        self.ledger.close()
        self.connection.execute(sql.SQL("DROP SCHEMA {} CASCADE").format(sql.Identifier(self.name)))
        self.connection.close()


@contextmanager
def books(server: BenchServer, name: str) -> Iterator[Books]:
    """Make a ledger for one part of the run, and drop it afterwards."""
    made = Books(server, name)
    try:
        yield made
    finally:
        made.close()


@contextmanager
def consolidating(made: Books) -> Iterator[subprocess.Popen[bytes]]:
    """Run a consolidator in a process of its own, at its usual interval."""
    with consolidating_at(made.server.url, made.name) as process:
        yield process


@contextmanager
def consolidating_at(url: str, ledger: str) -> Iterator[subprocess.Popen[bytes]]:
    """The same for a ledger in any store."""
    environment = os.environ | {"LASTRO_DATABASE_URL": url}
    process = subprocess.Popen([sys.executable, "-m", "bench.consolidator", ledger], env=environment)
    try:
        yield process
        assert process.poll() is None, "the consolidator ended by itself"
    finally:
        process.terminate()
        process.wait(CONSOLIDATOR_WAIT_S)
