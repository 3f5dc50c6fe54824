"""A PostgreSQL 18 server from a wheel: nothing to install, started by this process, shared with others."""

from lastro.embedded.address import ResolvedAddress, resolve
from lastro.embedded.errors import EmbeddedServerError
from lastro.embedded.server import EmbeddedServer

__all__ = ["EmbeddedServer", "EmbeddedServerError", "ResolvedAddress", "resolve"]
