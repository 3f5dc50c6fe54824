"""Adoptions on each store: its ledger, and an application's old table beside it."""

from tests.support.stores import ledger, store, store_url

__all__ = ["ledger", "store", "store_url"]
