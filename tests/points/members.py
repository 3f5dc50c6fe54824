"""Members of a test: who earns lots of a wished size and expiry, spends them, and what is left of them by day."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from itertools import count
from typing import Any

import psycopg
import pymysql

from lastro import Ledger, Posted
from lastro.engine.sqlite_values import microseconds
from lastro.errors import UnknownRule
from lastro.testing import Clock
from tests.conformance.adapters import sqlite_path
from tests.conformance.eyes import Raw
from tests.support.mariadb import arguments_of

CURRENCY = "PTS"
REWARD = "reward:mug"
BATCH = 5_000
FILLED = "transfer.key LIKE 'filled:%'"


class Club:
    """A ledger's members. An activity of `units` earns as many points, in a lot of its own."""

    def __init__(self, ledger: Ledger, clock: Clock) -> None:
        self.ledger, self.points, self.clock = ledger, ledger.points, clock
        self._numbers = count()
        ledger.open_account(REWARD, CURRENCY, floor=None)

    def earn(self, member: str, amount: int, *, days: int | None = None, key: str | None = None) -> str:
        """Earn `amount` now, to expire at the end of the day so many days from now in UTC; return the activity's key."""
        name = "lasting" if days is None else f"lasting-{days}"
        try:
            self.points.rule(name)
        except UnknownRule:
            self.points.define_rule(name, activity=name, points=1, currency=CURRENCY, lot_days=days)
        key = key or f"activity:{next(self._numbers)}"
        self.points.earn(key, activity=name, member=member, units=amount)
        return key

    def spend(self, member: str, amount: int, *, key: str | None = None, **terms: Any) -> Posted:
        """Spend on the reward."""
        key = key or f"spend:{next(self._numbers)}"
        return self.points.spend(key=key, member=member, amount=amount, currency=CURRENCY, reward=REWARD, **terms)

    def give(self, giver: str, receiver: str, amount: int, *, key: str | None = None, **terms: Any) -> Posted:
        """Give to another member."""
        key = key or f"gift:{next(self._numbers)}"
        return self.points.give(key=key, giver=giver, receiver=receiver, amount=amount, currency=CURRENCY, **terms)

    def refund(self, spend: Posted, amount: int | None = None, *, key: str | None = None) -> Posted:
        """Put a spend back."""
        key = key or f"refund:{next(self._numbers)}"
        return self.points.refund(key=key, spend=spend.transfer.key, amount=amount)

    def lots(self, member: str) -> list[tuple[int, int | None]]:
        """What is left of each lot, and in how many days it expires (midnight after that many days); soonest first."""
        return [(lot.left_over, self._days(lot.expires_at)) for lot in self.points.lots(member, CURRENCY)]

    def posted(self, account: str) -> int:
        """What an account has."""
        return self.ledger.balance(account, CURRENCY).posted

    def pass_days(self, days: int) -> None:
        """Let so many days go by."""
        self.clock.advance(timedelta(days=days))

    def _days(self, expires_at: datetime | None) -> int | None:
        return None if expires_at is None else (expires_at - self.clock()).days


def fill_lots(club: Club, raw: Raw, members: Sequence[str], lots: int, *, expires_at: datetime | None = None) -> None:
    """
    Give each member so many lots of 1 point beside those it has, as that many earnings would have left them, quickly.
    """
    for member in members:
        club.earn(member, 1)
    wanted = [
        {"key": f"filled:{member}:{number}", "kind": "earn", "debit": "points:issued", "credit": member, "amount": 1}
        for member in members
        for number in range(lots)
    ]
    for start in range(0, len(wanted), BATCH):
        club.ledger.post_many([one | {"currency": CURRENCY} for one in wanted[start : start + BATCH]])
    raw(
        "INSERT INTO {s}.lot (transfer_id, part, account_id, amount, earned_at, expires_at)"
        f" SELECT id, 1, credit_id, 1, occurred_at, {_moment(expires_at, raw.store)} FROM {{s}}.transfer AS transfer"
        f" WHERE {FILLED}"
    )
    raw(
        "INSERT INTO {s}.open_lot (account_id, transfer_id, part, left_over, earned_at, expires_at)"
        " SELECT account_id, transfer_id, part, lot.amount, earned_at, expires_at FROM {s}.lot AS lot"
        f" INNER JOIN {{s}}.transfer AS transfer ON transfer.id = lot.transfer_id WHERE {FILLED}"
    )


def _moment(moment: datetime | None, store: str) -> str:
    if moment is None:
        return "NULL"
    return str(microseconds(moment)) if store == "sqlite" else f"TIMESTAMP '{moment:%Y-%m-%d %H:%M:%S}'"


@contextmanager
def caller_of(store: str, url: str) -> Iterator[Any]:
    """An application's own connection, with a transaction that is its own to end."""
    connection: Any
    match store:
        case "sqlite":
            connection = sqlite3.connect(sqlite_path(url))
        case "mariadb":
            connection = pymysql.connect(**arguments_of(url))
        case _:
            connection = psycopg.connect(url)
    try:
        yield connection
        connection.rollback()
    finally:
        connection.close()
