"""
The table of running jobs that a prepaid service has, as the charger reaches it: `lastro.charging.Jobs` on psycopg.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
from psycopg import sql

import lastro
from lastro.charging import Job
from lastro.rehearsal.stage import Stage

_CREATE = """
CREATE SCHEMA IF NOT EXISTS {marketplace};
CREATE TABLE {marketplace}.jobs (
    id text PRIMARY KEY,
    account text NOT NULL,
    currency text NOT NULL,
    amount bigint NOT NULL CHECK (amount > 0),
    recurrence text NOT NULL,
    time_zone text NOT NULL,
    started_at timestamptz NOT NULL,
    charged_until timestamptz NOT NULL,
    look_at timestamptz NOT NULL,
    ends_at timestamptz,
    stopped_at timestamptz,
    stopped_because text
);
CREATE INDEX ON {marketplace}.jobs (look_at) WHERE stopped_at IS NULL;
"""

# They ran for a while and are paid until the day that is to come: nothing is due before `fall_due`.
_BEGIN = """
INSERT INTO {marketplace}.jobs (
    id, account, currency, amount, recurrence, time_zone, started_at, charged_until, look_at
)
SELECT
    'job-' || number, %(prefix)s || (number %% %(accounts)s), %(currency)s, %(amount)s, 'day', 'UTC',
    now() - interval '1 hour', now() - interval '1 hour', now() + interval '1 day'
FROM generate_series(0, %(jobs)s - 1) AS number
"""

_FALL_DUE = "UPDATE {marketplace}.jobs SET look_at = now()"

_CLAIM = """
SELECT
    id, account, currency, amount, recurrence, time_zone, started_at, charged_until, look_at, ends_at, stopped_at,
    stopped_because
FROM {marketplace}.jobs
WHERE stopped_at IS NULL AND look_at <= now() AND id <> ALL(%(skip)s)
ORDER BY look_at, id
LIMIT 1
FOR UPDATE SKIP LOCKED
"""

_STORE = """
UPDATE {marketplace}.jobs
SET charged_until = %(charged_until)s, look_at = %(look_at)s, stopped_at = %(stopped_at)s,
    stopped_because = %(stopped_because)s
WHERE id = %(id)s
"""

WAITING = """
SELECT count(*), coalesce(extract(epoch FROM now() - min(look_at)) * 1000, 0)::double precision
FROM {marketplace}.jobs
WHERE stopped_at IS NULL AND look_at <= now()
"""


class JobTable:
    """
    The jobs of one stage. A connection of its own, opened again where it was lost.
    """

    def __init__(self, stage: Stage) -> None:
        self._stage, self._names = stage, stage.names()
        self._connection: psycopg.Connection[Any] | None = None

    @contextmanager
    def transaction(self) -> Iterator[psycopg.Connection[Any]]:
        """Begin a transaction; a server that isn't there is the ledger's own fault, which the charger outlives."""
        try:
            if self._connection is None or self._connection.closed:
                self._connection = self._stage.connect("rehearsal charging")
            with self._connection.transaction():
                yield self._connection
        except psycopg.OperationalError as error:
            if self._connection is not None:
                self._connection.close()
            raise lastro.ConnectionLost(f"the jobs can't be reached: {error}") from error

    def claim(self, connection: psycopg.Connection[Any], skip: Collection[str]) -> Job | None:
        """Lock a job that is due, past those that another charger holds."""
        row = connection.execute(self._said(_CLAIM), {"skip": list(skip)}).fetchone()
        return Job(*row) if row else None

    def store(self, connection: psycopg.Connection[Any], job: Job) -> None:
        """Store what the charger set."""
        connection.execute(self._said(_STORE), job._asdict())

    def begin(self, connection: psycopg.Connection[Any], **jobs: Any) -> None:
        """Create the table, with so many jobs of which none is due."""
        connection.execute(self._said(_CREATE))
        connection.execute(self._said(_BEGIN), jobs)

    def fall_due(self, connection: psycopg.Connection[Any]) -> None:
        """Let every job be due at this moment."""
        connection.execute(self._said(_FALL_DUE))

    def close(self) -> None:
        """Let go of the connection."""
        if self._connection is not None:
            self._connection.close()

    def _said(self, statement: str) -> sql.Composed:
        return sql.SQL(statement).format(**self._names)
