"""
What the database says when a rehearsal is over: books that balance, accounts that drift, deadlocks, what is left waiting.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import psycopg
from psycopg import sql

import lastro
from lastro.rehearsal.scenario import Queue
from lastro.rehearsal.stage import Stage
from lastro.testing import assert_balanced

DRAINING_MAX_S = 120.0
DRAINING_LOOK_S = 0.05
MS = 1_000
# A server that isn't there hasn't finished.
NOT_KNOWN = Queue(1, math.nan)

_TAIL = """
SELECT count(*), coalesce(extract(epoch FROM clock_timestamp() - min(movement.recorded_at)), 0)::double precision
FROM {ledger}.tail AS tail
LEFT JOIN {ledger}.movement AS movement ON tail.transfer_id = movement.position
"""

_DEADLOCKS = "SELECT deadlocks FROM pg_catalog.pg_stat_database WHERE datname = current_database()"


class Reconciliation(NamedTuple):
    """
    What a full round found: accounts that differ from their history, and incidents nobody has explained.
    """

    drifted: int
    incidents: int


def look_at_tail(connection: psycopg.Connection[Any], stage: Stage) -> Queue:
    """
    Return what isn't consolidated yet.
    """
    row = connection.execute(sql.SQL(_TAIL).format(**stage.names())).fetchone()
    assert row is not None, "an aggregate has one row"
    return Queue(row[0], row[1] * MS)


def count_deadlocks(connection: psycopg.Connection[Any]) -> int:
    """
    Return how many deadlocks this database has broken, since its figures were last reset.
    """
    row = connection.execute(_DEADLOCKS).fetchone()
    assert row is not None, "we are connected to it"
    count: int = row[0]
    return count


class Looking:
    """
    Looks at a queue again and again, on one connection that is opened again where the server was gone.
    """

    def __init__(self, stage: Stage, what: Callable[[psycopg.Connection[Any]], Queue]) -> None:
        self._stage, self._what = stage, what
        self._connection: psycopg.Connection[Any] | None = None

    def __call__(self) -> Queue:
        """Return what waits; where nobody can say, that something does."""
        try:
            if self._connection is None:
                self._connection = self._stage.connect()
            return self._what(self._connection)
        except psycopg.OperationalError:
            self.close()
            return NOT_KNOWN

    def close(self) -> None:
        """Let go of the connection."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def wait_until_empty(look: Callable[[], Queue], *, max_s: float = DRAINING_MAX_S) -> bool:
    """
    Look until nothing waits any more; False where *max_s* go by first.
    """
    give_up_at = time.monotonic() + max_s
    while look().rows:
        if time.monotonic() > give_up_at:
            return False
        time.sleep(DRAINING_LOOK_S)
    return True


def reconcile(ledger: lastro.Ledger) -> Reconciliation:
    """
    Compare every account with its whole history.
    """
    done = ledger.reconcile(full=True)
    return Reconciliation(done.drifted, done.open_incidents)


def imbalance(ledger: lastro.Ledger) -> str | None:
    """
    Say how the ledger's books don't balance in themselves; None where they do.
    """
    try:
        assert_balanced(ledger)
    except AssertionError as error:
        return str(error)
    return None
