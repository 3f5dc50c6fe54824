"""
The tables of adoptions, in each ledger.
"""

from typing import ClassVar

from django.db import migrations

from lastro.django.migrating import BringLedgersUp


class Migration(migrations.Migration):
    """
    No model: adoptions are read by `ledger().adopting`.
    """

    # Each migration of a ledger is a transaction of its own.
    atomic = False
    dependencies: ClassVar[list[tuple[str, str]]] = [("lastro", "0006_reconciliation")]
    operations: ClassVar = [BringLedgersUp(to="0007_adoption")]
