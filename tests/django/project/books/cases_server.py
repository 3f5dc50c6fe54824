"""What can only befall a ledger on a server: it goes away, its answer is lost, it breaks a transaction off."""

from collections.abc import Iterator
from contextlib import contextmanager
from unittest import mock

import psycopg
from django.db import connection, connections, transaction

import lastro
from books.committing import Opened
from books.models import wanted


class OnAServer(Opened):
    """On PostgreSQL."""

    def test_a_lost_connection_is_opened_again(self) -> None:
        """A call outside a block survives the end of a persistent connection; inside it is a fault."""
        pid = connection.connection.info.backend_pid
        rival = connection.copy("rival")
        with rival.cursor() as cursor:
            cursor.execute("SELECT pg_terminate_backend(%s, 5000)", [pid])
        self.ledger.post(**wanted(key=self.key()))
        self.assertNotEqual(connection.connection.info.backend_pid, pid)
        with self.assertRaises(lastro.ConnectionLost), transaction.atomic():
            with rival.cursor() as cursor:
                cursor.execute("SELECT pg_terminate_backend(%s, 5000)", [connection.connection.info.backend_pid])
            self.ledger.post(**wanted(key=self.key("2")))
        rival.close()
        self.assertEqual(self.gained(), 5)

    def test_a_lost_answer_is_found_out(self) -> None:
        """A COMMIT that went unanswered is asked again under its key; what has no key is OutcomeUnknown."""
        counted = self.ledger.count(self.key())
        with self.commits_that_end_as(psycopg.OperationalError("server closed the connection unexpectedly")):
            self.assertTrue(self.ledger.post(**wanted(key=self.key())).replayed)
        with (
            self.commits_that_end_as(psycopg.OperationalError("server closed the connection unexpectedly")),
            self.assertRaises(lastro.OutcomeUnknown) as caught,
        ):
            self.ledger.bump(self.key())
        self.assertEqual(caught.exception.committed, "unknown")
        self.assertEqual((self.gained(), self.ledger.count(self.key())), (5, counted + 1))

    def test_a_lost_race_is_run_again(self) -> None:
        """Outside a block a transaction that the database broke off is tried again."""
        with self.commits_that_end_as(psycopg.errors.SerializationFailure("could not serialize"), stored=False):
            self.assertFalse(self.ledger.post(**wanted(key=self.key())).replayed)
        self.assertEqual(self.gained(), 5)

    @contextmanager
    def commits_that_end_as(self, error: psycopg.Error, *, stored: bool = True) -> Iterator[None]:
        """Let the next COMMIT store (or not), and end as an error all the same."""
        commit = connection._commit
        answers = iter([error])

        def ended() -> None:
            error = next(answers, None)
            if error is None or stored:
                commit()
            if error is not None:
                with connection.wrap_database_errors:
                    raise error

        with mock.patch.object(connections["default"], "_commit", ended):
            yield
