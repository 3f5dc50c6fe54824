"""A checkout with psycopg: the order and its money in one transaction, tried twice under the same keys."""

from __future__ import annotations

import tempfile
from typing import Any

import psycopg

import lastro
from lastro.embedded import EmbeddedServer


def check_out(ledger: lastro.Ledger, connection: psycopg.Connection[Any], order_id: int, price: int) -> int:
    """Store the order, then post: the seller's row stays locked until the commit, so it comes last."""
    cause = f"order:{order_id}"
    fee = lastro.proportion(price, numerator=10, denominator=100)
    transfers = [
        {"key": f"{cause}:commission", "kind": "commission", "credit": "platform", "amount": fee},
        {"key": f"{cause}:sale", "kind": "sale", "credit": "seller:42", "amount": price - fee},
    ]
    with connection.transaction():
        connection.execute("INSERT INTO orders VALUES (%s, %s) ON CONFLICT DO NOTHING", (order_id, price))
        shared = {"debit": "world", "currency": "BRL", "cause": cause, "actor": "checkout"}
        outcomes = ledger.within(connection).post_many([shared | transfer for transfer in transfers])
    return sum(outcome.replayed for outcome in outcomes)


def main() -> None:
    """Check one order out twice, and pay the seller out."""
    with (
        tempfile.TemporaryDirectory() as folder,
        EmbeddedServer(f"{folder}/server") as server,
        lastro.connect(server.url) as ledger,
        psycopg.connect(server.url, autocommit=True) as connection,
    ):
        ledger.migrate()
        ledger.open_account("platform", "BRL", keeping="hot")
        ledger.open_account("seller:42", "BRL")
        connection.execute("CREATE TABLE orders (id bigint PRIMARY KEY, price bigint NOT NULL)")

        print("first attempt: replayed", check_out(ledger, connection, 8812, 5_990))
        print("second attempt: replayed", check_out(ledger, connection, 8812, 5_990))
        for account in ("platform", "seller:42"):
            print(account, lastro.Money.format(ledger.balance(account, "BRL").available, "BRL"))

        payout: dict[str, Any] = {"kind": "payout", "debit": "seller:42", "credit": "world", "currency": "BRL"}
        try:
            ledger.post(key="payout:1", amount=10_000, **payout)
        except lastro.InsufficientFunds as refused:
            print("payout refused:", refused.needed, "needed,", refused.available, "available")
            print("payout:", ledger.post(key="payout:1", amount=refused.available, **payout).transfer.amount)


if __name__ == "__main__":
    main()
