"""The sessions and the observer that these tests use."""

from tests.support.fixtures import observer, session
from tests.support.stores import ledger, store, store_url

__all__ = ["ledger", "observer", "session", "store", "store_url"]
