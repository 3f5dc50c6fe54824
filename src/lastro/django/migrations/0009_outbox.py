"""
The tables of the outbox, in each ledger on PostgreSQL.
"""

from typing import ClassVar

from django.db import migrations

from lastro.django.migrating import BringLedgersUp


class Migration(migrations.Migration):
    """
    No model: the outbox is read by `ledger().outbox`.
    """

    # Each migration of a ledger is a transaction of its own.
    atomic = False
    dependencies: ClassVar[list[tuple[str, str]]] = [("lastro", "0007_adoption")]
    operations: ClassVar = [BringLedgersUp(to="0009_outbox")]
