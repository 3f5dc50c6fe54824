"""What can only befall a ledger in a file: one transaction writes at a time, and one that has read first may not write."""

from typing import Any

from django.db import connection, transaction

import lastro
from books.committing import Opened
from books.models import wanted


class InAFile(Opened):
    """On SQLite."""

    def test_a_call_of_its_own_takes_the_write_lock_first(self) -> None:
        """Outside a block the transaction is begun IMMEDIATE; what the project chose for its blocks stays."""
        seen: list[str] = []

        def watch(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
            seen.append(sql)
            return execute(sql, params, many, context)

        with connection.execute_wrapper(watch):
            self.ledger.post(**wanted(key=self.key()))
            with transaction.atomic():
                self.ledger.post(**wanted(key=self.key("2")))
        self.assertEqual(seen, ["BEGIN IMMEDIATE", "BEGIN"])
        self.assertEqual(self.gained(), 10)

    def test_a_block_that_has_read_is_behind(self) -> None:
        """Where somebody has written since a block's first read, its posting is a fault, and the block marked."""
        other = connection.copy("rival")
        with transaction.atomic():
            self.posted()
            with other.cursor() as cursor:
                cursor.execute("INSERT INTO books_order (number) VALUES (7)")
            with self.assertRaises(lastro.SerializationLost):
                self.ledger.post(**wanted(key=self.key()))
            self.assertTrue(connection.needs_rollback)
        other.close()
        self.assertEqual(self.gained(), 0)
