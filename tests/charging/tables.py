"""An application's own table of jobs on each store, as a charger reaches it, blocking and awaiting."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator, Callable, Collection, Iterator
from contextlib import asynccontextmanager, contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import aiosqlite
import asyncmy
import psycopg
import pymysql

from lastro.charging import Job
from tests.support.mariadb import arguments_of

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
NO_END = 2**62
COLUMNS = "id, account, currency, amount, recurrence, time_zone, started, charged, look, ends, stopped, because"
TABLE = """CREATE TABLE {s}.job (
    id varchar(50) PRIMARY KEY, account varchar(50), currency varchar(10), amount bigint, recurrence varchar(10),
    time_zone varchar(50), started bigint, charged bigint, look bigint, ends bigint, stopped bigint, because varchar(50)
)"""


def micros(moment: datetime | None) -> int | None:
    """A moment as the table keeps it."""
    return None if moment is None else (moment - EPOCH) // timedelta(microseconds=1)


def moment(value: int | None) -> datetime | None:
    """A moment out of the table."""
    return None if value is None else EPOCH + timedelta(microseconds=value)


def job_of(row: Any) -> Job:
    """A row as a job."""
    return Job(*row[:6], *(moment(value) for value in row[6:11]), row[11])  # type: ignore[arg-type]


class Statements:
    """What the application says to its table; `now` is the time its clock shows."""

    def __init__(self, url: str, schema: str, now: datetime) -> None:
        self.url, self.now = url, now
        self.kind = {"sqlite": "sqlite", "mariadb": "mariadb"}.get(url.partition("://")[0], "postgres")
        self.table = f"{schema}_job" if self.kind == "sqlite" else f"{schema}.job"
        self.mark = "?" if self.kind == "sqlite" else "%s"

    def select(self, skip: Collection[str]) -> tuple[str, list[Any]]:
        """One job that is due, locked; locked ones are another charger's."""
        marks = "".join(f" AND id <> {self.mark}" for _ in skip)
        lock = "" if self.kind == "sqlite" else " FOR UPDATE SKIP LOCKED"
        due = f"stopped IS NULL AND look <= {self.mark}{marks}"
        query = f"SELECT {COLUMNS} FROM {self.table} WHERE {due} ORDER BY look, id LIMIT 1{lock}"
        return query, [micros(self.now), *skip]

    def update(self, job: Job) -> tuple[str, list[Any]]:
        """What the charger set."""
        m = self.mark
        return (
            f"UPDATE {self.table} SET charged = {m}, look = {m}, stopped = {m}, because = {m} WHERE id = {m}",
            [micros(job.charged_until), micros(job.look_at), micros(job.stopped_at), job.stopped_because, job.id],
        )

    def insert(self, job: Job) -> tuple[str, list[Any]]:
        """A new job."""
        values = [*job[:6], *(micros(value) for value in job[6:11]), job.stopped_because]
        return f"INSERT INTO {self.table} ({COLUMNS}) VALUES ({', '.join([self.mark] * len(values))})", values

    @property
    def path(self) -> str:
        """The file of a SQLite database."""
        return self.url.removeprefix("sqlite:///")


class TableJobs(Statements):
    """The table, blocking. `before_commit` is called with the charge written and not committed, `after_commit` behind."""

    def __init__(self, url: str, schema: str, now: datetime) -> None:
        super().__init__(url, schema, now)
        self.before_commit: Callable[[Job], None] = lambda _: None
        self.after_commit: Callable[[], None] = lambda: None

    @contextmanager
    def transaction(self) -> Iterator[Any]:
        """A connection of its own for each transaction."""
        connection: Any
        if self.kind == "postgres":
            connection = psycopg.connect(self.url)
        elif self.kind == "mariadb":
            connection = pymysql.connect(**arguments_of(self.url), autocommit=False)
        else:
            connection = sqlite3.connect(self.path, timeout=30)
            connection.execute("BEGIN IMMEDIATE")
        try:
            yield connection
            connection.commit()
            self.after_commit()
        finally:
            connection.close()

    def run(self, connection: Any, statement: tuple[str, list[Any]]) -> list[Any]:
        """Run a statement and return its rows."""
        cursor = connection.cursor()
        cursor.execute(*statement)
        return list(cursor.fetchall()) if cursor.description else []

    def claim(self, connection: Any, skip: Collection[str]) -> Job | None:
        """Lock a job."""
        rows = self.run(connection, self.select(skip))
        return job_of(rows[0]) if rows else None

    def store(self, connection: Any, job: Job) -> None:
        """Store a job."""
        self.run(connection, self.update(job))
        self.before_commit(job)

    def add(self, *jobs: Job) -> None:
        """Begin jobs."""
        with self.transaction() as connection:
            for job in jobs:
                self.run(connection, self.insert(job))

    def all(self) -> dict[str, Job]:
        """Every job."""
        with self.transaction() as connection:
            return {row[0]: job_of(row) for row in self.run(connection, (f"SELECT {COLUMNS} FROM {self.table}", []))}


class AsyncTableJobs(Statements):
    """The table, awaiting."""

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Any]:
        """A connection of its own for each transaction."""
        connection: Any
        if self.kind == "postgres":
            connection = await psycopg.AsyncConnection.connect(self.url)
        elif self.kind == "mariadb":
            connection = await asyncmy.connect(**arguments_of(self.url), autocommit=False)
        else:
            connection = await aiosqlite.connect(self.path, timeout=30)
            await connection.execute("BEGIN IMMEDIATE")
        try:
            yield connection
            await connection.commit()
        finally:
            closing = getattr(connection, "ensure_closed", None) or connection.close
            await closing()

    async def run(self, connection: Any, statement: tuple[str, list[Any]]) -> list[Any]:
        """Run a statement and return its rows."""
        if self.kind == "mariadb":
            cursor = connection.cursor()
            await cursor.execute(*statement)
        else:
            cursor = await connection.execute(*statement)
        rows = list(await cursor.fetchall()) if cursor.description else []
        await cursor.close()
        return rows

    async def claim(self, connection: Any, skip: Collection[str]) -> Job | None:
        """Lock a job."""
        rows = await self.run(connection, self.select(skip))
        return job_of(rows[0]) if rows else None

    async def store(self, connection: Any, job: Job) -> None:
        """Store a job."""
        await self.run(connection, self.update(job))
