"""An application's old table on each store: users with a balance column, in the ledger's own database."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

from lastro import Ledger, OldColumn
from tests.support.stores import MARIADB, SQLITE, connected, store_of, transaction

# Names that only quoting lets stand: a blank, quotes of both kinds, upper case, what a driver takes for a parameter.
TABLE, ID, BALANCE = 'Old "Users" `1` %(x)s', "User Id", "Balance :now"


class OldTable:
    """The table, created anew; `column` declares it. Types and names can be others."""

    def __init__(
        self,
        ledger: Ledger,
        url: str,
        *,
        columns: str | None = None,
        id_column: str | tuple[str, ...] = ID,
        balance: str = BALANCE,
        **declared: Any,
    ) -> None:
        self.url, self.store = url, store_of(url)
        schema = None if self.store == SQLITE else ledger._operations.ledger
        ids = (id_column,) if isinstance(id_column, str) else id_column
        account = "customer:" + ":".join(f"{{{one}}}" for one in ids if one != declared.get("currency_column"))
        if "currency_column" not in declared:
            declared.setdefault("currency", "BRL")
        declared = {"name": "users", "account": account, **declared}
        self.column = OldColumn(table=TABLE, id=id_column, balance=balance, schema=schema, **declared)
        self.name = ".".join(self.quoted(part) for part in (schema, TABLE) if part)
        self.id, self.balance = self.quoted(ids[0]), self.quoted(balance)
        self.run(f"CREATE TABLE {self.name} ({columns or f'{self.id} bigint PRIMARY KEY, {self.balance} bigint'})")

    def quoted(self, name: str) -> str:
        """An identifier as this store quotes it."""
        quote = "`" if self.store == MARIADB else '"'
        return f"{quote}{name.replace(quote, quote * 2)}{quote}"

    @contextmanager
    def connection(self) -> Iterator[Any]:
        """A connection of the application's."""
        with closing(connected(self.url)) as connection:
            yield connection

    def run(self, statement: str, connection: Any = None) -> list[Any]:
        """Run a statement in a transaction of its own, or in that of *connection*; return what it finds."""
        if connection is None:
            with self.connection() as own, transaction(own):
                return self.run(statement, own)
        cursor = connection.cursor()
        cursor.execute(statement.encode() if self.store not in (MARIADB, SQLITE) else statement)
        return list(cursor.fetchall()) if cursor.description else []

    def add(self, balances: dict[Any, Any]) -> None:
        """Insert rows: id → balance, as SQL writes both."""
        values = ", ".join(f"({key}, {value})" for key, value in balances.items())
        self.run(f"INSERT INTO {self.name} VALUES {values}")

    def change(self, key: Any, by: int, connection: Any = None) -> None:
        """Write the column as the old code does."""
        self.run(f"UPDATE {self.name} SET {self.balance} = {self.balance} + {by} WHERE {self.id} = {key}", connection)

    def set(self, key: Any, value: Any) -> None:
        """Set the column to something."""
        self.run(f"UPDATE {self.name} SET {self.balance} = {value} WHERE {self.id} = {key}")

    def balances(self) -> dict[Any, Any]:
        """What the column says."""
        return dict(self.run(f"SELECT {self.id}, {self.balance} FROM {self.name}"))


def said(ledger: Ledger, currency: str = "BRL") -> dict[int, int]:
    """What the ledger says of the customers, by number."""
    accounts = ledger.accounts(prefix="customer:", limit=1_000)
    return {
        int(account.name.removeprefix("customer:")): ledger.balance(account.name, currency).posted
        for account in accounts
        if account.currency == currency
    }


def shadowing(ledger: Ledger, table: OldTable) -> None:
    """Bring an adoption into its shadow phase."""
    ledger.adopting.import_rows(table.column)
    ledger.adopting.shadow(table.column.name)


def cut(ledger: Ledger, table: OldTable) -> None:
    """Bring an adoption over."""
    shadowing(ledger, table)
    ledger.adopting.compare(table.column.name)
    ledger.adopting.cut_over(table.column.name)
