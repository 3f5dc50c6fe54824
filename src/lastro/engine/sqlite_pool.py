"""
Connections of our own to one SQLite file: opened as they are needed, set up alike, kept for the next call.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from lastro.engine.settings import POOL_TIMEOUT_S
from lastro.engine.sqlite_address import Address
from lastro.engine.sqlite_turns import Patience, knock
from lastro.errors import ConnectionLost, ServerUnavailable

# STRICT tables came with 3.37; without them a column takes whatever it is given.
SQLITE_MIN = (3, 37, 0)


class Pool:
    """
    At most *connections_max* connections, handed from thread to thread, never used by two at once.
    """

    def __init__(self, address: Address, connections_max: int, lock_timeout_ms: int) -> None:
        self._address = address
        self._lock_timeout_ms = lock_timeout_ms
        self._room = threading.BoundedSemaphore(connections_max)
        self._idle: list[sqlite3.Connection] = []

    @contextmanager
    def connection(self) -> Iterator[sqlite3.Connection]:
        """Lend a connection for the block. One that is left inside a transaction is closed."""
        if not self._room.acquire(timeout=POOL_TIMEOUT_S):
            raise ConnectionLost(f"no database connection could be had within {POOL_TIMEOUT_S} s")
        try:
            connection = self._taken() or self._open()
            try:
                yield connection
            finally:
                if connection.in_transaction:
                    connection.close()
                else:
                    self._idle.append(connection)
        finally:
            self._room.release()

    def close(self) -> None:
        """Close what isn't lent."""
        while connection := self._taken():
            connection.close()

    def _taken(self) -> sqlite3.Connection | None:
        # Another thread may take the last one between a look and a pop.
        try:
            return self._idle.pop()
        except IndexError:
            return None

    def _open(self) -> sqlite3.Connection:
        if sqlite3.sqlite_version_info < SQLITE_MIN:
            raise ServerUnavailable(
                f"a ledger needs SQLite {'.'.join(map(str, SQLITE_MIN))} or newer; "
                f"this Python brings {sqlite3.sqlite_version}"
            )
        connection = sqlite3.connect(
            self._address.uri, uri=True, timeout=0, isolation_level=None, check_same_thread=False
        )
        try:
            self._set_up(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _set_up(self, connection: sqlite3.Connection) -> None:
        # What is acknowledged survives a power cut: the WAL is flushed with every commit.
        connection.execute("PRAGMA synchronous = FULL")
        patience = Patience(self._lock_timeout_ms)
        ((mode,),) = knock(lambda: connection.execute("PRAGMA journal_mode").fetchall(), patience)
        if mode != "wal" and self._address.mode != "ro":
            # Readers and the writer don't wait for each other then. It stays so in the file. A file system that can't
            # do it keeps its mode, which is as safe and slower.
            knock(lambda: connection.execute("PRAGMA journal_mode = WAL").fetchall(), patience)
