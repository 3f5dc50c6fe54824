"""
What can be asked of a ledger's outbox, checked: events to publish, what waits, and what a relay does. For both twins.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from lastro.errors import InvalidInput
from lastro.ledger.asking import Ask, Asks, limit_within, whole_number
from lastro.model.limits import (
    ACTOR_CHARACTERS_MAX,
    EVENTS_LISTED_MAX,
    OUTBOX_REASON_CHARACTERS_MAX,
    TOPIC_CHARACTERS_MAX,
)
from lastro.model.outbox import (
    EventSetAside,
    OutboxEvent,
    OutboxNote,
    OutboxStanding,
    WaitingEvent,
    checked_event_id,
    outbox_event,
)
from lastro.model.text import json_value, text
from lastro.plans import outbox, relaying
from lastro.plans.plan import Effect
from lastro.plans.relaying import Batch, Claimed, Done, Recorded, RelayTerms, TargetState
from lastro.sql.catalogue import catalogue


class OutboxAsks:
    """
    The requests about events, under the terms of one ledger.
    """

    def __init__(self, asks: Asks) -> None:
        self._asks = asks

    def emit(self, events: Sequence[Mapping[str, Any] | OutboxEvent]) -> Ask[None]:
        """Ask to put events into the outbox."""
        checked, now = [_event(event) for event in events], self._asks.now()
        return Ask(lambda: outbox.emit_own(checked, now=now), Effect.KEYED)

    def standing(self) -> Ask[OutboxStanding]:
        """Ask how the outbox stands."""
        now = self._asks.now()
        return Ask(lambda: outbox.standing(now=now), Effect.READ)

    def waiting(self, *, after: object, limit: object) -> Ask[list[WaitingEvent]]:
        """Ask for a page of what waits."""
        after_id, checked_limit = _after(after), limit_within(limit, EVENTS_LISTED_MAX)
        return Ask(lambda: outbox.waiting(after_id=after_id, limit=checked_limit), Effect.READ)

    def set_aside(self, *, after: object, limit: object) -> Ask[list[EventSetAside]]:
        """Ask for a page of what was set aside."""
        after_id, checked_limit = _after(after), limit_within(limit, EVENTS_LISTED_MAX)
        return Ask(lambda: outbox.set_aside(after_id=after_id, limit=checked_limit), Effect.READ)

    def notes(self, *, limit: object) -> Ask[list[OutboxNote]]:
        """Ask for what was done."""
        checked_limit = limit_within(limit, EVENTS_LISTED_MAX)
        return Ask(lambda: outbox.notes(limit=checked_limit), Effect.READ)

    def retry(self, event_id: object, *, reason: object, actor: object) -> Ask[None]:
        """Ask to try an event again."""
        checked, why, who, now = checked_event_id(event_id), _reason(reason), _actor(actor), self._asks.now()
        return Ask(
            lambda: outbox.retry(checked, reason=why, actor=who, now=now, lock_timeout_ms=self._asks.lock_timeout_ms),
            Effect.KEYED,
        )

    def skip(self, event_id: object, *, reason: object, actor: object) -> Ask[None]:
        """Ask to leave an event unpublished."""
        checked, why, who, now = checked_event_id(event_id), _reason(reason), _actor(actor), self._asks.now()
        return Ask(
            lambda: outbox.skip(checked, reason=why, actor=who, now=now, lock_timeout_ms=self._asks.lock_timeout_ms),
            Effect.ONCE,
        )

    def enable(self, target: object, *, reason: object, actor: object) -> Ask[None]:
        """Ask to switch a target on again."""
        checked = text(target, argument="target", characters_max=TOPIC_CHARACTERS_MAX)
        why, who, now = _reason(reason), _actor(actor), self._asks.now()
        return Ask(
            lambda: outbox.enable(checked, reason=why, actor=who, now=now, lock_timeout_ms=self._asks.lock_timeout_ms),
            Effect.KEYED,
        )

    def target_state(self, target: str) -> Ask[TargetState]:
        """Ask whether a target may be tried."""
        return Ask(lambda: relaying.target_state(target), Effect.READ)

    def age_ms(self) -> Ask[int]:
        """Ask how old the oldest event is."""
        return Ask(relaying.age_ms, Effect.READ)

    def claim(self, holder: str, terms: RelayTerms) -> Ask[Claimed | None]:
        """Ask for a lane."""
        # Asked twice it may hold two lanes, one of them for a lease and for nothing.
        return Ask(lambda: relaying.claim(holder, terms), Effect.KEYED)

    def take(self, claimed: Claimed, terms: RelayTerms) -> Ask[Batch | None]:
        """Ask for a lane's next batch."""
        return Ask(lambda: relaying.take(claimed, terms, lock_timeout_ms=self._asks.lock_timeout_ms), Effect.KEYED)

    def record(
        self, claimed: Claimed, batch: Batch, done: Done, target: str, terms: RelayTerms
    ) -> Ask[Recorded | None]:
        """Ask to record what became of a batch."""
        return Ask(
            lambda: relaying.record(claimed, batch, done, target, terms, lock_timeout_ms=self._asks.lock_timeout_ms),
            Effect.ONCE,
        )

    def give_back(self, claimed: Claimed) -> Ask[None]:
        """Ask to let go of a lane."""
        return Ask(lambda: relaying.give_back(claimed), Effect.KEYED)


def refuse_without_outbox(dialect: str) -> None:
    """
    Raise on a store without an outbox, before a transfer is made whose event could not be written.
    """
    why = catalogue(dialect)["outbox.emit"].refused
    if why is not None:
        raise InvalidInput(why, argument="topic")


def _event(event: Mapping[str, Any] | OutboxEvent) -> OutboxEvent:
    if isinstance(event, OutboxEvent):
        event = event._asdict() | {"payload": json_value(event.payload, argument="payload")}
    expected = {"event_id", "topic", "ordering_key", "payload"}
    if not isinstance(event, Mapping) or set(event) != expected:
        raise InvalidInput(f"an event is a mapping with {', '.join(sorted(expected))}", argument="events")
    return outbox_event(**event)


def _after(after: object) -> int:
    return 0 if after is None else whole_number(after, "after")


def _reason(reason: object) -> str:
    return text(reason, argument="reason", characters_max=OUTBOX_REASON_CHARACTERS_MAX)


def _actor(actor: object) -> str:
    return text(actor, argument="actor", characters_max=ACTOR_CHARACTERS_MAX)
