"""Turns an `embedded:` address into a running server and the URL that drivers understand."""

from __future__ import annotations

from typing import NamedTuple
from urllib.parse import unquote

from lastro.embedded.errors import EmbeddedServerError
from lastro.embedded.server import EmbeddedServer

__all__ = ["ResolvedAddress", "resolve"]

_SCHEME = "embedded:"


class ResolvedAddress(NamedTuple):
    """A running server, counted as used by this process until its release(), and its libpq URL."""

    server: EmbeddedServer
    url: str


def resolve(url: str) -> ResolvedAddress:
    """Start the server of `embedded:///absolute/path` or `embedded:relative/path` (%-escapes are decoded)."""
    path = url.removeprefix(_SCHEME)
    if path == url:
        raise EmbeddedServerError("An embedded server's address starts with `embedded:`.")
    if path.startswith("//"):
        path = path[2:]
        if not path.startswith("/"):
            raise EmbeddedServerError(
                f"{url!r} names a host. Write embedded:///absolute/path or embedded:relative/path."
            )
    path = unquote(path)
    if not path or "\0" in path:
        raise EmbeddedServerError(
            f"{url!r} names no directory. Write embedded:///absolute/path or embedded:relative/path."
        )
    server = EmbeddedServer(path).start()
    return ResolvedAddress(server, server.url)
