"""
The tables of holds, in each ledger.
"""

from typing import ClassVar

from django.db import migrations

from lastro.django.migrating import BringLedgersUp


class Migration(migrations.Migration):
    """
    No model: holds are read by `ledger().holds`.
    """

    # Each migration of a ledger is a transaction of its own.
    atomic = False
    dependencies: ClassVar[list[tuple[str, str]]] = [("lastro", "0002_points")]
    operations: ClassVar = [BringLedgersUp(to="0003_holds")]
