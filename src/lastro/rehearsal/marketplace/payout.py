"""
The payout: money leaves a seller's or the platform's account, never more than is there.
"""

from __future__ import annotations

from typing import Any

import psycopg

from lastro.rehearsal.marketplace.order import CURRENCY, WORLD
from lastro.rehearsal.marketplace.retrying import until_through
from lastro.rehearsal.marketplace.shop import Shop


def pay_out(
    connection: psycopg.Connection[Any],
    shop: Shop,
    *,
    payout_id: str,
    account: str,
    amount: int | None = None,
) -> int:
    """
    Pay `amount` cents out of an account, or all that is available; return what was paid, 0 where nothing is there.

    Once a `payout_id`: the second call pays nothing and returns what the first one paid. The floor is the ledger's to
    guard: lastro.InsufficientFunds leaves no payout behind. A try that a rival made fail is repeated as a whole.
    """
    paid, _ = until_through(
        lambda: _pay_out_once(connection, shop, payout_id=payout_id, account=account, amount=amount)
    )
    return paid


def _pay_out_once(
    connection: psycopg.Connection[Any], shop: Shop, *, payout_id: str, account: str, amount: int | None
) -> int:
    tables = shop.tables
    with connection.transaction():
        held = shop.books.within(connection)
        # Checkouts may credit the account meanwhile, and a rival may debit it: the posting below is what decides.
        wanted = held.balance(account, CURRENCY).available if amount is None else amount
        if wanted > 0:
            connection.execute(tables.add_payout, {"payout_id": payout_id, "account": account, "amount": wanted})
        stored = connection.execute(tables.find_payout, {"payout_id": payout_id}).fetchone()
        if stored is None:
            return 0
        paid: int = stored[0]
        held.post(
            key=f"payout:{payout_id}",
            kind="payout",
            debit=account,
            credit=WORLD,
            amount=paid,
            currency=CURRENCY,
            cause=f"payout:{payout_id}",
            actor="paymaster",
        )
    return paid
