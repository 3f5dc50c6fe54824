"""The stores and styles of the conformance suite, for the charger."""

from tests.conformance.conftest import (
    ledger,
    loop,
    pytest_generate_tests,
    raw,
    store,
    store_url,
    style,
)
from tests.support.fixtures import observer, session

__all__ = ["ledger", "loop", "observer", "pytest_generate_tests", "raw", "session", "store", "store_url", "style"]
