"""
What a ledger's posts are held against in each store: the bare one-row insert, the least that a once-only post must
write, and the naive balance row.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from typing import Any, NamedTuple

import pymysql
from pymysql.constants import CLIENT

from lastro.engine.mysql_address import address_of as mysql_address_of
from lastro.engine.mysql_address import arguments_of
from lastro.engine.sqlite_address import address_of as sqlite_address_of

NO_FLAGS = 0
LEDGER = "bench_store"
SCHEMA = "bench_bare"
MARIADB_TABLES = (
    f"CREATE SCHEMA IF NOT EXISTS {SCHEMA}",
    f"CREATE TABLE IF NOT EXISTS {SCHEMA}.bare (account_id bigint, amount bigint, `key` varchar(64)) ENGINE = InnoDB",
    f"CREATE TABLE IF NOT EXISTS {SCHEMA}.naive_balance (account_id bigint PRIMARY KEY, amount bigint NOT NULL)",
    f"""
    CREATE TABLE IF NOT EXISTS {SCHEMA}.naive_entry (
        id bigint AUTO_INCREMENT PRIMARY KEY, account_id bigint NOT NULL, amount bigint NOT NULL,
        `key` varchar(64) NOT NULL UNIQUE
    )
    """,
    f"INSERT IGNORE INTO {SCHEMA}.naive_balance VALUES (1, 0)",
)
# Copies of the ledger's own tables, with their indexes and checks.
MARIADB_COPIES = tuple(
    f"CREATE TABLE IF NOT EXISTS {SCHEMA}.{name} LIKE {{ledger}}.{name}"
    for name in ("transfer_key", "transfer", "tail")
)
MARIADB_FLOOR = f"""
START TRANSACTION;
INSERT INTO {SCHEMA}.transfer_key (`key`, debit_id) VALUES (%(key)s, 1);
INSERT INTO {SCHEMA}.transfer (
    id, debit_id, credit_id, amount, occurred_at, recorded_at, `key`, kind, cause, source, actor
)
VALUES (
    last_insert_id(), 1, 2, %(amount)s, utc_timestamp(6), utc_timestamp(6), %(key)s, 'commission', %(cause)s, %(cause)s,
    'checkout'
);
INSERT INTO {SCHEMA}.tail (account_id, transfer_id, amount) VALUES (2, last_insert_id(), %(amount)s);
SELECT last_insert_id() AS id;
COMMIT
"""
SQLITE_TABLES = "CREATE TABLE IF NOT EXISTS bare (account_id integer, amount integer, key text)"
SQLITE_FLOOR = (
    "BEGIN IMMEDIATE",
    """
    INSERT INTO {ledger}_transfer (
        debit_id, credit_id, amount, occurred_at, recorded_at, key, kind, cause, source, actor
    )
    VALUES (1, 2, :amount, 0, 0, :key, 'commission', :cause, :cause, 'checkout')
    """,
    "INSERT INTO {ledger}_tail (account_id, transfer_id, amount) VALUES (2, last_insert_rowid(), :amount)",
    "COMMIT",
)


class Row(NamedTuple):
    """What one insert writes: as long and as scattered as a transfer's key and amount."""

    amount: int
    key: str


Write = Callable[[Row], None]


def mariadb_connection(url: str, *, autocommit: bool) -> Any:
    """A connection as an application opens it, by the driver that the ledger uses."""
    arguments = arguments_of(mysql_address_of(url), multi_statements=NO_FLAGS)
    return pymysql.connect(**arguments | {"autocommit": autocommit})


def mariadb_limit(url: str) -> Write:
    """One row into a table without key, index or check, committed with its statement."""
    cursor = mariadb_connection(url, autocommit=True).cursor()

    def write(row: Row) -> None:
        cursor.execute(f"INSERT INTO {SCHEMA}.bare (account_id, amount, `key`) VALUES (1, %s, %s)", row)

    return write


def mariadb_floor(url: str) -> Write:
    """Key, history and tail in one packet and one transaction, with nothing checked: the least that a post writes."""
    connection = pymysql.connect(
        **arguments_of(mysql_address_of(url), multi_statements=CLIENT.MULTI_STATEMENTS) | {"autocommit": True}
    )
    cursor = connection.cursor()

    def write(row: Row) -> None:
        cursor.execute(MARIADB_FLOOR, _named(row))
        while cursor.nextset():
            pass

    return write


def _named(row: Row) -> dict[str, Any]:
    return {**row._asdict(), "cause": f"order:{row.amount}"}


def mariadb_naive(url: str) -> Write:
    """One transaction with an UPDATE of the one balance row and the entry."""
    connection = mariadb_connection(url, autocommit=False)
    cursor = connection.cursor()

    def write(row: Row) -> None:
        cursor.execute(f"UPDATE {SCHEMA}.naive_balance SET amount = amount + %s WHERE account_id = 1", (row.amount,))
        cursor.execute(f"INSERT INTO {SCHEMA}.naive_entry (account_id, amount, `key`) VALUES (1, %s, %s)", row)
        connection.commit()

    return write


def sqlite_connection(url: str) -> sqlite3.Connection:
    """A connection with the durability that the ledger sets: WAL, flushed with every commit."""
    connection = sqlite3.connect(sqlite_address_of(url).path, isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    return connection


def sqlite_limit(url: str) -> Write:
    """One row into a table without key, index or check, committed with its statement."""
    connection = sqlite_connection(url)

    def write(row: Row) -> None:
        connection.execute("INSERT INTO bare (account_id, amount, key) VALUES (1, ?, ?)", row)

    return write


def sqlite_floor(url: str) -> Write:
    """History and tail in one transaction, with nothing checked but by the tables: the least that a post writes."""
    connection = sqlite_connection(url)
    texts = [text.format(ledger=LEDGER) for text in SQLITE_FLOOR]

    def write(row: Row) -> None:
        for text in texts:
            connection.execute(text, _named(row))

    return write


def copy_sqlite_tables(ledger_url: str, bare_url: str) -> None:
    """Make the ledger's tables in another file, with the indexes and triggers of its history and its tail."""
    ledger, bare = sqlite_connection(ledger_url), sqlite_connection(bare_url)
    query = """
        SELECT sql FROM sqlite_master
        WHERE sql IS NOT NULL AND (tbl_name IN (:transfer, :tail) OR (type = 'table' AND name LIKE :of_the_ledger))
        ORDER BY type <> 'table', rootpage
    """
    names = {"transfer": f"{LEDGER}_transfer", "tail": f"{LEDGER}_tail", "of_the_ledger": f"{LEDGER}_%"}
    for (statement,) in ledger.execute(query, names).fetchall():
        bare.execute(statement)
    ledger.close()
    bare.close()
