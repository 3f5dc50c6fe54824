"""What an operation reads doesn't grow with a member's history: counted by the server, not by the clock."""

from __future__ import annotations

import sqlite3
from typing import Any

import pytest

from lastro import Ledger
from tests.points.members import CURRENCY, REWARD, Club, caller_of

FEW, MANY = 10, 300
# Rows, or instructions of SQLite's machine, that one operation may read more beside a history 30 times as long: an index
# that is a level deeper, and no more.
MORE = {"postgres": 4, "mariadb": 4, "sqlite": 600}


@pytest.mark.req("1.11")
def test_an_earning_under_a_weekly_cap_reads_no_history(
    club: Club, store: str, store_url: str, ledger_name: str
) -> None:
    """Beside 300 earlier movements of the member in that week it reads what it reads beside 10."""
    club.points.define_rule("weekly", activity="game", points=1, currency=CURRENCY, cap=10_000, period="week")
    read = []
    for member, movements in (("ana", FEW), ("ben", MANY)):
        for number in range(movements):
            club.points.earn(f"{member}:{number}", activity="game", member=member)
        with caller_of(store, store_url) as connection:
            counting = Counting(store, connection, ledger_name)
            held = club.ledger.within(connection).points
            before = counting()
            held.earn(f"{member}:counted", activity="game", member=member)
            read.append(counting() - before)
    assert read[1] - read[0] <= MORE[store], read


@pytest.mark.req("1.13")
def test_a_spend_reads_open_lots_and_no_history(club: Club, store: str, store_url: str, ledger_name: str) -> None:
    """Beside 300 lots that were used up it reads what it reads beside 10."""
    read = []
    for member, movements in (("ana", FEW), ("ben", MANY)):
        for number in range(movements):
            club.earn(member, 1, key=f"{member}:{number}")
        club.spend(member, movements)
        club.earn(member, 5, key=f"{member}:left")
        with caller_of(store, store_url) as connection:
            counting = Counting(store, connection, ledger_name)
            held = club.ledger.within(connection).points
            before = counting()
            held.spend(key=f"{member}:counted", member=member, amount=2, currency=CURRENCY, reward=REWARD)
            read.append(counting() - before)
    assert read[1] - read[0] <= MORE[store], read


def test_a_scan_would_be_counted(ledger: Ledger, club: Club, store: str, store_url: str, ledger_name: str) -> None:
    """A statement that reads all of a member's activity goes beyond what is allowed."""
    del ledger
    for number in range(MANY):
        club.earn("ben", 1, key=f"ben:{number}")
    with caller_of(store, store_url) as connection:
        counting = Counting(store, connection, ledger_name)
        table = f"{ledger_name}_activity" if store == "sqlite" else f"{ledger_name}.activity"
        before = counting()
        connection.cursor().execute(f"SELECT sum(units) FROM {table}")
        assert counting() - before > MORE[store]


class Counting:
    """Counts what a connection reads: rows of the ledger's tables, or on SQLite the machine's instructions."""

    def __init__(self, store: str, connection: Any, ledger_name: str) -> None:
        self._store, self._connection, self._name = store, connection, ledger_name
        self._instructions = 0
        if isinstance(connection, sqlite3.Connection):
            connection.set_progress_handler(self._count, 1)
        if store == "postgres":
            # A few hundred rows are read as quickly without an index, and the planner knows it; a million aren't. What
            # has no index is still read without one.
            connection.execute("SET LOCAL enable_seqscan = off")

    def __call__(self) -> int:
        """What was read so far."""
        if self._store == "sqlite":
            return self._instructions
        cursor = self._connection.cursor()
        if self._store == "mariadb":
            cursor.execute("SHOW SESSION STATUS LIKE 'Handler_read%'")
            return sum(int(value) for _, value in cursor.fetchall())
        cursor.execute(
            "SELECT coalesce(sum(seq_tup_read), 0) + coalesce(sum(idx_tup_fetch), 0) FROM pg_stat_xact_user_tables"
            f" WHERE schemaname = '{self._name}'"
        )
        (read,) = cursor.fetchone()
        return int(read)

    def _count(self) -> int:
        self._instructions += 1
        return 0
