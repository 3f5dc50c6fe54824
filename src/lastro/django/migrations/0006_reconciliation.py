"""
The tables of reconciliation and its incidents, in each ledger.
"""

from typing import ClassVar

from django.db import migrations

from lastro.django.migrating import BringLedgersUp


class Migration(migrations.Migration):
    """
    No model: incidents are read by `ledger().incidents`.
    """

    # Each migration of a ledger is a transaction of its own.
    atomic = False
    dependencies: ClassVar[list[tuple[str, str]]] = [("lastro", "0005_closings")]
    operations: ClassVar = [BringLedgersUp(to="0006_reconciliation")]
