"""
The outbox of an awaiting ledger: one line a method.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

from lastro.ledger.operations import Operations
from lastro.ledger.outbox_operations import OutboxAsks, refuse_without_outbox
from lastro.ledger.running_async import AsyncHeldEngine, AsyncRuns
from lastro.model.outbox import (
    EventSetAside,
    OrderedBy,
    OutboxEvent,
    OutboxNote,
    OutboxStanding,
    WaitingEvent,
    emission,
)
from lastro.plans.relaying import Batch, Claimed, Done, Recorded, RelayTerms, TargetState

EVENTS_SHOWN = 100


class AsyncHeldOutbox(AsyncRuns):
    """
    Events to publish, inside one transaction: `ledger.within(connection).outbox`.
    """

    def __init__(self, engine: AsyncHeldEngine, operations: Operations) -> None:
        super().__init__(engine, operations)
        self._asks = OutboxAsks(operations)

    async def emit(self, events: Sequence[Mapping[str, Any] | OutboxEvent]) -> None:
        """
        Put up to 10,000 events into the outbox, in their order: mappings of event_id, topic, ordering_key, payload.

        They are published once the transaction is committed. `event_id` (1 … 500 characters) is what receivers know a
        second delivery by, and doesn't begin with `transfer:` or `bet:`; an event that waits already under that id, or was
        set aside, isn't put there twice. Events with the same `ordering_key` are published in the order of writing. All of
        them are written, or none. Locks nothing that another event waits for. Raises EventConflict where other content
        waits under an id, InvalidInput.
        """
        return await self._run(self._asks.emit(events))

    async def standing(self) -> OutboxStanding:
        """Return how much waits, how old the oldest of it is, what failed, and how the targets do. Locks nothing."""
        return await self._run(self._asks.standing())

    async def waiting(self, *, after: int | None = None, limit: int = EVENTS_SHOWN) -> list[WaitingEvent]:
        """Return up to `limit` (1 … 1,000) events that wait, the oldest first: those behind the id `after`."""
        return await self._run(self._asks.waiting(after=after, limit=limit))

    async def set_aside(self, *, after: int | None = None, limit: int = EVENTS_SHOWN) -> list[EventSetAside]:
        """Return up to `limit` (1 … 1,000) events that were set aside, the oldest first: those behind the id `after`."""
        return await self._run(self._asks.set_aside(after=after, limit=limit))

    async def notes(self, *, limit: int = EVENTS_SHOWN) -> list[OutboxNote]:
        """Return up to `limit` (1 … 1,000) notes of what was done about events and targets, the newest first."""
        return await self._run(self._asks.notes(limit=limit))

    async def retry(self, event_id: str, *, reason: str, actor: str) -> None:
        """
        Have an event published that was set aside, or that waits for its next attempt. What is behind it follows.

        Who did it and why stays on record. Locks the row of the event's lane. Raises UnknownEvent.
        """
        return await self._run(self._asks.retry(event_id, reason=reason, actor=actor))

    async def skip(self, event_id: str, *, reason: str, actor: str) -> None:
        """
        Take an event out of the outbox for good, unpublished; what is behind it goes on.

        The event, who did it and why stay on record. One that is on its way just now may have been received already.
        Locks the row of the event's lane. Raises UnknownEvent.
        """
        return await self._run(self._asks.skip(event_id, reason=reason, actor=actor))

    async def enable(self, target: str, *, reason: str, actor: str) -> None:
        """Switch a target on again that was switched off after its failures. Raises InvalidInput for an unknown one."""
        return await self._run(self._asks.enable(target, reason=reason, actor=actor))


class AsyncOutbox(AsyncHeldOutbox):
    """
    The outbox on connections of the ledger's own, with what relays are made of: each call is one transaction.
    """

    async def target_state(self, target: str) -> TargetState:
        """Return whether a target may be tried now."""
        return await self._run(self._asks.target_state(target))

    async def age_ms(self) -> int:
        """Return the age of the oldest event in milliseconds, 0 where none waits: all of `standing` that is cheap."""
        return await self._run(self._asks.age_ms())

    async def claim(self, holder: str, terms: RelayTerms) -> Claimed | None:
        """Claim a lane with something to publish for `terms.lease_ms`; None where there is none that nobody holds."""
        return await self._run(self._asks.claim(holder, terms))

    async def take(self, claimed: Claimed, terms: RelayTerms) -> Batch | None:
        """Return the lane's next batch and hold the lane for another lease; None where it was lost."""
        return await self._run(self._asks.take(claimed, terms))

    async def record(
        self, claimed: Claimed, batch: Batch, done: Done, target: str, terms: RelayTerms
    ) -> Recorded | None:
        """Record what became of a batch, all or nothing; None, and nothing recorded, where the lane was lost."""
        return await self._run(self._asks.record(claimed, batch, done, target, terms))

    async def give_back(self, claimed: Claimed) -> None:
        """Let another relay have the lane."""
        return await self._run(self._asks.give_back(claimed))


class AsyncEmits(AsyncRuns):
    """
    Postings that are published.
    """

    def emitting(self, topic: str, *, ordered_by: OrderedBy = "debit") -> Self:
        """
        Return this ledger again, such that each transfer it makes also becomes an event under `topic`.

        The event is written in the transfer's own transaction; a replayed posting writes none. Its id is
        `transfer:<key>`. `ordered_by`: events of one "debit" account, one "credit" account, one "cause" or one "key" are
        published in their order. Covers `post`, `post_many`, `credit`, `debit`, `reverse` and captures of holds; `points`
        refuses. It shares this ledger's connections: close one of them. PostgreSQL only.
        """
        refuse_without_outbox(self._engine.dialect)
        return type(self)(self._engine, self._operations, emission(topic, ordered_by))
