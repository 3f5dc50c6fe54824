"""
The tables of points, in each ledger.
"""

from typing import ClassVar

from django.db import migrations

from lastro.django.migrating import BringLedgersUp


class Migration(migrations.Migration):
    """
    No model: points are read by `ledger().points`.
    """

    # Each migration of a ledger is a transaction of its own.
    atomic = False
    dependencies: ClassVar[list[tuple[str, str]]] = [("lastro", "0001_core")]
    operations: ClassVar = [BringLedgersUp(to="0002_points")]
