"""
The tables of kinds and closed periods, in each ledger.
"""

from typing import ClassVar

from django.db import migrations

from lastro.django.migrating import BringLedgersUp


class Migration(migrations.Migration):
    """
    No model: kinds are read by `ledger().kinds`.
    """

    # Each migration of a ledger is a transaction of its own.
    atomic = False
    dependencies: ClassVar[list[tuple[str, str]]] = [("lastro", "0003_holds")]
    operations: ClassVar = [BringLedgersUp(to="0004_kinds")]
