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

from psycopg.conninfo import conninfo_to_dict

Cut = Literal["before", "after"]
BYTES_AT_ONCE = 65_536
READY = b"Z\x00\x00\x00\x05I"  # ReadyForQuery, with no transaction open: the work is committed


class Proxy:
    """Listens on a port of its own; `cut` is asked of every message of a client and says whether to cut there."""

    def __init__(self, url: str, cut: Callable[[bytes], Cut | None]) -> None:
        self._server, self._cut = conninfo_to_dict(url), cut
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.cuts: list[Cut] = []
        threading.Thread(target=self._accept, daemon=True).start()
        user, password, name = (self._server[part] for part in ("user", "password", "dbname"))
        port = self._listener.getsockname()[1]
        self.url = f"postgresql://{user}:{password}@127.0.0.1:{port}/{name}?sslmode=disable&gssencmode=disable"

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
        host, port = str(self._server["host"]), self._server["port"]
        unix = host.startswith("/")
        server = socket.socket(socket.AF_UNIX if unix else socket.AF_INET)
        server.connect(f"{host}/.s.PGSQL.{port}" if unix else (host, int(str(port))))
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
                elif READY in answer:
                    break
        except OSError:
            pass
        _hang_up(client, server)


def _hang_up(*ends: socket.socket) -> None:
    for end in ends:
        with contextlib.suppress(OSError):  # the other side was quicker
            end.shutdown(socket.SHUT_RDWR)
        end.close()
