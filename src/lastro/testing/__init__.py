"""
For the tests of those who use Lastro: a ledger of their own, a proof that it balances, and a clock they set.

The pytest fixtures are in `lastro.testing.fixtures`: `pytest_plugins = ["lastro.testing.fixtures"]` in the root conftest.
"""

from lastro.testing.balanced import assert_balanced
from lastro.testing.clock import Clock
from lastro.testing.temporary import temporary_ledger

__all__ = ["Clock", "assert_balanced", "temporary_ledger"]
