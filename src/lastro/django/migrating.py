"""
`manage.py migrate` for ledgers: the operation of the app's own migrations, and what is completed after them.
"""

from __future__ import annotations

import pkgutil
from importlib import import_module
from typing import Any

from django.db import connections
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.operations.base import Operation
from django.db.migrations.recorder import MigrationRecorder

from lastro.django.bound import drop_earlier_tests_ledger, ledger
from lastro.django.configuration import on_database
from lastro.errors import SchemaOutdated

LABEL = "lastro"
FIRST = "0001_core"


class BringLedgersUp(Operation):
    """
    Bring the ledgers of a database up to this release. `to` names the migration of ours that made this step necessary.

    Runs outside the migration's transaction (`atomic = False`): each migration of a ledger is one of its own, and waits
    for its locks in short turns. There is no way back: history is never dropped.
    """

    reduces_to_sql = False
    reversible = False
    elidable = False

    def __init__(self, to: str) -> None:
        self.to = to

    def state_forwards(self, app_label: str, state: Any) -> None:
        """Change no model."""

    def database_forwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        """Migrate the ledgers that LASTRO puts on this database."""
        for name in on_database(schema_editor.connection.alias):
            if self.to == FIRST:
                # Only here: the project's own migrations may have opened accounts before a later one.
                drop_earlier_tests_ledger(name)
            ledger(name).migrate()

    def describe(self) -> str:
        """Say what it does, for `migrate --plan`."""
        return f"Bring the ledgers up to {self.to}"


def complete(*, using: str, verbosity: int = 1, **_: Any) -> None:
    """
    Make, after `migrate`, the ledgers that the migrations had no occasion to make: one that was added to LASTRO since,
    and those of a test run without migrations. Leaves alone what the app's migrations are still going to do.
    """
    if _migrations_are_due(using):
        return
    for name in on_database(using):
        book = ledger(name)
        try:
            book._check_schema()  # noqa: SLF001  (the quick way to know that there is nothing to do)
        except SchemaOutdated:
            applied = book.migrate()
            if verbosity:
                print(f"  Ledger {name}: applied {', '.join(applied)}")  # noqa: T201  (as `migrate` itself does)


def _migrations_are_due(using: str) -> bool:
    module, _ = MigrationLoader.migrations_module(LABEL)
    if module is None:
        return False
    brought = {found.name for found in pkgutil.iter_modules(import_module(module).__path__)}
    applied = {name for label, name in MigrationRecorder(connections[using]).applied_migrations() if label == LABEL}
    return not brought <= applied
