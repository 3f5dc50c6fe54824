"""
The batcher for asyncio: tasks queue their transfers and wait, one task posts all that wait in one commit.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Mapping, Sequence
from contextvars import Context
from datetime import datetime
from types import TracebackType
from typing import Any, NamedTuple, Protocol

from lastro.batching.outcomes import Outcome, settle, unknown
from lastro.batching.terms import batch_terms, closed
from lastro.errors import Refusal
from lastro.model.limits import BATCHER_WAITING_MAX
from lastro.model.transfer import Intent, Posted, intent
from lastro.telemetry import measure


class PostsManyAsync(Protocol):
    """What a batcher needs of a ledger."""

    async def post_many(
        self, transfers: Sequence[Mapping[str, Any] | Intent], *, partial: bool
    ) -> list[Posted | Refusal]:
        """Post many transfers in one transaction and return one outcome each."""
        ...


class _Call(NamedTuple):
    """
    One caller that waits: what it wants, and the future that it waits for.
    """

    wanted: Intent
    answer: asyncio.Future[Posted]


class AsyncBatcher:
    """
    Posts for many tasks of one loop on one connection. Made by `ledger.batching()`; a context manager, or close() it.

    A post that finds nothing under way goes out at once. What comes while a batch is under way makes the next one,
    and after a batch of several the next waits up to `max_wait_ms` for as many again: their callers are on their way.
    Each caller hears its own outcome. A fault (a lost connection, a lock not granted in time) strikes the whole batch;
    a refusal, or a row that the database won't take, its own transfer only.
    """

    def __init__(
        self,
        ledger: PostsManyAsync,
        *,
        max_wait_ms: int = 2,
        max_batch: int = 1_000,
        waiting_max: int = BATCHER_WAITING_MAX,
    ) -> None:
        self._ledger = ledger
        self._terms = batch_terms(max_wait_ms=max_wait_ms, max_batch=max_batch, waiting_max=waiting_max)
        self._closed = False
        self._loop: asyncio.AbstractEventLoop | None = None
        self._begin_anew()

    async def post(
        self,
        *,
        key: str,
        kind: str,
        debit: str,
        credit: str,
        amount: int,
        currency: str,
        cause: str | None = None,
        source: str | None = None,
        actor: str | None = None,
        occurred_at: datetime | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> Posted:
        """
        Post one transfer, once, in a commit that it shares; the arguments and the errors are those of `Ledger.post`.

        Returns when it is committed. Waits while `waiting_max` others wait. ServerUnavailable once the batcher is
        closed. A task that is cancelled while it waits may have posted or not: the same key finds out.
        """
        wanted = intent(
            key=key,
            kind=kind,
            debit=debit,
            credit=credit,
            amount=amount,
            currency=currency,
            cause=cause,
            source=source,
            actor=actor,
            occurred_at=occurred_at,
            metadata=metadata,
        )
        loop = asyncio.get_running_loop()
        full = len(self._waiting) >= self._terms.waiting_max
        if full or self._posting is None or self._closed or self._loop is not loop:
            await self._make_room(loop)
        answer: asyncio.Future[Posted] = loop.create_future()
        self._waiting.append(_Call(wanted, answer))
        if len(self._waiting) >= self._awaited:
            self._arrived.set()
        return await answer

    async def close(self) -> None:
        """
        Take no more posts, post what was taken, and return when each of its callers has its outcome. May be repeated.
        """
        self._closed = True
        self._arrived.set()
        self._room.set()
        if self._posting is not None and self._loop is asyncio.get_running_loop():
            # Whoever is cancelled while it waits here doesn't take the others' posts with it.
            await asyncio.shield(self._posting)

    def _begin_anew(self) -> None:
        self._waiting: deque[_Call] = deque()
        self._awaited = 1
        self._expected = 1
        self._arrived = asyncio.Event()
        self._room = asyncio.Event()
        self._posting: asyncio.Task[None] | None = None

    async def _make_room(self, loop: asyncio.AbstractEventLoop) -> None:
        """Wait until the queue takes another call, and see that somebody posts it."""
        if self._loop is not loop:
            # A loop that has ended (or a forked parent's) took its tasks with it.
            self._loop = loop
            self._begin_anew()
        while not self._closed and len(self._waiting) >= self._terms.waiting_max:
            self._room.clear()
            await self._room.wait()
        if self._closed:
            raise closed()
        if self._posting is None:
            # In a context of its own: it works for everybody, not for the caller that happened to start it.
            self._posting = loop.create_task(self._post_all(), name="lastro-batcher", context=Context())

    async def _post_all(self) -> None:
        """Post until nothing waits any more. The next call starts another task."""
        batch: list[_Call] = []
        try:
            while batch := await self._next_batch():
                outcomes = await self._outcomes(batch)
                for call, outcome in zip(batch, outcomes, strict=True):
                    _answer(call, outcome)
                measure("lastro_batch_transfers", len(batch))
        except BaseException as error:
            for call in (*batch, *self._waiting):
                _answer(call, unknown(error))
            self._waiting.clear()
            raise
        finally:
            self._posting = None
            self._room.set()

    async def _next_batch(self) -> list[_Call]:
        """Gather calls and take them; an empty batch ends the task."""
        waiting, terms = self._waiting, self._terms
        # Let those run who have just been answered, or who were made ready together with the first.
        await asyncio.sleep(0)
        if self._expected > 1 and len(waiting) < self._expected and not self._closed:
            await self._gather(self._expected)
        batch: list[_Call] = []
        while waiting and len(batch) < terms.max_batch:
            call = waiting.popleft()
            # A caller that was cancelled before its turn has posted nothing.
            if not call.answer.done():
                batch.append(call)
        self._expected = len(batch)
        self._room.set()
        return batch

    async def _gather(self, calls: int) -> None:
        self._awaited = calls
        self._arrived.clear()
        try:
            async with asyncio.timeout(self._terms.max_wait_s):
                await self._arrived.wait()
        except TimeoutError:
            pass  # fewer came back; those who did have waited long enough
        self._awaited = self._terms.waiting_max + 1

    async def _outcomes(self, batch: Sequence[_Call]) -> Sequence[Outcome]:
        settling = settle([call.wanted for call in batch])
        try:
            wanted = next(settling)
            while True:
                try:
                    outcomes = await self._ledger.post_many(wanted, partial=True)
                except Exception as error:  # noqa: BLE001 - the settling says whose it is
                    wanted = settling.throw(error)
                else:
                    wanted = settling.send(outcomes)
        except StopIteration as settled:
            heard: list[Outcome] = settled.value
            return heard

    async def __aenter__(self) -> AsyncBatcher:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.close()


def _answer(call: _Call, outcome: Outcome) -> None:
    if call.answer.done():
        return
    if isinstance(outcome, BaseException):
        call.answer.set_exception(outcome)
    else:
        call.answer.set_result(outcome)
