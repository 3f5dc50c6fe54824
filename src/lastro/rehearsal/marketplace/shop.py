"""
The marketplace as a whole: its tables, the ledger it posts to, and the accounts it opens there.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import psycopg

import lastro
from lastro.rehearsal.marketplace.order import CURRENCY, PLATFORM, seller_account
from lastro.rehearsal.marketplace.tables import Tables


@dataclass(frozen=True)
class Shop:
    """
    A marketplace on `tables`, whose money is in `ledger`. `ledger=None` is the same shop without a ledger, which only
    measurements want.
    """

    ledger: lastro.Ledger | None
    tables: Tables = field(default_factory=Tables)

    @property
    def books(self) -> lastro.Ledger:
        """The ledger, where there has to be one."""
        if self.ledger is None:
            raise lastro.InvalidInput("this shop was made without a ledger; money moves only in one that has it")
        return self.ledger

    def set_up(self, connection: psycopg.Connection[Any]) -> None:
        """Create the tables, the ledger's schema and the platform's account: hot, as every checkout credits it."""
        connection.execute(self.tables.create)
        connection.commit()
        if self.ledger is not None:
            self.ledger.migrate()
            self.ledger.open_account(PLATFORM, CURRENCY, keeping="hot", floor=0)

    def register(self, connection: psycopg.Connection[Any], sellers: Iterable[str]) -> None:
        """Open an account for each seller who has none, in one transaction."""
        with connection.transaction():
            held = self.books.within(connection)
            for seller in sorted(set(sellers)):
                held.open_account(seller_account(seller), CURRENCY)
