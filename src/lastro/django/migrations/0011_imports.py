"""
The tables of imports, in each ledger.
"""

from typing import ClassVar

from django.db import migrations

from lastro.django.migrating import BringLedgersUp


class Migration(migrations.Migration):
    """
    No model: imports are read by `ledger().imports`.
    """

    # Each migration of a ledger is a transaction of its own.
    atomic = False
    dependencies: ClassVar[list[tuple[str, str]]] = [("lastro", "0010_betting")]
    operations: ClassVar = [BringLedgersUp(to="0011_imports")]
