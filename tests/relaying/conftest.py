"""The fixtures of the tests that hold sessions, on PostgreSQL."""

from tests.support.fixtures import observer, session
from tests.support.stores import store, store_url

__all__ = ["observer", "session", "store", "store_url"]
