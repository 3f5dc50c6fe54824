"""
Accounts with money on them, and transfers written short.
"""

from __future__ import annotations

from typing import Any

from lastro import Ledger
from lastro.ledger import HeldLedger
from lastro.model.account import Keeping
from lastro.plans.consolidating import fold
from lastro.plans.plan import Effect

CURRENCY = "BRL"
KEEPINGS: tuple[Keeping, ...] = ("direct", "hot", "summed")


def fund(ledger: Ledger, name: str, amount: int, keeping: Keeping = "direct", *, floor: int | None = 0) -> None:
    """Open an account with so much on it; on a hot one a part is consolidated and a part is in the tail."""
    ledger.open_account(name, CURRENCY, keeping=keeping, floor=floor)
    first = amount * 2 // 5
    for part, share in enumerate((first, amount - first)):
        if share:
            ledger.post(**transfer(f"fund:{name}:{part}", "world", name, share))
        if keeping == "hot" and part == 0:
            ledger.consolidate()


def transfer(key: str, debit: str, credit: str, amount: int, **more: Any) -> dict[str, Any]:
    """Return the arguments of a posting."""
    return {
        "key": key,
        "kind": "test",
        "debit": debit,
        "credit": credit,
        "amount": amount,
        "currency": CURRENCY,
    } | more


def posted(ledger: HeldLedger, name: str) -> int:
    """Return what is posted on an account."""
    return ledger.balance(name, CURRENCY).posted


def fold_within(held: HeldLedger, account_id: int, *, rows_max: int = 5_000) -> int:
    """Fold one batch of the tail as the consolidator does, but in a transaction that the test holds open."""
    return held._engine.run(lambda: fold(account_id, rows_max=rows_max, now=None), Effect.KEYED)
