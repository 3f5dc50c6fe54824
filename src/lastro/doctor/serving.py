"""
A page for Prometheus: the newest sample as text, over HTTP, for whoever may reach the port.
"""

from __future__ import annotations

import threading
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Final, Self

from lastro.doctor.metrics import CONTENT_TYPE, exposition
from lastro.doctor.record import Record

METRICS_PATH: Final = "/metrics"
# A client that says nothing for so long is sent away.
REQUEST_TIMEOUT_S: Final = 5


class MetricsPage:
    """
    Answers GET /metrics at *host*:*port* with the record's newest sample while it is open; 503 before there is one.
    """

    def __init__(self, record: Record, *, host: str, port: int) -> None:
        class Handler(_Handler):
            of = record

        self._server = ThreadingHTTPServer((host, port), Handler)
        self._server.daemon_threads = True
        self.port: int = self._server.server_address[1]
        self._thread = threading.Thread(target=self._server.serve_forever, name="lastro-doctor-metrics", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Answer no more."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()


class _Handler(BaseHTTPRequestHandler):
    of: Record
    timeout = REQUEST_TIMEOUT_S

    def do_GET(self) -> None:
        if self.path.partition("?")[0] != METRICS_PATH:
            self._answer(HTTPStatus.NOT_FOUND, f"the readings are at {METRICS_PATH}\n")
            return
        samples = self.of.samples
        if not samples:
            self._answer(HTTPStatus.SERVICE_UNAVAILABLE, "nothing could be read yet\n")
            return
        self._answer(HTTPStatus.OK, exposition(samples[-1], self.of.findings()))

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the standard library's own signature
        """Write no line a scrape."""

    def _answer(self, status: HTTPStatus, text: str) -> None:
        body = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", CONTENT_TYPE)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
