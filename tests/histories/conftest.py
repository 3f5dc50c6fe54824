"""The store on which a history is told."""

from tests.support.stores import store, store_url

__all__ = ["store", "store_url"]
