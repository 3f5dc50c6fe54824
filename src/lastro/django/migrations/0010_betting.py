"""
The tables of the sportsbook, in each ledger.
"""

from typing import ClassVar

from django.db import migrations

from lastro.django.migrating import BringLedgersUp


class Migration(migrations.Migration):
    """
    No model: bets are read by `ledger().betting`.
    """

    # Each migration of a ledger is a transaction of its own.
    atomic = False
    dependencies: ClassVar[list[tuple[str, str]]] = [("lastro", "0009_outbox")]
    operations: ClassVar = [BringLedgersUp(to="0010_betting")]
