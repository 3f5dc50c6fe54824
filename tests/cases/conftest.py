"""The sessions and the observer that these tests use."""

from tests.support.fixtures import observer, session

__all__ = ["observer", "session"]
