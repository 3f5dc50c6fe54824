"""Ledgers that a test opens and shuts: a batch stays under way until the test lets it go on."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from lastro import Posted, Refusal, Transfer
from lastro.model.transfer import Intent

WAIT_S = 30.0
Wanted = Sequence[Mapping[str, Any] | Intent]
Answer = Callable[[list[Intent]], list[Posted | Refusal]]
MOMENT = datetime(2026, 1, 1, tzinfo=UTC)


def order(key: str, **changed: Any) -> dict[str, Any]:
    """The arguments of a commission's post."""
    terms = {"key": key, "kind": "commission", "debit": "world", "credit": "platform", "amount": 5, "currency": "BRL"}
    return terms | changed


def posted(wanted: Intent) -> Posted:
    """What a ledger answers that posted it."""
    return Posted(
        Transfer(
            id=1, key=wanted.key, kind=wanted.kind, debit=wanted.debit, credit=wanted.credit, amount=wanted.amount,
            currency=wanted.currency, occurred_at=MOMENT, recorded_at=MOMENT, cause=None, reverses=None, source=None,
            actor=None, metadata=None, debit_before=None, debit_after=None, credit_before=None, credit_after=None,
        ),
        replayed=False,
    )  # fmt: skip


def all_posted(wanted: list[Intent]) -> list[Posted | Refusal]:
    """Answer that everything was posted."""
    return [posted(one) for one in wanted]


class GatedLedger:
    """A ledger without a database: it notes each batch, waits at the gate, and answers as it is told."""

    def __init__(self, answer: Answer = all_posted) -> None:
        self.batches: list[list[str]] = []
        self.entered = threading.Semaphore(0)
        self.gate = threading.Event()
        self._answer = answer

    def post_many(self, transfers: Wanted, *, partial: bool) -> list[Posted | Refusal]:
        """Note the batch's keys, and answer once the gate is open."""
        assert partial, "a batcher lets single transfers be refused"
        wanted = [one for one in transfers if isinstance(one, Intent)]
        self.batches.append([one.key for one in wanted])
        self.entered.release()
        assert self.gate.wait(WAIT_S), "the test never opened the gate"
        return self._answer(wanted)


class AsyncGatedLedger:
    """The same, awaited."""

    def __init__(self, answer: Answer = all_posted) -> None:
        self.batches: list[list[str]] = []
        self.entered = asyncio.Semaphore(0)
        self.gate = asyncio.Event()
        self._answer = answer

    async def post_many(self, transfers: Wanted, *, partial: bool) -> list[Posted | Refusal]:
        """Note the batch's keys, and answer once the gate is open."""
        assert partial, "a batcher lets single transfers be refused"
        wanted = [one for one in transfers if isinstance(one, Intent)]
        self.batches.append([one.key for one in wanted])
        self.entered.release()
        async with asyncio.timeout(WAIT_S):
            await self.gate.wait()
        return self._answer(wanted)
