"""Tests that commit, after which Django empties the application's tables and fills them as the migrations did."""

from django.test import TransactionTestCase

import lastro.django


class Committing(TransactionTestCase):
    """All with `serialized_rollback`, which doesn't go together with classes that have it not."""

    serialized_rollback = True


class Books:
    """Accounts `a` and `b` (direct) and `hot`, opened in the block of the test or for good."""

    def setUp(self) -> None:
        """Open them."""
        self.ledger = lastro.django.ledger()
        for name, keeping in (("a", "direct"), ("b", "direct"), ("hot", "hot")):
            self.ledger.open_account(name, "BRL", keeping=keeping)

    def posted(self, name: str = "a") -> int:
        """The balance of an account."""
        return self.ledger.balance(name, "BRL").posted


class Opened(Books, Committing):
    """Tests that commit, with what they gained on `a` since their beginning."""

    # What a TransactionTestCase flushes are the application's tables; the history can't be, so keys differ by test.
    def key(self, name: str = "") -> str:
        """A key of this test's own."""
        return f"{self.id()}:{name}"

    def setUp(self) -> None:
        """Open the accounts, and remember what is on them."""
        super().setUp()
        self.before = self.posted()

    def gained(self) -> int:
        """What `a` has more than at the beginning."""
        return self.posted() - self.before
