"""Posting inside transaction.atomic: it stays Django's transaction, whatever happens to the posting."""

from datetime import timedelta
from typing import Any

from django.db import DEFAULT_DB_ALIAS, IntegrityError, connection, transaction
from django.db.transaction import TransactionManagementError
from django.test import TestCase

import lastro
import lastro.django
from books.committing import Books, Opened
from books.models import Order, wanted
from lastro.django.configuration import table_of


class InABlock(Books, TestCase):
    """Each test in the block of a TestCase, and in blocks of its own within that."""

    def test_an_order_and_its_money_are_stored_together(self) -> None:
        """Both are there after the block."""
        with transaction.atomic():
            Order.objects.create(number=1)
            self.assertFalse(self.ledger.post(**wanted()).replayed)
        self.assertEqual((Order.objects.count(), self.posted()), (1, 5))

    def test_a_rollback_undoes_both(self) -> None:
        """After an exception neither is there, and the key is free."""
        with self.assertRaises(OSError), transaction.atomic():
            Order.objects.create(number=1)
            self.ledger.post(**wanted())
            raise OSError
        self.assertEqual((Order.objects.count(), self.posted()), (0, 0))
        self.assertFalse(self.ledger.post(**wanted()).replayed)

    def test_an_inner_block_is_undone_alone(self) -> None:
        """What was posted in the outer block stays, what was posted in the inner one goes."""
        with transaction.atomic():
            self.ledger.post(**wanted(key="outer"))
            with self.assertRaises(IntegrityError), transaction.atomic():
                self.ledger.post(**wanted(key="inner", credit="hot"))
                Order.objects.create(number=1)
                Order.objects.create(number=1)
            self.ledger.post(**wanted(key="after"))
        self.assertEqual((self.posted(), self.posted("hot")), (10, 0))

    def test_an_attempt_is_repeated_under_its_key(self) -> None:
        """The same key again gets the first transfer back; other content is a conflict, and the block goes on."""
        first = self.ledger.post(**wanted())
        with transaction.atomic():
            again = self.ledger.post(**wanted())
            with self.assertRaises(lastro.TransferConflict) as caught:
                self.ledger.post(**wanted(amount=6))
            Order.objects.create(number=1)
        self.assertEqual((again.replayed, again.transfer), (True, first.transfer))
        self.assertEqual(caught.exception.fields, {"amount": (5, 6)})
        self.assertEqual((Order.objects.count(), self.posted()), (1, 5))

    def test_hooks_run_after_the_commit_alone(self) -> None:
        """What on_commit was given runs where the block is committed, and not where it is undone."""
        done: list[str] = []
        with self.captureOnCommitCallbacks(execute=True):
            with transaction.atomic():
                self.ledger.post(**wanted())
                transaction.on_commit(lambda: done.append("kept"))
            with self.assertRaises(OSError), transaction.atomic():
                self.ledger.post(**wanted(key="2"))
                transaction.on_commit(lambda: done.append("undone"))
                raise OSError
        self.assertEqual(done, ["kept"])

    def test_a_refusal_leaves_the_block_usable(self) -> None:
        """Refusals of each kind are caught inside the block, and its other work is kept."""
        refused: list[tuple[type[lastro.Refusal], dict[str, Any]]] = [
            (lastro.InsufficientFunds, wanted(debit="b", credit="a")),
            (lastro.InsufficientFunds, wanted(debit="hot", credit="b")),
            (lastro.UnknownAccount, wanted(credit="nobody")),
            (lastro.InvalidInput, wanted(amount=0)),
        ]
        with transaction.atomic():
            for number, (refusal, transfer) in enumerate(refused):
                with self.assertRaises(refusal):
                    self.ledger.post(**transfer)
                with self.assertRaises(refusal):
                    self.ledger.post_many([wanted(key="good"), transfer])
                self.assertFalse(connection.needs_rollback)
                Order.objects.create(number=number)
        self.assertEqual((Order.objects.count(), self.posted()), (len(refused), 0))

    def test_a_refusal_may_leave_an_inner_block(self) -> None:
        """It undoes that block, as any exception does; the outer one goes on."""
        with transaction.atomic():
            with self.assertRaises(lastro.InsufficientFunds), transaction.atomic():
                Order.objects.create(number=1)
                self.ledger.post(**wanted(debit="a", credit="b"))
            Order.objects.create(number=2)
            self.ledger.post(**wanted())
        self.assertEqual((Order.objects.get().number, self.posted()), (2, 5))

    def test_a_block_that_must_be_rolled_back_is_refused(self) -> None:
        """Where Django has marked the block (an inner block without savepoint failed) nothing is posted."""
        with transaction.atomic():
            with self.assertRaises(OSError), transaction.atomic(savepoint=False):
                raise OSError
            for call in (lambda: self.ledger.post(**wanted()), self.posted):
                with self.assertRaisesRegex(lastro.NotInTransaction, "marked for rollback"):
                    call()
        self.assertEqual(self.posted(), 0)

    def test_what_needs_transactions_of_its_own_is_refused(self) -> None:
        """keep, close_account, consolidate, migrate and the partitions can't be part of a block."""
        for call in (
            lambda: self.ledger.keep("a", "BRL", "hot"),
            lambda: self.ledger.close_account("a", "BRL"),
            self.ledger.consolidate,
            self.ledger.migrate,
            self.ledger.keep_partitions,
            lambda: self.ledger.retire_partition("transfer_p1"),
        ):
            with self.assertRaisesRegex(lastro.InvalidInput, "outside transaction.atomic"):
                call()
        self.assertFalse(connection.needs_rollback)

    def test_a_batcher_is_refused(self) -> None:
        """It would post from a thread whose connection nobody closes."""
        with self.assertRaisesRegex(lastro.InvalidInput, "batcher"):
            self.ledger.batching()

    def test_every_kind_of_posting_joins_the_block(self) -> None:
        """A batch, a reversal, a counter and an account are undone with the block."""
        self.ledger.post(**wanted())
        with transaction.atomic():
            self.ledger.open_account("new", "BRL")
            many = [wanted(key=f"{n}", credit="hot", metadata={"n": n}) for n in range(60)]
            self.assertEqual(self.ledger.post_many(many)[7].transfer.metadata, {"n": 7})
            self.ledger.reverse("k", "undo")
            self.ledger.bump("orders", 3)
            self.assertEqual((self.posted("hot"), self.posted(), self.ledger.count("orders")), (300, 0, 3))
            transaction.set_rollback(True)
        self.assertEqual((self.posted("hot"), self.posted(), self.ledger.count("orders")), (0, 5, 0))

    def test_debug_cursors_do_not_matter(self) -> None:
        """Django's log of queries and its wrappers see Django's statements; the ledger's go past them."""
        seen: list[str] = []

        def watch(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
            seen.append(sql)
            return execute(sql, params, many, context)

        with self.assertNumQueries(1), connection.execute_wrapper(watch):
            self.ledger.post(**wanted())
            Order.objects.create(number=1)
        self.assertEqual(len(seen), 1)
        self.assertEqual(self.posted(), 5)


class Committed(Opened):
    """Where a test needs transactions that end."""

    def test_autocommit_is_refused_by_within(self) -> None:
        """within() on Django's connection outside a block says to use transaction.atomic()."""
        held = self.ledger.within(connection)
        for call in (lambda: held.post(**wanted(key=self.key())), lambda: held.balance("a", "BRL")):
            with self.assertRaisesRegex(lastro.NotInTransaction, r"transaction\.atomic\(using='default'\)"):
                call()
        with transaction.atomic():
            held.post(**wanted(key=self.key()))
        self.assertEqual(self.gained(), 5)

    def test_a_durable_block(self) -> None:
        """durable=True takes postings like any other block."""
        with transaction.atomic(durable=True):
            self.ledger.post(**wanted(key=self.key()))
        self.assertEqual(self.gained(), 5)

    def test_outside_a_block_each_call_is_one(self) -> None:
        """A post outside is committed when it returns, a refusal writes nothing, and Django is in autocommit again."""
        self.ledger.post(**wanted(key=self.key()))
        with self.assertRaises(lastro.TransferConflict):
            self.ledger.post_many([wanted(key=self.key("2")), wanted(key=self.key(), amount=6)])
        self.assertTrue(connection.get_autocommit())
        self.assertFalse(connection.in_atomic_block)
        with self.assertRaises(OSError), transaction.atomic():
            raise OSError
        self.assertEqual(self.gained(), 5)
        self.assertIsNone(self.ledger.transfer(self.key("2")))

    def test_an_outer_block_is_the_only_commit(self) -> None:
        """Another connection sees nothing before the block ends."""
        other = connection.copy("same")
        with transaction.atomic():
            self.ledger.post(**wanted(key=self.key()))
            with other.cursor() as cursor:
                cursor.execute(f"SELECT count(*) FROM {table_of('movement')} WHERE movement_key = %s", [self.key()])
                self.assertEqual(cursor.fetchone(), (0,))
        other.close()
        self.assertEqual(self.gained(), 5)

    def test_a_fault_marks_the_block(self) -> None:
        """After a lock that wasn't granted Django lets nothing more into the block, and its end stores nothing."""
        other = connection.copy("rival")
        other.set_autocommit(False)
        with other.cursor() as cursor:
            cursor.execute(f"UPDATE {table_of('base')} SET payments = payments")
        with transaction.atomic():
            if connection.vendor != "sqlite":
                Order.objects.create(number=1)
            with self.assertRaises(lastro.LockTimeout) as fault:
                self.ledger.post(**wanted(key=self.key()))
            self.assertTrue(connection.needs_rollback)
            with self.assertRaises(TransactionManagementError) as broken:
                Order.objects.count()
            self.assertIs(broken.exception.__cause__, fault.exception)
            with self.assertRaises(lastro.NotInTransaction):
                self.ledger.post(**wanted(key=self.key()))
        other.rollback()
        other.close()
        self.assertEqual((Order.objects.count(), self.gained()), (0, 0))

    def test_a_fault_in_an_inner_block_is_undone_with_it(self) -> None:
        """The inner block takes the mark with it: the outer one goes on, and the retry is posted."""
        other = connection.copy("rival")
        other.set_autocommit(False)
        with other.cursor() as cursor:
            cursor.execute(f"UPDATE {table_of('base')} SET payments = payments")
        with transaction.atomic():
            with self.assertRaises(lastro.LockTimeout), transaction.atomic():
                self.ledger.post(**wanted(key=self.key()))
            self.assertFalse(connection.needs_rollback)
            other.rollback()
            self.ledger.post(**wanted(key=self.key()))
        other.close()
        self.assertEqual(self.gained(), 5)

    def test_the_courses_run_outside_a_block(self) -> None:
        """keep, consolidate, close_account, migrate and the partitions work on Django's connection."""
        self.ledger.open_account(self.key(), "BRL")
        self.assertEqual(self.ledger.keep(self.key(), "BRL", "hot").keeping, "hot")
        self.ledger.post(**wanted(key=self.key(), credit=self.key()))
        self.assertGreaterEqual(self.ledger.consolidate().rows, 1)
        self.ledger.reverse(self.key(), self.key("undo"))
        self.ledger.consolidate()
        self.assertIsNotNone(self.ledger.close_account(self.key(), "BRL").closed_at)
        self.assertEqual(self.ledger.migrate(), [])
        if connection.vendor == "postgresql":
            self.assertEqual(self.ledger.keep_partitions(), 0)
            self.assertEqual(self.ledger.partitions()[0].name, "transfer_p1")

    def test_autocommit_off(self) -> None:
        """With autocommit off the project commits by itself, and postings wait for that."""
        transaction.set_autocommit(False)
        try:
            Order.objects.create(number=1)
            self.ledger.post(**wanted(key=self.key("undone")))
            transaction.rollback()
            Order.objects.create(number=2)
            self.ledger.within(connection).post(**wanted(key=self.key()))
            transaction.commit()
        finally:
            transaction.rollback()
            transaction.set_autocommit(True)
        self.assertEqual((Order.objects.get().number, self.gained()), (2, 5))
        self.assertIsNone(self.ledger.transfer(self.key("undone")))

    def test_a_closed_connection_is_a_fault(self) -> None:
        """A connection that was closed inside its block stores nothing and says so."""
        with transaction.atomic():
            connection.close()
            with self.assertRaisesRegex(lastro.ConnectionLost, "closed inside its atomic block"):
                self.ledger.post(**wanted(key=self.key()))
        self.assertEqual((self.gained(), DEFAULT_DB_ALIAS), (0, connection.alias))


class Points(Opened):
    """What members earn is part of the block; what needs transactions of its own is refused in one."""

    def test_points(self) -> None:
        """An earning is undone with its block, and done with it; a rebuild walks outside of every block."""
        points = lastro.django.ledger().points
        points.define_rule("orders", activity="order", points=10, currency="PTS", cap=15, period="day")
        with self.assertRaises(OSError), transaction.atomic():
            points.earn("order:1", activity="order", member="ana")
            raise OSError
        self.assertIsNone(points.activity("order:1"))
        with transaction.atomic():
            earned = points.earn("order:1", activity="order", member="ana").activity
            with self.assertRaises(lastro.InvalidInput):
                points.rebuild("orders", earned.occurred_at, earned.occurred_at + timedelta(days=1))
        points.define_rule("orders", activity="order", points=12, currency="PTS", cap=15, period="day")
        done = points.rebuild("orders", earned.occurred_at, earned.occurred_at + timedelta(days=1))
        self.assertEqual((done.changes, done.given), (1, 2))
        self.assertEqual(lastro.django.ledger().balance("ana", "PTS").posted, 12)
