"""
The outbox, in each ledger.
"""

from typing import ClassVar

from django.db import migrations

from lastro.django.migrating import BringLedgersUp


class Migration(migrations.Migration):
    """
    No model: the relay reads it.
    """

    # Each migration of a ledger is a transaction of its own.
    atomic = False
    dependencies: ClassVar[list[tuple[str, str]]] = [("lastro", "0004_kinds")]
    operations: ClassVar = [BringLedgersUp(to="0009_outbox")]
