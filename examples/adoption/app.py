"""The application: payments between users whose balances stand in a column, and the few lines that an adoption adds."""

from __future__ import annotations

import psycopg

import lastro

TABLE = """
CREATE TABLE users (id bigint PRIMARY KEY, balance bigint NOT NULL);
INSERT INTO users VALUES (1, 10000), (2, 10000), (3, 10000), (4, 10000);
"""
ADOPTION = lastro.OldColumn(
    name="users", table="users", id="id", balance="balance", account="user:{id}", currency="EUR"
)


class App:
    """One user of the database: it pays as the phase of the adoption wants it."""

    def __init__(self, url: str, ledger: lastro.Ledger) -> None:
        self._connection = psycopg.connect(url)
        self._ledger = ledger

    def pay(self, key: str, giver: int, taker: int, cents: int) -> str:
        """Move cents from one user to another; return which side was the truth."""
        with self._connection.transaction():
            held = self._ledger.within(self._connection)
            # Holds the phase until the commit: whoever changes it waits for us, so both sides never part.
            phase = held.adopting.phase("users")
            replayed = False
            if phase != "importing":
                debit, credit = f"user:{giver}", f"user:{taker}"
                replayed = held.post(
                    key=key, kind="payment", debit=debit, credit=credit, amount=cents, currency="EUR"
                ).replayed
            # A retry of what was posted has written the column before.
            if phase != "ledger" and not replayed:
                self._write(giver, taker, cents)
        return phase

    def old_code(self, user: int, cents: int) -> None:
        """Some corner of the application that nobody remembered: it writes the column and doesn't post."""
        with self._connection.transaction():
            self._connection.execute("UPDATE users SET balance = balance + %s WHERE id = %s", (cents, user))

    def balances(self) -> list[int]:
        """What the column says."""
        return [balance for (balance,) in self._connection.execute("SELECT balance FROM users ORDER BY id")]

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def _write(self, giver: int, taker: int, cents: int) -> None:
        for user in sorted((giver, taker)):
            change = cents if user == taker else -cents
            self._connection.execute("UPDATE users SET balance = balance + %s WHERE id = %s", (change, user))
