"""A second pair of eyes on the ledger's tables, past the library: one kind a store, the same questions."""

from __future__ import annotations

import re
import sqlite3
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import psycopg
import pymysql
from sqlalchemy import NullPool, create_engine, inspect

from tests.support.mariadb import arguments_of


class Raw(ABC):
    """Statements on the tables themselves: `{s}.` stands before the name of each."""

    store: str
    # Whether accounts can be kept hot, and what the movement's own number is called.
    has_tail = True
    position = "position"

    def __init__(self, schema: str) -> None:
        self.schema = schema

    @abstractmethod
    def __call__(self, statement: str, *params: object) -> list[tuple[Any, ...]]:
        """Run a statement, commit it and return its rows; parameters are written %s."""

    @abstractmethod
    def tables(self) -> list[str]:
        """The names of all tables."""

    @abstractmethod
    def columns(self, view: str) -> list[str]:
        """The names of a table's or view's columns."""

    @abstractmethod
    def versions(self) -> list[tuple[Any, ...]]:
        """The base rows with all that shows whether one was written, be it with the same values."""

    @abstractmethod
    def disarm(self, table: str) -> None:
        """Take away what keeps somebody from writing nonsense into a table: its checks and its triggers."""

    @abstractmethod
    def close(self) -> None:
        """Close the connection."""

    def one(self, statement: str, *params: object) -> Any:
        """The one value that a statement returns."""
        ((value,),) = self(statement, *params)
        return value

    def written(self) -> dict[str, int]:
        """The number of rows of every table, to show that nothing was written."""
        counts = {name: self.one(f'SELECT count(*) FROM {{s}}."{name}"') for name in self.tables()}
        # A base row that was touched, or money that moved, is a write as well.
        counts["base payments"] = self.one("SELECT coalesce(sum(payments), 0) FROM {s}.base")
        counts["base amounts"] = sum(abs(amount) for (amount,) in self("SELECT amount FROM {s}.base"))
        return counts


class PostgresRaw(Raw):
    """By psycopg."""

    store = "postgres"

    def __init__(self, url: str, schema: str) -> None:
        super().__init__(schema)
        self.connection: psycopg.Connection[Any] = psycopg.connect(url, autocommit=True)

    def __call__(self, statement: str, *params: object) -> list[tuple[Any, ...]]:
        """Run a statement, commit it and return its rows."""
        cursor = self.connection.execute(in_store(statement, self.schema, "postgres").encode(), params or None)
        return list(cursor.fetchall()) if cursor.description else []

    def tables(self) -> list[str]:
        """The tables; partitions are no tables of their own."""
        rows = self(
            "SELECT relname FROM pg_class WHERE relnamespace = '{s}'::regnamespace AND relkind IN ('r', 'p') "
            "AND NOT relispartition ORDER BY relname"
        )
        return [name for (name,) in rows]

    def columns(self, view: str) -> list[str]:
        """The columns that aren't the system's."""
        rows = self(
            f"SELECT attname FROM pg_attribute WHERE attrelid = '{{s}}.{view}'::regclass AND attnum > 0 ORDER BY attnum"
        )
        return [name for (name,) in rows]

    def versions(self) -> list[tuple[Any, ...]]:
        """By the row versions of PostgreSQL."""
        return self("SELECT account_id, xmin::text, ctid::text, payments FROM {s}.base ORDER BY 1")

    def disarm(self, table: str) -> None:
        """Drop the checks; triggers don't fire for a replica."""
        checks = self(
            "SELECT conrelid::regclass::text, conname FROM pg_constraint "
            f"WHERE conrelid = '{{s}}.{table}'::regclass AND contype = 'c'"
        )
        for where, name in checks:
            self(f"ALTER TABLE {where} DROP CONSTRAINT {name}")
        self("SET session_replication_role = replica")

    def close(self) -> None:
        """Close the connection."""
        self.connection.close()


class MariadbRaw(Raw):
    """By PyMySQL; text that is stored as bytes is read as text."""

    store = "mariadb"

    def __init__(self, url: str, schema: str) -> None:
        super().__init__(schema)
        self.connection: pymysql.connections.Connection[Any] = pymysql.connect(**arguments_of(url), autocommit=True)
        # Names in double quotes, as everywhere else, and recursion as deep as a test likes.
        self("SET SESSION sql_mode = concat(@@sql_mode, ',ANSI_QUOTES'), SESSION max_recursive_iterations = 100000")

    def __call__(self, statement: str, *params: object) -> list[tuple[Any, ...]]:
        """Run a statement, commit it and return its rows."""
        with self.connection.cursor() as cursor:
            cursor.execute(in_store(statement, self.schema, "mariadb"), params or None)
            return [
                tuple(value.decode() if isinstance(value, bytes) else value for value in row)
                for row in cursor.fetchall()
            ]

    def tables(self) -> list[str]:
        """The tables that aren't views."""
        rows = self(
            "SELECT table_name FROM information_schema.tables "
            "WHERE table_schema = '{s}' AND table_type = 'BASE TABLE' ORDER BY 1"
        )
        return [name for (name,) in rows]

    def columns(self, view: str) -> list[str]:
        """The columns."""
        rows = self(
            "SELECT column_name FROM information_schema.columns "
            f"WHERE table_schema = '{{s}}' AND table_name = '{view}' ORDER BY ordinal_position"
        )
        return [name for (name,) in rows]

    def versions(self) -> list[tuple[Any, ...]]:
        """By all columns: whoever writes a base row says when."""
        return self("SELECT * FROM {s}.base ORDER BY account_id")

    def disarm(self, table: str) -> None:
        """Drop the triggers; checks are ignored by this connection."""
        for (name,) in self(
            "SELECT trigger_name FROM information_schema.triggers "
            f"WHERE trigger_schema = '{{s}}' AND event_object_table = '{table}'"
        ):
            self(f"DROP TRIGGER {{s}}.{name}")
        self("SET SESSION check_constraint_checks = OFF, SESSION sql_mode = 'ANSI_QUOTES'")

    def close(self) -> None:
        """Close the connection."""
        self.connection.close()


class SqliteRaw(Raw):
    """By the sqlite3 module."""

    store = "sqlite"

    def __init__(self, path: str, schema: str) -> None:
        super().__init__(schema)
        self.connection = sqlite3.connect(path, isolation_level=None)

    def __call__(self, statement: str, *params: object) -> list[tuple[Any, ...]]:
        """Run a statement, commit it and return its rows."""
        cursor = self.connection.execute(in_store(statement, self.schema, "sqlite"), params)
        return cursor.fetchall()

    def tables(self) -> list[str]:
        """The tables, without the ledger's prefix."""
        rows = self("SELECT name FROM sqlite_schema WHERE type = 'table' AND name GLOB '{s}.*' ORDER BY name")
        return [name.removeprefix(f"{self.schema}_") for (name,) in rows]

    def columns(self, view: str) -> list[str]:
        """The columns."""
        return [name for (name,) in self(f"SELECT name FROM pragma_table_info('{{s}}.{view}')")]

    def versions(self) -> list[tuple[Any, ...]]:
        """By all columns: whoever writes a base row says when."""
        return self("SELECT * FROM {s}.base ORDER BY account_id")

    def disarm(self, table: str) -> None:
        """Drop the triggers; checks are ignored by this connection."""
        for (name,) in self(
            f"SELECT name FROM sqlite_schema WHERE type = 'trigger' AND tbl_name = '{{s}}.{table}' ORDER BY name"
        ):
            self(f"DROP TRIGGER {name}")
        self("PRAGMA ignore_check_constraints = ON")

    def close(self) -> None:
        """Close the connection."""
        self.connection.close()


class FirebirdRaw(Raw):
    """By SQLAlchemy, each statement in a transaction of its own. Some columns have names that every database takes."""

    store = "firebird"
    has_tail = False
    position = "transfer_id"

    def __init__(self, url: str, schema: str) -> None:
        super().__init__(schema)
        self._engine = create_engine(url, poolclass=NullPool)

    def __call__(self, statement: str, *params: object) -> list[tuple[Any, ...]]:
        """Run a statement, commit it and return its rows."""
        spelt = in_store(statement, self.schema, "firebird")
        with self._engine.begin() as connection:
            result = connection.exec_driver_sql(spelt, params)
            return [tuple(row) for row in result.fetchall()] if result.returns_rows else []

    def tables(self) -> list[str]:
        """The tables, without the ledger's prefix."""
        return sorted(
            name.removeprefix(f"{self.schema}_")
            for name in inspect(self._engine).get_table_names()
            if name.startswith(f"{self.schema}_")
        )

    def columns(self, view: str) -> list[str]:
        """The columns."""
        return [column["name"] for column in inspect(self._engine).get_columns(f"{self.schema}_{view}")]

    def versions(self) -> list[tuple[Any, ...]]:
        """By all columns but the count of locks: a lock is an UPDATE here."""
        return self(
            "SELECT account_id, keeping, state, amount, held, payments, turns, last_id, changed_at FROM {s}.base "
            "ORDER BY account_id"
        )

    def disarm(self, table: str) -> None:
        """Drop the checks; there are no triggers."""
        for (name,) in self(
            "SELECT trim(rdb$constraint_name) FROM rdb$relation_constraints "
            "WHERE rdb$constraint_type = 'CHECK' AND rdb$relation_name = upper('{s}." + table + "')"
        ):
            self(f"ALTER TABLE {{s}}.{table} DROP CONSTRAINT {name}")

    def close(self) -> None:
        """Close the connections."""
        self._engine.dispose()


def in_store(statement: str, schema: str, store: str) -> str:
    """The statement with the ledger's own tables, parameters as the store writes them."""
    if store in ("sqlite", "firebird"):
        if store == "firebird":
            statement = re.sub(r'{s}\."(\w+)"', r"{s}.\1", statement).replace("{s}.migration", "{s}.version")
        return statement.replace('{s}."', f'"{schema}_').replace("{s}.", f"{schema}_").replace("%s", "?")
    if store == "mariadb":
        statement = statement.replace("ANALYZE {s}", "ANALYZE TABLE {s}")
    return statement.replace("{s}", schema)


def placeholders(values: Sequence[object]) -> str:
    """As many parameters as there are values."""
    return ", ".join(["%s"] * len(values))
