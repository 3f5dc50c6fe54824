"""
Connections of our own to one MySQL or MariaDB, blocking: opened as they are needed, set up alike, kept for the next call.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pymysql
from pymysql.constants import CLIENT, CR

from lastro.engine.mysql_address import Address, arguments_of
from lastro.engine.mysql_courses import set_up
from lastro.engine.mysql_driver import send
from lastro.engine.mysql_errors import is_drivers, translated
from lastro.engine.settings import POOL_TIMEOUT_S
from lastro.errors import ConnectionLost

# Its type stubs say nothing of what a subclass needs.
_Base: Any = pymysql.connections.Connection


class Connection(_Base):  # type: ignore[misc]
    """
    A connection that closes the Unix socket on which nobody listens; PyMySQL leaves it to the garbage collector.
    """

    def connect(self, sock: socket.socket | None = None) -> None:
        """Connect, by the socket that is given or by one of its own."""
        if sock is None and self.unix_socket:
            sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            sock.settimeout(self.connect_timeout)
            try:
                sock.connect(self.unix_socket)
            except OSError as error:
                sock.close()
                raise pymysql.err.OperationalError(
                    CR.CR_CONNECTION_ERROR, f"no server at its socket: {error}"
                ) from error
            # The way through the kernel needs no TLS for a password to be sent.
            self.host_info, self._secure = "Localhost via UNIX socket", True
        super().connect(sock)


class Pool:
    """
    At most *connections_max* connections, handed from thread to thread, never used by two at once.
    """

    def __init__(self, address: Address, connections_max: int, lock_timeout_ms: int) -> None:
        self._address = address
        self._set_up = set_up(lock_timeout_ms)
        self._room = threading.BoundedSemaphore(connections_max)
        self._idle: list[Connection] = []

    @contextmanager
    def connection(self) -> Iterator[Connection]:
        """Lend a connection for the block. One that the block closes isn't lent again."""
        if not self._room.acquire(timeout=POOL_TIMEOUT_S):
            raise ConnectionLost(f"no database connection could be had within {POOL_TIMEOUT_S} s") from TimeoutError()
        try:
            connection = self._take() or self._open()
            try:
                yield connection
            finally:
                if connection.open:
                    self._idle.append(connection)
        finally:
            self._room.release()

    def close(self) -> None:
        """Close what isn't lent. Where one connection is dead its neighbours are, so a lost one has this called too."""
        while connection := self._take():
            hang_up(connection)

    def _take(self) -> Connection | None:
        try:
            return self._idle.pop()
        except IndexError:
            return None

    def _open(self) -> Connection:
        connection: Connection | None = None
        try:
            connection = Connection(**arguments_of(self._address, multi_statements=CLIENT.MULTI_STATEMENTS))
            with connection.cursor(pymysql.cursors.Cursor) as cursor:
                send(cursor, self._set_up)
        except Exception as error:
            if connection is not None:
                hang_up(connection)
            if not is_drivers(error):
                raise
            raise translated(error, ambiguous=False, connecting=True) from error
        return connection


def hang_up(connection: Connection) -> None:
    """
    Close a connection, whatever state it is in.
    """
    # Without the farewell that close() sends: a dead line would raise there.
    connection._force_close()  # noqa: SLF001
