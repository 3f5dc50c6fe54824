"""A real HTTP receiver on loopback that answers as a test says, and fails in every way a receiver can."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import NamedTuple

DRIP_S = 0.05


class Received(NamedTuple):
    """A request as it came."""

    headers: dict[str, str]
    body: bytes


Behave = Callable[[BaseHTTPRequestHandler, Received], None]


class Receiver:
    """Answers each request by `behave`, and keeps what it received."""

    def __init__(self) -> None:
        self.received: list[Received] = []
        self.behave: Behave = answers(204)
        self.over = threading.Event()
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                got = Received(dict(self.headers.items()), body)
                receiver.received.append(got)
                receiver.behave(self, got)

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002
                del format, args

        class Server(ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, request: object, client_address: object) -> None:
                del request, client_address  # a sender that gave up

        self._server = Server(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}/events"
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    @contextmanager
    def at_work(self) -> Iterator[Receiver]:
        """Serve until the block's end."""
        self._thread.start()
        try:
            yield self
        finally:
            self.over.set()
            self._server.shutdown()
            self._server.server_close()


def answers(status: int, body: bytes = b"", **headers: str) -> Behave:
    """Answer with a status, a body and headers."""

    def behave(handler: BaseHTTPRequestHandler, got: Received) -> None:
        del got
        handler.send_response(status)
        for name, value in headers.items():
            handler.send_header(name, value)
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)

    return behave


def hangs(receiver: Receiver) -> Behave:
    """Take the request and never answer."""
    return lambda handler, got: (receiver.over.wait(60) and None) or None


def drips(receiver: Receiver) -> Behave:
    """Answer byte by byte, without an end: no two bytes are ever far apart."""

    def behave(handler: BaseHTTPRequestHandler, got: Received) -> None:
        del got
        handler.wfile.write(b"HTTP/1.1 200 OK\r\nX-Drip: ")
        while not receiver.over.wait(DRIP_S):
            handler.wfile.write(b".")
            handler.wfile.flush()

    return behave


def hangs_up(handler: BaseHTTPRequestHandler, got: Received) -> None:
    """Close the connection without a word."""
    del got
    handler.connection.shutdown(socket.SHUT_RDWR)
    handler.close_connection = True


def talks_nonsense(handler: BaseHTTPRequestHandler, got: Received) -> None:
    """Answer what isn't HTTP."""
    del got
    handler.wfile.write(b"\0\1\2 no protocol\r\n\r\n")
    handler.close_connection = True


def floods(handler: BaseHTTPRequestHandler, got: Received) -> None:
    """Refuse with a body that has no end in sight."""
    del got
    handler.wfile.write(b"HTTP/1.1 500 Oops\r\nContent-Length: 10000000000\r\n\r\n" + b"x" * 100_000)
    handler.close_connection = True


def closed_port() -> int:
    """A port on which nobody listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port
