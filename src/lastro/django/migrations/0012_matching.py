"""
The tables of matching, in each ledger.
"""

from typing import ClassVar

from django.db import migrations

from lastro.django.migrating import BringLedgersUp


class Migration(migrations.Migration):
    """
    No model: runs of matching are read by `ledger().matching`.
    """

    # Each migration of a ledger is a transaction of its own.
    atomic = False
    dependencies: ClassVar[list[tuple[str, str]]] = [("lastro", "0011_imports")]
    operations: ClassVar = [BringLedgersUp(to="0012_matching")]
