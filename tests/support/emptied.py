"""
Ledgers for tests, migrated once and emptied between tests: a migration takes longer than most tests.

What a test gets can't be told from a ledger just migrated. One that a test left with other tables, triggers or rights
than a migration makes is dropped, and so is one that can't be emptied at once, because something still holds its locks.
"""

from __future__ import annotations

import secrets
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import psycopg
import pymysql
from psycopg import sql

import lastro
from lastro import Ledger
from lastro.testing import temporary_ledger
from tests.support.mariadb import arguments_of
from tests.support.schemas import NAME_BYTES, drop
from tests.support.stores import MARIADB, POSTGRES, SQLITE, store_of

LOCK_TIMEOUT_S = 2
# What another store is, only the generic engine knows.
KNOWN = ("postgres", "mariadb", "mysql", "sqlite")


class Emptier(Protocol):
    """How a store is put back to where a migration leaves it."""

    def made(self, name: str) -> Any:
        """Return what there is to compare with later, and to write again."""

    def empty(self, name: str, made: Any) -> bool:
        """Make the ledger as it was made, or return False where it is another by now."""

    def close(self) -> None:
        """Leave the store."""


class _Kept(NamedTuple):
    name: str
    made: Any


class EmptiedLedgers:
    """The ledgers of one test process, on whichever stores its tests run."""

    def __init__(self) -> None:
        self._idle: dict[str, list[_Kept]] = {}
        self._emptiers: dict[str, Emptier] = {}
        self._sqlite: _SqliteTemplate | None = None

    @contextmanager
    def one(self, url: str, **options: Any) -> Iterator[Ledger]:
        """Yield a ledger as if just migrated; *options* are those of `lastro.connect`."""
        if not url.startswith(KNOWN):
            with temporary_ledger(url, **options) as ledger:
                yield ledger
            return
        if store_of(url) == SQLITE:
            self._sqlite = self._sqlite or _SqliteTemplate()
            with lastro.connect(url, ledger=self._sqlite.copied(url), **options) as ledger:
                yield ledger
            return
        idle = self._idle.setdefault(url, [])
        kept = idle.pop() if idle else _migrated(url, self._emptier(url))
        well = False
        try:
            with lastro.connect(url, ledger=kept.name, **options) as ledger:
                yield ledger
            well = self._emptied(url, kept)
        finally:
            if well:
                idle.append(kept)
            else:
                drop(url, [kept.name])

    def _emptier(self, url: str) -> Emptier:
        if url not in self._emptiers:
            self._emptiers[url] = EMPTIERS[store_of(url)](url)
        return self._emptiers[url]

    def _emptied(self, url: str, kept: _Kept) -> bool:
        try:
            return self._emptier(url).empty(kept.name, kept.made)
        except (psycopg.OperationalError, pymysql.OperationalError):
            # Somebody holds its locks, or the test has ended every session of its server.
            self._emptiers.pop(url).close()
            return False

    def leave(self, url: str, *, drops: bool) -> None:
        """Leave a server before it ends; with *drops* nothing of ours stays on it."""
        if url in self._emptiers:
            self._emptiers.pop(url).close()
        idle = self._idle.pop(url, [])
        if drops:
            drop(url, [kept.name for kept in idle])

    def close(self) -> None:
        """Remove the file that was copied."""
        if self._sqlite is not None:
            self._sqlite.remove()


def _migrated(url: str, emptier: Emptier) -> _Kept:
    name = f"emptied_{secrets.token_hex(NAME_BYTES)}"
    with lastro.connect(url, ledger=name) as ledger:
        ledger.migrate()
    return _Kept(name, emptier.made(name))


class _SqliteTemplate:
    """A migrated file, to be copied."""

    def __init__(self) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="lastro-template-"))
        self._file = self._folder / "ledger.db"
        self._name = f"emptied_{secrets.token_hex(NAME_BYTES)}"
        with lastro.connect(f"sqlite:///{self._file}", ledger=self._name) as ledger:
            ledger.migrate()
        left = [file.name for file in self._folder.iterdir()]
        assert left == [self._file.name], f"a copy would lack what {left} hold"

    def copied(self, url: str) -> str:
        """Put a copy where *url* says, and return the ledger's name in it."""
        path = Path(url.removeprefix("sqlite:///"))
        assert not path.exists(), f"{path} is there already"
        shutil.copyfile(self._file, path)
        return self._name

    def remove(self) -> None:
        """Delete the template."""
        shutil.rmtree(self._folder)


class _PostgresMade(NamedTuple):
    tables: frozenset[str]
    shape: str
    sequences: Sequence[tuple[str, int]]
    rows: Sequence[tuple[str, str]]


class PostgresEmptier:
    """By TRUNCATE, past the triggers that refuse it."""

    # What a migration makes and a test may change: tables, views and indexes with their options, rights and owners.
    SHAPE = """
        SELECT md5(string_agg(part, ';' ORDER BY part)) FROM (
            SELECT concat_ws(' ', 'class', oid, relname, relkind, relowner, relacl, reloptions, relrowsecurity, relispartition)
            FROM pg_class WHERE relnamespace = %(name)s::text::regnamespace
            UNION ALL
            SELECT concat_ws(' ', 'column', attrelid, attnum, attribute.xmin)
            FROM pg_attribute AS attribute INNER JOIN pg_class AS class ON attribute.attrelid = class.oid
            WHERE relnamespace = %(name)s::text::regnamespace AND relkind IN ('r', 'p') AND attnum > 0
            UNION ALL
            SELECT concat_ws(' ', 'trigger', tgrelid, armed.oid, armed.xmin)
            FROM pg_trigger AS armed INNER JOIN pg_class AS class ON armed.tgrelid = class.oid
            WHERE relnamespace = %(name)s::text::regnamespace
            UNION ALL
            SELECT concat_ws(' ', 'constraint', oid, xmin) FROM pg_constraint
            WHERE connamespace = %(name)s::text::regnamespace
            UNION ALL
            SELECT concat_ws(' ', 'function', oid, xmin) FROM pg_proc WHERE pronamespace = %(name)s::text::regnamespace
            UNION ALL
            SELECT concat_ws(' ', 'schema', oid, nspowner, nspacl) FROM pg_namespace WHERE nspname = %(name)s::text
        ) AS parts (part)
    """
    TABLES = """
        SELECT class.relname FROM pg_class AS class
        WHERE class.relnamespace = %(name)s::text::regnamespace AND class.relkind IN ('r', 'p')
        AND (%(empty)s OR pg_relation_size(class.oid) > 0)
        ORDER BY class.relname
    """
    SEQUENCES = """
        SELECT sequencename, coalesce(last_value, 0) FROM pg_sequences
        WHERE schemaname = %(name)s::text AND (last_value IS NOT NULL OR %(unused)s) ORDER BY sequencename
    """

    def __init__(self, url: str) -> None:
        self._connection = psycopg.connect(url, autocommit=True)

    def made(self, name: str) -> _PostgresMade:
        """Return the ledger's shape, where its sequences stand, and the rows that its migrations wrote."""
        rows = []
        for table in self._tables(name, empty=False):
            query = sql.SQL("SELECT json_agg(row) FROM {} AS row").format(sql.Identifier(name, table))
            rows.append((table, self._connection.execute(query).fetchone()[0]))  # type: ignore[index]
        found = [(table, psycopg.types.json.Json(content)) for table, content in rows if content]
        tables = frozenset(self._tables(name, empty=True))
        return _PostgresMade(tables, self._shape(name), self._sequences(name, unused=True), found)  # type: ignore[arg-type]

    def empty(self, name: str, made: _PostgresMade) -> bool:
        """See Emptier."""
        with self._connection.transaction():
            self._connection.execute(f"SET LOCAL lock_timeout = '{LOCK_TIMEOUT_S}s'")
            for table in set(self._tables(name, empty=True)) - made.tables:
                self._connection.execute(sql.SQL("DROP TABLE IF EXISTS {} CASCADE").format(sql.Identifier(name, table)))
            if self._shape(name) != made.shape:
                return False
            self._connection.execute("SET LOCAL session_replication_role = replica")
            tables = [sql.Identifier(name, table) for table in self._tables(name, empty=False)]
            if tables:
                self._connection.execute(sql.SQL("TRUNCATE {} CASCADE").format(sql.SQL(", ").join(tables)))
            for table, content in made.rows:
                target = sql.Identifier(name, table)
                query = sql.SQL(
                    "INSERT INTO {} OVERRIDING SYSTEM VALUE SELECT * FROM json_populate_recordset(null::{}, %s)"
                )
                self._connection.execute(query.format(target, target), [content])
            self._restart(name, dict(made.sequences))
        return True

    def close(self) -> None:
        """See Emptier."""
        self._connection.close()

    def _shape(self, name: str) -> str:
        return str(self._connection.execute(self.SHAPE, {"name": name}).fetchone()[0])  # type: ignore[index]

    def _tables(self, name: str, *, empty: bool) -> list[str]:
        return [table for (table,) in self._connection.execute(self.TABLES, {"name": name, "empty": empty})]

    def _sequences(self, name: str, *, unused: bool) -> list[tuple[str, int]]:
        return self._connection.execute(self.SEQUENCES, {"name": name, "unused": unused}).fetchall()

    def _restart(self, name: str, made: dict[str, int]) -> None:
        for sequence, last in self._sequences(name, unused=False):
            if last == made[sequence]:
                continue
            where = sql.Identifier(name, sequence).as_string(self._connection)
            self._connection.execute(
                "SELECT setval(%s, greatest(%s, 1), %s > 0)", [where, made[sequence], made[sequence]]
            )


class _MariadbMade(NamedTuple):
    tables: frozenset[str]
    shape: Sequence[Any]
    rows: Sequence[tuple[str, Sequence[tuple[Any, ...]]]]


class MariadbEmptier:
    """By TRUNCATE, for which no trigger fires."""

    SHAPE = (
        """
        SELECT table_name, column_name, column_type, is_nullable, column_default, generation_expression
        FROM information_schema.columns WHERE table_schema = %s ORDER BY 1, 2
        """,
        """
        SELECT trigger_name, event_object_table, action_statement
        FROM information_schema.triggers WHERE trigger_schema = %s ORDER BY 1
        """,
        """
        SELECT table_name, index_name, seq_in_index, column_name, non_unique
        FROM information_schema.statistics WHERE table_schema = %s ORDER BY 1, 2, 3
        """,
        """
        SELECT table_name, constraint_name, constraint_type
        FROM information_schema.table_constraints WHERE constraint_schema = %s ORDER BY 1, 2
        """,
    )

    def __init__(self, url: str) -> None:
        settings = f"SET SESSION lock_wait_timeout = {LOCK_TIMEOUT_S}, foreign_key_checks = 0"
        self._connection = pymysql.connect(**(arguments_of(url) | {"autocommit": True, "init_command": settings}))

    def made(self, name: str) -> _MariadbMade:
        """Return the ledger's shape and the rows that its migrations wrote."""
        rows = [(table, self._do(f"SELECT * FROM `{name}`.`{table}`")) for table in self._with_rows(name)]
        return _MariadbMade(frozenset(self._tables(name)), self._shape(name), rows)

    def empty(self, name: str, made: _MariadbMade) -> bool:
        """See Emptier."""
        for table in set(self._tables(name)) - made.tables:
            self._do(f"DROP TABLE `{name}`.`{table}`")
        if self._shape(name) != made.shape:
            return False
        first = dict(made.rows)
        for table in self._with_rows(name):
            if table in first and self._do(f"SELECT * FROM `{name}`.`{table}`") == first[table]:
                continue
            self._do(f"TRUNCATE TABLE `{name}`.`{table}`")
            for row in first.get(table, ()):
                self._do(f"INSERT INTO `{name}`.`{table}` VALUES ({', '.join(['%s'] * len(row))})", row)
        return True

    def close(self) -> None:
        """See Emptier."""
        if self._connection.open:
            self._connection.close()

    def _shape(self, name: str) -> list[Any]:
        return [self._do(query, (name,)) for query in self.SHAPE]

    def _tables(self, name: str) -> list[str]:
        query = "SELECT table_name FROM information_schema.tables WHERE table_schema = %s AND table_type = 'BASE TABLE'"
        return [table for (table,) in self._do(query, (name,))]

    def _with_rows(self, name: str) -> list[str]:
        asked = " UNION ALL ".join(
            f"SELECT '{table}', EXISTS (SELECT 1 FROM `{name}`.`{table}`)" for table in self._tables(name)
        )
        return sorted(table for table, has_rows in self._do(asked) if has_rows)

    def _do(self, query: str, arguments: Sequence[Any] = ()) -> Sequence[tuple[Any, ...]]:
        with self._connection.cursor() as cursor:
            cursor.execute(query, tuple(arguments) or None)
            return cursor.fetchall()


EMPTIERS: dict[str, Callable[[str], Emptier]] = {POSTGRES: PostgresEmptier, MARIADB: MariadbEmptier}
