"""The application's own table of jobs, as the charger reaches it."""

from __future__ import annotations

from collections.abc import Collection
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from typing import Any

import psycopg

from lastro.charging import Job

START = datetime(2026, 3, 28, tzinfo=UTC)
TABLE = """CREATE TABLE job (id text PRIMARY KEY, account text, currency text, amount bigint, recurrence text,
    time_zone text, started_at timestamptz, charged_until timestamptz, look_at timestamptz,
    ends_at timestamptz, stopped_at timestamptz, stopped_because text)"""
CLAIM = """SELECT * FROM job WHERE stopped_at IS NULL AND look_at <= %s AND id <> ALL(%s)
    ORDER BY look_at, id LIMIT 1 FOR UPDATE SKIP LOCKED"""
STORE = "UPDATE job SET charged_until = %s, look_at = %s, stopped_at = %s, stopped_because = %s WHERE id = %s"


class JobTable:
    """The application's jobs; a real one asks the database's now()."""

    def __init__(self, url: str) -> None:
        self.url, self.now = url, START

    def transaction(self) -> AbstractContextManager[Any]:
        """Commit at its end, roll back on an error: psycopg's own connection does."""
        return psycopg.connect(self.url)

    def claim(self, connection: Any, skip: Collection[str]) -> Job | None:
        """Lock a job that is due, past those that another charger holds."""
        row = connection.execute(CLAIM, (self.now, list(skip))).fetchone()
        return Job(*row) if row else None

    def store(self, connection: Any, job: Job) -> None:
        """Store what the charger set."""
        connection.execute(STORE, (job.charged_until, job.look_at, job.stopped_at, job.stopped_because, job.id))

    def begin(self, name: str, amount: int) -> None:
        """Begin a job of the customer's, charged by the hour."""
        row = (name, "customer:42", "USD", amount, "hour", "Europe/Paris", START, START, START)
        with self.transaction() as connection:
            connection.execute("INSERT INTO job VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s)", row)
