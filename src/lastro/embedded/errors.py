"""The one error of the embedded server: it could not be found, created, started, reached or stopped."""

from __future__ import annotations

from lastro.errors import Fault

__all__ = ["EmbeddedServerError"]


class EmbeddedServerError(Fault):
    """The embedded PostgreSQL can't serve; the message says why and what to do. Never holds a password."""

    code = "embedded_server"
