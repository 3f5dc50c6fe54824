"""Tests that commit, after which Django empties the application's tables and fills them as the migrations did."""

from django.test import TransactionTestCase


class Committing(TransactionTestCase):
    """All with `serialized_rollback`, which doesn't go together with classes that have it not."""

    serialized_rollback = True
