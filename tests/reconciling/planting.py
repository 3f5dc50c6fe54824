"""Planting drift of every kind, past the library, on any store."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from lastro import Ledger
from tests.conformance.eyes import MariadbRaw, PostgresRaw, Raw, SqliteRaw

DEADLINE = datetime(2100, 1, 1, tzinfo=UTC)
RAW: dict[str, type[Any]] = {"postgres": PostgresRaw, "mariadb": MariadbRaw, "sqlite": SqliteRaw}


class Hands:
    """
    A ledger and a connection that writes into its tables whatever it likes.
    """

    def __init__(self, ledger: Ledger, store: str, place: str) -> None:
        self.ledger, self.store, self.url = ledger, store, place
        self.raw: Raw = RAW[store](place, ledger._operations.ledger)
        self._keys = 0

    def close(self) -> None:
        """Let go of the connection."""
        self.raw.close()

    def id_of(self, account: str) -> int:
        """An account's id."""
        return int(self.raw.one("SELECT id FROM {s}.account WHERE name = %s", account))

    def open(self, account: str, keeping: str = "direct", *, entries: int = 3) -> None:
        """Open an account and credit it 100 a few times."""
        self.ledger.open_account(account, "BRL", keeping=keeping)  # type: ignore[arg-type]
        for _ in range(entries):
            self.credit(account, 100)

    def credit(self, account: str, amount: int) -> int:
        """Credit an account through the ledger; return the transfer's id."""
        self._keys += 1
        key = f"{account}:{self._keys}"
        posted = self.ledger.post(key=key, kind="fund", debit="world", credit=account, amount=amount, currency="BRL")
        return posted.transfer.id

    def hold(self, account: str, amount: int) -> None:
        """Hold money of an account."""
        self.ledger.place_hold(
            key=f"hold:{account}", account=account, currency="BRL", amount=amount, owner="o", expires_at=DEADLINE
        )

    def credit_by_hand(self, account: str, amount: int) -> int:
        """Write a transfer into the history and nothing else, as somebody would who thinks that this is all."""
        self._keys += 1
        key, debit_id, credit_id = f"by hand:{self._keys}", self.id_of("world"), self.id_of(account)
        if self.store == "sqlite":
            transfer_id = self.raw.one("SELECT max(id) + 1 FROM {s}.transfer")
        elif self.store == "mariadb":
            self.raw('INSERT INTO {s}.transfer_key ("key", debit_id) VALUES (%s, %s)', key, debit_id)
            transfer_id = self.raw.one('SELECT transfer_id FROM {s}.transfer_key WHERE "key" = %s', key)
        else:
            transfer_id = self.raw.one("SELECT nextval('{s}.transfer_id')")
            self.raw('INSERT INTO {s}.transfer_key ("key", transfer_id, debit_id) VALUES (%s, %s, %s)',
                     key, transfer_id, debit_id)  # fmt: skip
        self.raw(
            'INSERT INTO {s}.transfer (id, debit_id, credit_id, amount, occurred_at, recorded_at, "key", kind) '
            "SELECT %s, %s, %s, %s, max(recorded_at), max(recorded_at), %s, 'fund' FROM {s}.transfer",
            transfer_id, debit_id, credit_id, amount, key,
        )  # fmt: skip
        return int(transfer_id)

    def base(self, account: str, change: str) -> None:
        """Change an account's base row."""
        self.raw(f"UPDATE {{s}}.base SET {change} WHERE account_id = %s", self.id_of(account))

    def tail(self, account: str, transfer_id: int, amount: int) -> None:
        """Put a row into the tail."""
        self.raw(
            "INSERT INTO {s}.tail (account_id, transfer_id, amount) VALUES (%s, %s, %s)",
            self.id_of(account), transfer_id, amount,
        )  # fmt: skip

    def found(self, **options: Any) -> set[tuple[str | None, str, int, int]]:
        """Reconcile; return account, rule and numbers of each open incident."""
        self.ledger.reconcile(**options)
        return {(each.account, each.rule, each.expected, each.found) for each in self.ledger.incidents(limit=1_000)}
