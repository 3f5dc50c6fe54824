"""Settings, migrations, views and threads: what a project meets around the posting."""

import asyncio
import io
import threading
from contextlib import nullcontext
from typing import Any
from unittest import mock

from django.core.checks import run_checks
from django.core.exceptions import ImproperlyConfigured, SynchronousOnlyOperation
from django.core.management import call_command
from django.db import connection, connections, transaction
from django.test import SimpleTestCase, TestCase, override_settings

import lastro
import lastro.django
from books.committing import Committing
from books.models import Order, wanted
from lastro.django.bound import drop_earlier_tests_ledger
from lastro.django.configuration import configured
from lastro.engine.django_stores import VENDORS
from lastro.testing import assert_balanced

THREADS = 8


def said(*command: str, **options: Any) -> str:
    """What a command of manage.py prints."""
    out = io.StringIO()
    call_command(*command, stdout=out, **options)
    return out.getvalue()


class Settings(SimpleTestCase):
    """LASTRO is checked by `manage.py check`, and again where it is used."""

    def test_the_project_is_in_order(self) -> None:
        """Django finds nothing to say about the app, its models included."""
        self.assertEqual(run_checks(include_deployment_checks=False), [])

    def test_each_mistake_has_its_number(self) -> None:
        """What is wrong is found by its number, and `ledger()` raises it in the same words."""
        for wrong, number in (
            ("default", "E001"),
            ({}, "E001"),
            ({"other": {}}, "E001"),
            ({"default": "lastro"}, "E001"),
            ({"default": {"DATABSE": "default"}}, "E002"),
            ({"default": {"DATABASE": "nowhere"}}, "E003"),
            ({"default": {"LEDGER": "Books; DROP"}}, "E005"),
            ({"default": {"LEDGER": None}}, "E005"),
            ({"default": {"LOCK_TIMEOUT_MS": 0}}, "E006"),
            ({"default": {"LOCK_TIMEOUT_MS": True}}, "E006"),
            ({"default": {"LOCK_TIMEOUT_MS": "3s"}}, "E006"),
        ):
            with self.subTest(wrong=wrong), override_settings(LASTRO=wrong):
                found = [error.id for error in run_checks() if str(error.id).startswith("lastro.")]
                self.assertEqual(found, [f"lastro.{number}"])
                with self.assertRaisesRegex(ImproperlyConfigured, number):
                    lastro.django.ledger()

    def test_another_kind_of_database(self) -> None:
        """A backend that no ledger lives on is E004, with the ones that will do."""
        with mock.patch.object(type(connections["default"]), "vendor", "oracle"):
            hints = [str(error.hint) for error in run_checks() if error.id == "lastro.E004"]
        self.assertEqual(len(hints), 2)
        self.assertIn(VENDORS[0], hints[0])

    def test_an_unknown_ledger(self) -> None:
        """A name that isn't in the settings is refused with those that are."""
        with self.assertRaisesRegex(ImproperlyConfigured, "default, second"):
            lastro.django.ledger("third")

    def test_a_ledger_is_kept(self) -> None:
        """What a process has learnt is kept from call to call."""
        self.assertIs(lastro.django.ledger(), lastro.django.ledger("default"))


class Migrating(Committing):
    """`manage.py migrate` makes the ledgers, once."""

    databases = ("default", "other")

    def test_the_test_database_has_its_ledger(self) -> None:
        """And what a data migration opened in it is still there after the flush of other tests."""
        self.assertEqual(lastro.django.ledger().account("of the migration", "BRL").keeping, "direct")

    def test_a_second_run_does_nothing(self) -> None:
        """Nothing to plan, nothing to apply, no model that changed."""
        for alias in self.databases:
            self.assertIn("No planned migration operations.", said("migrate", "--plan", database=alias))
            self.assertIn("No migrations to apply.", said("migrate", database=alias))
        self.assertIn("No changes detected", said("makemigrations", "--check", "--dry-run"))

    def test_every_migration_of_a_ledger_has_one_of_djangos(self) -> None:
        """The newest migration of each dialect is named by one of the app's, and the newest of all by the app's newest."""
        from importlib import import_module

        from django.db.migrations.loader import MigrationLoader

        from lastro.django.migrating import BringLedgersUp
        from lastro.schema.migrations import migrations

        def brought_by(name: str) -> list[str]:
            operations = import_module(f"lastro.django.migrations.{name}").Migration.operations
            return [operation.to for operation in operations if isinstance(operation, BringLedgersUp)]

        graph = MigrationLoader(connection).graph
        (leaf,) = graph.leaf_nodes("lastro")
        brought = [to for app, name in graph.forwards_plan(leaf) if app == "lastro" for to in brought_by(name)]
        newest = [migrations(dialect, "lastro")[-1] for dialect in ("postgres", "mysql", "sqlite")]
        names = [f"{migration.number:04}_{migration.name}" for migration in newest]
        self.assertLessEqual(set(names), set(brought))
        self.assertEqual(brought_by(leaf[1]), [max(names)])

    def test_each_database_has_its_own_ledgers(self) -> None:
        """A ledger lives where LASTRO says and nowhere else."""
        second = lastro.django.ledger("second")
        second.open_account("a", "BRL")
        second.post(**wanted(key=self.id()))
        self.assertIsNone(lastro.django.ledger().transfer(self.id()))
        with self.assertRaises(lastro.UnknownAccount):
            second.account("of the migration", "BRL")

    def test_a_ledger_that_was_added_later_is_made_by_migrate(self) -> None:
        """After the app's own migrations are through, `migrate` makes what is new in the settings."""
        with override_settings(LASTRO={"default": {"LEDGER": "books"}, "new": {"LEDGER": "added"}}):
            with self.assertRaises(lastro.SchemaOutdated):
                lastro.django.ledger("new").balance("world", "BRL")
            call_command("migrate", verbosity=0)
            lastro.django.ledger("new").open_account("a", "BRL")
            self.assertEqual(lastro.django.ledger("new").migrate(), [])

    def test_a_run_without_migrations_has_its_ledger(self) -> None:
        """Where a test run switches the app's migrations off, `migrate` makes the ledger all the same."""
        with override_settings(
            MIGRATION_MODULES={"lastro": None, "books": None},
            LASTRO={"default": {"LEDGER": "unmigrated", "DATABASE": "default"}},
        ):
            call_command("migrate", run_syncdb=True, verbosity=0)
            lastro.django.ledger().open_account("a", "BRL")

    def test_what_an_earlier_run_left_is_dropped(self) -> None:
        """On MariaDB the ledger lies beside the test database, and would outlive it; elsewhere nothing is dropped."""
        with override_settings(LASTRO={"default": {"LEDGER": "stale"}}):
            ledger = lastro.django.ledger()
            ledger.migrate()
            ledger.open_account("a", "BRL")
            name = configured().ledger
            self.assertEqual(
                name, f"{connection.settings_dict['NAME']}_stale" if connection.vendor == "mysql" else "stale"
            )
            with (
                mock.patch.dict(connection.settings_dict, NAME="books")
                if connection.vendor == "mysql"
                else nullcontext()
            ):
                # Under the name that the settings have it is no test's, and stays.
                drop_earlier_tests_ledger("default")
            self.assertEqual(ledger.account("a", "BRL").name, "a")
            drop_earlier_tests_ledger("default")
            ledger.migrate()
            if connection.vendor != "mysql":
                self.assertEqual(ledger.account("a", "BRL").name, "a")
                return
            with self.assertRaises(lastro.UnknownAccount):
                ledger.account("a", "BRL")

    def test_the_apps_migrations_come_first(self) -> None:
        """What migrations are still going to do is left to them."""
        from django.db.migrations.recorder import MigrationRecorder

        recorder = MigrationRecorder(connection)
        recorded = [
            ("lastro", "0001_core"),
            ("lastro", "0002_points"),
            ("lastro", "0003_holds"),
            ("lastro", "0004_kinds"),
            ("lastro", "0005_closings"),
            ("lastro", "0006_reconciliation"),
            ("lastro", "0007_adoption"),
            ("lastro", "0009_outbox"),
            ("lastro", "0010_betting"),
            ("lastro", "0011_imports"),
            ("lastro", "0012_matching"),
            ("books", "0001_initial"),
        ]
        for label, name in reversed(recorded):
            recorder.record_unapplied(label, name)
        try:
            with override_settings(LASTRO={"default": {"LEDGER": "early"}}):
                call_command("migrate", "contenttypes", verbosity=0)
                with self.assertRaises(lastro.SchemaOutdated):
                    lastro.django.ledger().balance("world", "BRL")
        finally:
            for label, name in recorded:
                recorder.record_applied(label, name)


class Flushing(Committing):
    """A TransactionTestCase empties the application's tables; a ledger's history can't be emptied, and isn't."""

    def test_1(self) -> None:
        """A first test posts and stores an order."""
        lastro.django.ledger().open_account("a", "BRL")
        Order.objects.create(number=1)
        lastro.django.ledger().post(**wanted(key="of the flush"))

    def test_2(self) -> None:
        """The second one finds no order, and the transfer under its key."""
        self.assertEqual(Order.objects.count(), 0)
        self.assertTrue(lastro.django.ledger().post(**wanted(key="of the flush")).replayed)


class Views(Committing):
    """Postings in a view with ATOMIC_REQUESTS."""

    def setUp(self) -> None:
        """Open the accounts in a ledger of this test's own."""
        settings = override_settings(LASTRO={"default": {"LEDGER": f"views_{self._testMethodName[:30]}"}})
        settings.enable()
        self.addCleanup(settings.disable)
        lastro.django.ledger().migrate()
        for name in ("a", "b"):
            lastro.django.ledger().open_account(name, "BRL")
        with_requests = mock.patch.dict(connection.settings_dict, ATOMIC_REQUESTS=True)
        with_requests.start()
        self.addCleanup(with_requests.stop)

    def outcome(self, url: str) -> tuple[bytes, int, int]:
        """What a request answers, the orders, and the balance after it."""
        self.client.raise_request_exception = False
        content = self.client.get(url).content
        return content, Order.objects.count(), lastro.django.ledger().balance("a", "BRL").posted

    def test_a_view_that_ends_well(self) -> None:
        """It is committed."""
        self.assertEqual(self.outcome("/pay/well/"), (b"paid", 1, 5))

    def test_a_view_that_raises(self) -> None:
        """It is undone, the money with the order."""
        with self.assertLogs("django.request", "ERROR"):
            _, *stored = self.outcome("/pay/raise/")
        self.assertEqual(stored, [0, 0])

    def test_a_view_that_is_refused(self) -> None:
        """What it did beside the refusal is committed."""
        self.assertEqual(self.outcome("/pay/refused/"), (b"refused", 1, 5))

    def test_an_awaiting_view(self) -> None:
        """It posts through sync_to_async, and can't otherwise."""
        connection.settings_dict["ATOMIC_REQUESTS"] = False
        self.assertEqual(self.outcome("/pay-async/well/"), (b"paid", 1, 5))

        async def at_once() -> None:
            lastro.django.ledger().post(**wanted(key="at once"))

        with self.assertRaises(SynchronousOnlyOperation):
            asyncio.run(at_once())
        self.assertIsNone(lastro.django.ledger().transfer("at once"))


class Threads(Committing):
    """A connection belongs to its thread; a ledger is shared."""

    def test_each_thread_has_its_connection(self) -> None:
        """Threads post through one ledger, each in blocks of its own connection, and all of it is stored."""
        ledger = lastro.django.ledger()
        ledger.open_account(self.id(), "BRL")
        errors: list[BaseException] = []

        def work(number: int) -> None:
            try:
                for turn in range(3):
                    transfer = wanted(key=f"{self.id()}:{number}:{turn}", credit=self.id())
                    ledger.post(**transfer)
                    with transaction.atomic():
                        self.assertTrue(ledger.post(**transfer).replayed)
            except BaseException as error:  # noqa: BLE001
                errors.append(error)
            finally:
                connections.close_all()

        threads = [threading.Thread(target=work, args=(number,)) for number in range(THREADS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(errors, [])
        self.assertEqual(ledger.balance(self.id(), "BRL").posted, THREADS * 3 * 5)
        assert_balanced(ledger)

    def test_another_threads_connection_is_refused(self) -> None:
        """Handed over to another thread it is refused by name, and nothing is written."""
        mine = connections["default"]
        mine.ensure_connection()
        caught: list[BaseException] = []

        def work() -> None:
            try:
                lastro.django.ledger().within(mine).post(**wanted(key=self.id()))
            except lastro.InvalidInput as refused:
                caught.append(refused)

        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        self.assertIn("belongs to another thread", str(caught[0]))

    def test_another_databases_connection_is_refused(self) -> None:
        """A connection of another kind of database is told apart by its name."""
        held = lastro.django.ledger().within(connections["default"])
        with (
            mock.patch.object(type(connections["default"]), "vendor", "oracle"),
            self.assertRaisesRegex(lastro.InvalidInput, "own database"),
        ):
            held.post(**wanted(key=self.id()))


class InsideATest(TestCase):
    """What a TestCase does to a ledger."""

    def test_1(self) -> None:
        """Postings inside a TestCase are undone with it…"""
        lastro.django.ledger().open_account("of a TestCase", "BRL")
        self.assertFalse(lastro.django.ledger().post(**wanted(key="of a TestCase", credit="of a TestCase")).replayed)
        assert_balanced(lastro.django.ledger())

    def test_2(self) -> None:
        """…so that the next one may use the same names and keys."""
        self.test_1()
