"""
Sessions that a test holds at a point of its choosing, and how it knows that one of them waits: it asks the server.

Order between sessions is made by what the server says (who blocks whom) and by barriers, never by sleeping for long
enough. The pause between two looks only saves the processor; however long it is, no test's verdict depends on it.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Any, Generic, TypeVar

import psycopg
import pymysql

from tests.support.mariadb import arguments_of
from tests.support.stores import MARIADB, SQLITE, connected, pid_of, store_of

__all__ = [
    "PATIENCE_S", "Background", "Observer", "Sessions", "observer_of", "pid_of", "sessions_of", "together", "until",
]  # fmt: skip

T = TypeVar("T")

PATIENCE_S = 30.0
LOOK_EVERY_S = 0.002
# InnoDB refreshes its list of transactions only when nobody has read it for a tenth of a second.
LOOK_AT_INNODB_EVERY_S = 0.15


class Background(Generic[T]):
    """A call that goes on in a thread of its own; `result()` waits for it and raises what it raised."""

    def __init__(self, call: Callable[[], T]) -> None:
        self._future: Future[T] = Future()
        threading.Thread(target=self._run, args=(call,), daemon=True).start()

    def _run(self, call: Callable[[], T]) -> None:
        try:
            self._future.set_result(call())
        except BaseException as error:  # noqa: BLE001  (whatever it was, the test must hear it)
            self._future.set_exception(error)

    @property
    def done(self) -> bool:
        """Whether the call has ended, one way or the other."""
        return self._future.done()

    def result(self) -> T:
        """Wait for the call's end; return or raise what it did."""
        return self._future.result(timeout=PATIENCE_S)

    def error(self) -> BaseException | None:
        """Wait for the call's end; return what it raised, or None."""
        return self._future.exception(timeout=PATIENCE_S)


class Observer:
    """A session of its own that looks at the others; it sees them whatever they are waiting for."""

    look_every_s = LOOK_EVERY_S

    def __init__(self, url: str) -> None:
        self._connection = psycopg.connect(url, autocommit=True)

    def close(self) -> None:
        """Close the observer's session."""
        self._connection.close()

    def value(self, query: str, *params: object) -> Any:
        """Return the one value of a query."""
        row = self._connection.execute(query.encode(), params or None).fetchone()
        assert row is not None, f"no row from {query}"
        return row[0]

    def blockers(self, pid: int) -> list[int]:
        """Return the sessions that *pid* waits for; empty when it waits for none."""
        pids: list[int] = self.value("SELECT pg_blocking_pids(%s)", pid)
        return pids

    def sessions(self) -> set[int]:
        """Return every other session of a client's, on whatever ledger."""
        pids: list[int] = self.value(
            "SELECT coalesce(array_agg(pid), '{}') FROM pg_stat_activity "
            "WHERE backend_type = 'client backend' AND datname = current_database() AND pid <> pg_backend_pid()"
        )
        return set(pids)

    def until_blocked(self, pid: int, *, by: int | None = None) -> None:
        """Return once the session *pid* waits for a lock (that *by* holds)."""
        self.until(lambda: by in self.blockers(pid) if by is not None else bool(self.blockers(pid)), f"{pid} to wait")

    def until_anyone_waits_for(self, holder: int, *, sessions: int = 1) -> list[int]:
        """Return the sessions that wait for *holder*, once there are so many of them."""
        query = "SELECT coalesce(array_agg(pid), '{}') FROM pg_stat_activity WHERE %s = ANY(pg_blocking_pids(pid))"
        self.until(lambda: len(self.value(query, holder)) >= sessions, f"{sessions} sessions to wait for {holder}")
        waiting: list[int] = self.value(query, holder)
        return waiting

    def until(self, met: Callable[[], bool], what: str) -> None:
        """Return once *met* says so; fail, naming *what* was waited for, after the test's patience."""
        until(met, what, every_s=self.look_every_s)


class MariadbObserver(Observer):
    """The same on MariaDB, where a session is a thread and InnoDB knows which one waits for which."""

    look_every_s = LOOK_AT_INNODB_EVERY_S

    def __init__(self, url: str) -> None:
        self._session = pymysql.connect(**arguments_of(url), autocommit=True)

    def close(self) -> None:
        """Close the observer's session."""
        self._session.close()

    def value(self, query: str, *params: object) -> Any:
        """Return the one value of a query."""
        with self._session.cursor() as cursor:
            cursor.execute(query, params or None)
            ((value,),) = cursor.fetchall()
            return value

    def sessions(self) -> set[int]:
        """Return every other session of a client's, on whatever ledger."""
        with self._session.cursor() as cursor:
            cursor.execute(
                "SELECT id FROM information_schema.processlist WHERE id <> connection_id() AND user <> 'system user'"
            )
            return {pid for (pid,) in cursor.fetchall()}

    def blockers(self, pid: int) -> list[int]:
        """Return the sessions that *pid* waits for; empty when it waits for none."""
        return [blocker for waiting, blocker in self._waits() if waiting == pid]

    def until_anyone_waits_for(self, holder: int, *, sessions: int = 1) -> list[int]:
        """Return the sessions that wait for *holder*, once there are so many of them."""
        waiting: set[int] = set()

        def enough() -> bool:
            waiting.update(waiter for waiter, blocker in self._waits() if blocker == holder)
            return len(waiting) >= sessions

        self.until(enough, f"{sessions} sessions to wait for {holder}")
        return sorted(waiting)

    def _waits(self) -> list[tuple[int, int]]:
        with self._session.cursor() as cursor:
            cursor.execute(
                "SELECT waiting.trx_mysql_thread_id, blocking.trx_mysql_thread_id "
                "FROM information_schema.innodb_lock_waits AS wait "
                "JOIN information_schema.innodb_trx AS waiting ON waiting.trx_id = wait.requesting_trx_id "
                "JOIN information_schema.innodb_trx AS blocking ON blocking.trx_id = wait.blocking_trx_id"
            )
            return list(cursor.fetchall())


class SqliteObserver(Observer):
    """
    On SQLite nobody can tell who waits, and nobody needs to: while one transaction writes no other gets any further, so
    what is asked for meanwhile comes after it, whenever it began to wait.
    """

    def __init__(self, url: str) -> None:
        del url

    def close(self) -> None:
        """Nothing to close."""

    def sessions(self) -> set[int]:
        """Nobody keeps a list: a process that is killed is gone."""
        return set()

    def until_blocked(self, pid: int, *, by: int | None = None) -> None:
        """Return at once."""

    def until_anyone_waits_for(self, holder: int, *, sessions: int = 1) -> list[int]:
        """Return at once."""
        del holder, sessions
        return []


class Sessions:
    """The sessions of one test, not autocommit; each is rolled back and closed when the test is over."""

    def __init__(self, url: str, isolation: str | None = None) -> None:
        self._url, self._isolation = url, isolation
        self._opened: list[Any] = []

    def __call__(self, **options: Any) -> Any:
        """Open a session."""
        connection = connected(self._url, isolation=self._isolation, **options)
        self._opened.append(connection)
        return connection

    def close(self) -> None:
        """End every session, whatever it was doing."""
        for connection in self._opened:
            if isinstance(connection, pymysql.connections.Connection):
                # Without a farewell: PyMySQL's close() of a closed connection is an error.
                connection._force_close()  # type: ignore[no-untyped-call]
            else:
                connection.close()


@contextmanager
def sessions_of(url: str, isolation: str | None = None) -> Iterator[Sessions]:
    """Yield a maker of sessions that are all gone afterwards."""
    sessions = Sessions(url, isolation)
    try:
        yield sessions
    finally:
        sessions.close()


@contextmanager
def observer_of(url: str) -> Iterator[Observer]:
    """Yield an observer."""
    observer = {MARIADB: MariadbObserver, SQLITE: SqliteObserver}.get(store_of(url), Observer)(url)
    try:
        yield observer
    finally:
        observer.close()


def until(met: Callable[[], bool], what: str, *, every_s: float = LOOK_EVERY_S) -> None:
    """Return once *met* says so; fail, naming *what* was waited for, after the test's patience."""
    deadline = time.monotonic() + PATIENCE_S
    while not met():
        assert time.monotonic() < deadline, f"waited {PATIENCE_S} s in vain for {what}"
        time.sleep(every_s)


def together(calls: Iterable[Callable[[], T]]) -> list[T | BaseException]:
    """Let every call begin at the same moment, each in a thread of its own; return what each returned or raised."""
    waiting = list(calls)
    barrier = threading.Barrier(len(waiting))

    def started(call: Callable[[], T]) -> Callable[[], T]:
        def run() -> T:
            barrier.wait(PATIENCE_S)
            return call()

        return run

    running = [Background(started(call)) for call in waiting]
    return [going.error() or going.result() for going in running]
