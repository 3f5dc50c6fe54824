"""
A TCP proxy before the server that cuts a client off right before or right after its bytes did their work.

Before: the server never gets them. After: the server has done the work and answered, and the answer is dropped. To the
client both look the same, which is the point.
"""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable
from typing import Literal
from urllib.parse import quote

from psycopg.conninfo import conninfo_to_dict

from tests.support.mariadb import arguments_of
from tests.support.stores import MARIADB, store_of

Cut = Literal["before", "after"]
BYTES_AT_ONCE = 65_536
IN_TRANSACTION = 1
READY = b"Z\x00\x00\x00\x05I"  # ReadyForQuery, with no transaction open: the work is committed
COMMITTED = b"\x00\x00\x00"  # MariaDB's OK packet: no rows, no id; the status after it has no transaction open


class Proxy:
    """Listens on a port of its own; `cut` is asked of every message of a client and says whether to cut there."""

    def __init__(self, url: str, cut: Callable[[bytes], Cut | None]) -> None:
        self._cut = cut
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.cuts: list[Cut] = []
        self._place, self._done, self.url = _before(url, self._listener.getsockname()[1])
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        """Take no more clients."""
        self._listener.close()

    def _accept(self) -> None:
        try:
            while True:
                client, _ = self._listener.accept()
                threading.Thread(target=self._serve, args=(client,), daemon=True).start()
        except OSError:
            return  # closed

    def _serve(self, client: socket.socket) -> None:
        server = socket.socket(socket.AF_UNIX if isinstance(self._place, str) else socket.AF_INET)
        server.connect(self._place)
        answering = threading.Event()
        answering.set()
        threading.Thread(target=self._answer, args=(server, client, answering), daemon=True).start()
        try:
            while message := client.recv(BYTES_AT_ONCE):
                cut = self._cut(message)
                if cut is not None:
                    self.cuts.append(cut)
                if cut == "before":
                    break
                if cut == "after":
                    answering.clear()  # from here on the client hears nothing; _answer cuts once the work is done
                server.sendall(message)
        except OSError:
            pass
        if answering.is_set():
            _hang_up(client, server)

    def _answer(self, server: socket.socket, client: socket.socket, answering: threading.Event) -> None:
        try:
            while answer := server.recv(BYTES_AT_ONCE):
                if answering.is_set():
                    client.sendall(answer)
                elif self._done(answer):
                    break
        except OSError:
            pass
        _hang_up(client, server)


def _before(url: str, port: int) -> tuple[str | tuple[str, int], Callable[[bytes], bool], str]:
    """Return where the server is, how its answers say that the work is committed, and the URL of a proxy before it."""
    if store_of(url) == MARIADB:
        arguments = arguments_of(url)
        place = arguments.get("unix_socket") or (arguments["host"], arguments["port"])
        user, password = quote(arguments["user"]), quote(arguments["password"])
        return place, _says_committed, f"mariadb://{user}:{password}@127.0.0.1:{port}/"
    server = conninfo_to_dict(url)
    host, server_port = str(server["host"]), server["port"]
    place = f"{host}/.s.PGSQL.{server_port}" if host.startswith("/") else (host, int(str(server_port)))
    user, password, name = (server[part] for part in ("user", "password", "dbname"))
    through = f"postgresql://{user}:{password}@127.0.0.1:{port}/{name}?sslmode=disable&gssencmode=disable"
    return place, lambda answer: READY in answer, through


def _says_committed(answer: bytes) -> bool:
    # The last packet of the answer: an OK whose status doesn't say that a transaction is open.
    return answer[-7:-4] == COMMITTED and not answer[-4] & IN_TRANSACTION


def _hang_up(*ends: socket.socket) -> None:
    for end in ends:
        with contextlib.suppress(OSError):  # the other side was quicker
            end.shutdown(socket.SHUT_RDWR)
        end.close()
