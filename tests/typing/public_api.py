"""How the public API is typed, for mypy: what users write is accepted, and what can't be right is refused."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from typing import assert_type

import psycopg

import lastro
from lastro.testing import Clock, assert_balanced, temporary_ledger


def posting(ledger: lastro.Ledger) -> None:
    """Posting gives a Posted, whose transfer is typed throughout."""
    posted = ledger.post(key="k", kind="sale", debit="world", credit="platform", amount=5, currency="BRL")
    assert_type(posted, lastro.Posted)
    assert_type(posted.replayed, bool)
    assert_type(posted.transfer.recorded_at, datetime)
    assert_type(posted.transfer.debit_before, int | None)

    ledger.post("k", "sale", "world", "platform", 5, "BRL")  # type: ignore[call-arg]
    ledger.post(key="k", kind="sale", debit="world", credit="platform", amount=5.0, currency="BRL")  # type: ignore[arg-type]
    ledger.post(key="k", kind="sale", debit="world", credit="platform", amount="5", currency="BRL")  # type: ignore[arg-type]
    ledger.post(key="k", kind="sale", debit="world", credit="platform", amount=5)  # type: ignore[call-arg]


def batches(ledger: lastro.Ledger) -> None:
    """Only with `partial` can an outcome be a refusal."""
    transfers = [{"key": "k", "kind": "sale", "debit": "world", "credit": "platform", "amount": 5, "currency": "BRL"}]
    assert_type(ledger.post_many(transfers), list[lastro.Posted])
    assert_type(ledger.post_many(transfers, partial=False), list[lastro.Posted])
    assert_type(ledger.post_many(transfers, partial=True), list[lastro.Posted | lastro.Refusal])
    with ledger.batching(max_wait_ms=2) as batcher:
        posted = batcher.post(key="k", kind="sale", debit="world", credit="platform", amount=5, currency="BRL")
        assert_type(posted, lastro.Posted)


def accounts(ledger: lastro.Ledger) -> None:
    """A keeping is one of three words; a floor is an amount or none."""
    assert_type(ledger.open_account("platform", "BRL", keeping="hot", floor=None), lastro.Account)
    assert_type(ledger.keep("platform", "BRL", "direct"), lastro.Account)
    assert_type(ledger.accounts(after=("a", "BRL")), list[lastro.Account])
    ledger.open_account("platform", "BRL", keeping="cold")  # type: ignore[arg-type]
    ledger.open_account("platform", "BRL", floor=Decimal(0))  # type: ignore[arg-type]


def reading(ledger: lastro.Ledger) -> None:
    """Balances and amounts are ints, a transfer may not be there."""
    assert_type(ledger.balance("platform", "BRL", at=datetime.now(UTC)).available, int)
    assert_type(ledger.entries("platform", "BRL")[0].signed, int)
    assert_type(ledger.transfer("k"), lastro.Transfer | None)
    assert_type(ledger.count("orders"), int)
    assert_type(lastro.Money.parse("5.90", "BRL"), int)
    assert_type(lastro.allocate(1000, [1, 1, 1]), list[int])
    lastro.Money.parse(5.9, "BRL")  # type: ignore[arg-type]


def within(ledger: lastro.Ledger, connection: psycopg.Connection[tuple[object, ...]]) -> None:
    """Inside a transaction there is what fits in one, and nothing else."""
    held = ledger.within(connection)
    assert_type(held.reverse("k", "undone", amount=2), lastro.Posted)
    held.bump("orders")
    held.migrate()  # type: ignore[attr-defined]
    held.keep("platform", "BRL", "direct")  # type: ignore[attr-defined]


async def awaiting() -> None:
    """The asyncio twin returns the same types, awaited."""
    async with await lastro.connect_async("postgresql://localhost/books") as ledger:
        assert_type(ledger, lastro.AsyncLedger)
        posted = await ledger.post(key="k", kind="sale", debit="world", credit="platform", amount=5, currency="BRL")
        assert_type(posted, lastro.Posted)
        async with ledger.batching() as batcher:
            again = await batcher.post(key="k", kind="sale", debit="world", credit="a", amount=5, currency="BRL")
            assert_type(again, lastro.Posted)


def errors(error: lastro.LastroError) -> str:
    """A refusal and a fault are told apart by class; only a fault knows what was committed."""
    if isinstance(error, lastro.Fault):
        return error.committed
    assert_type(error.code, str)
    return error.code


def testing() -> None:
    """What tests use is typed too."""
    with temporary_ledger(clock=Clock()) as ledger:
        assert_type(ledger, lastro.Ledger)
        assert_balanced(ledger)
