"""
Events: what is written beside a transfer to be published, and how what waits to be published stands.
"""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any, Final, Literal, NamedTuple, TypeAlias, get_args

from lastro.errors import InvalidInput
from lastro.model.limits import (
    EVENT_BYTES_MAX,
    EVENT_ID_CHARACTERS_MAX,
    ORDERING_KEY_CHARACTERS_MAX,
    TOPIC_CHARACTERS_MAX,
)
from lastro.model.text import json_object, text
from lastro.model.transfer import Transfer

OrderedBy: TypeAlias = Literal["debit", "credit", "cause", "key"]
# Ids of the library's own events begin so: somebody else's under one of them would keep the library's from being told.
RESERVED_EVENT_IDS: Final = ("transfer:", "bet:")
ORDERED_BY: Final[tuple[OrderedBy, ...]] = get_args(OrderedBy)


class OutboxEvent(NamedTuple):
    """
    What is to be published, once it is committed. `payload` is a JSON object as text, its amounts strings.

    `event_id` is the same in every delivery: whoever receives an event knows by it what came before. Events with the same
    `ordering_key` are published in the order in which they were written.
    """

    event_id: str
    topic: str
    ordering_key: str
    payload: str


class Emission(NamedTuple):
    """
    Under which topic transfers become events, and what keeps them in order.
    """

    topic: str
    ordered_by: OrderedBy


class WaitingEvent(NamedTuple):
    """
    An event that nobody has acknowledged yet. Where its key waits: for which event, since how many attempts, why, and
    until when (None: until a person does something about the event that was set aside).
    """

    id: int
    event_id: str
    topic: str
    ordering_key: str
    payload: dict[str, Any]
    opened_at: datetime
    waits_for: str | None
    attempts: int
    due_at: datetime | None
    reason: str | None


class EventSetAside(NamedTuple):
    """
    An event that was given up on, and why. It is published when a person retries it, and never when one skips it.
    """

    id: int
    event_id: str
    topic: str
    ordering_key: str
    payload: dict[str, Any]
    opened_at: datetime
    attempts: int
    reason: str
    set_aside_at: datetime


class TargetStanding(NamedTuple):
    """
    How a target does: failures in a row and the last one's reason, when it is tried again, since when it is switched off.
    """

    name: str
    failures: int
    reason: str | None
    failed_at: datetime | None
    due_at: datetime | None
    disabled_at: datetime | None
    acknowledged_at: datetime | None


class OutboxStanding(NamedTuple):
    """
    How the outbox stands. `age_ms` is the age of the oldest event, the lag; None where nothing waits.

    `waiting`, `keys_waiting` and `set_aside` are counted up to 100,000. `published` counts all that ever was.
    """

    waiting: int
    oldest_opened_at: datetime | None
    age_ms: int | None
    keys_waiting: int
    set_aside: int
    published: int
    targets: tuple[TargetStanding, ...]


class OutboxNote(NamedTuple):
    """
    What was done: set aside, retried or skipped (`about` an event's id), disabled or enabled (a target's name); by whom
    and why.
    """

    action: str
    about: str
    reason: str
    actor: str
    recorded_at: datetime


def outbox_event(*, event_id: object, topic: object, ordering_key: object, payload: object) -> OutboxEvent:
    """
    Return an event from what a caller hands in; `payload` is a mapping of plain JSON, at most 64 KiB.

    Ids that begin with `transfer:` or `bet:` are the library's.
    """
    checked = checked_event_id(event_id)
    if checked.startswith(RESERVED_EVENT_IDS):
        raise InvalidInput(
            f"ids of events that begin with {' or '.join(map(repr, RESERVED_EVENT_IDS))} are the ledger's own; got "
            f"{checked!r}: begin it with a word of yours",
            argument="event_id",
        )
    return OutboxEvent(
        checked,
        topic_name(topic),
        text(ordering_key, argument="ordering_key", characters_max=ORDERING_KEY_CHARACTERS_MAX),
        json_object(payload, argument="payload", bytes_max=EVENT_BYTES_MAX),
    )


def checked_event_id(event_id: object) -> str:
    """
    Return an event's id if it may be one.
    """
    return text(event_id, argument="event_id", characters_max=EVENT_ID_CHARACTERS_MAX)


def topic_name(topic: object) -> str:
    """
    Return a topic if events may be published under it: no blanks, no wildcards of any broker.
    """
    checked = text(topic, argument="topic", characters_max=TOPIC_CHARACTERS_MAX)
    if not all(character.isascii() and (character.isalnum() or character in "._-") for character in checked):
        raise InvalidInput(
            f"a topic has letters, digits, '.', '_' and '-', which every broker takes; got {checked!r}",
            argument="topic",
        )
    if checked.startswith(".") or checked.endswith(".") or ".." in checked:
        raise InvalidInput(f"a topic's parts between its dots must not be empty; got {checked!r}", argument="topic")
    return checked


def emission(topic: object, ordered_by: object) -> Emission:
    """
    Return how transfers become events.
    """
    for known in ORDERED_BY:
        if ordered_by == known:
            return Emission(topic_name(topic), known)
    raise InvalidInput(f"ordered_by is one of {', '.join(ORDERED_BY)}; got {ordered_by!r}", argument="ordered_by")


def transfer_event(transfer: Transfer, wanted: Emission) -> OutboxEvent:
    """
    Return what is published of a transfer. The id is made of its key, never of its number.
    """
    keys: dict[OrderedBy, str | None] = {
        "debit": transfer.debit,
        "credit": transfer.credit,
        "cause": transfer.cause,
        "key": transfer.key,
    }
    return OutboxEvent(
        event_id=f"transfer:{transfer.key}",
        topic=wanted.topic,
        # What has no cause stands alone.
        ordering_key=keys[wanted.ordered_by] or transfer.key,
        payload=_json(transfer_payload(transfer)),
    )


def transfer_payload(transfer: Transfer) -> dict[str, Any]:
    """
    Return a transfer as receivers see it: amounts and ids as strings of digits, moments as ISO 8601 in UTC.
    """
    return {
        "transfer_id": str(transfer.id),
        "key": transfer.key,
        "kind": transfer.kind,
        "debit": transfer.debit,
        "credit": transfer.credit,
        "currency": transfer.currency,
        "amount": str(transfer.amount),
        "occurred_at": transfer.occurred_at.isoformat(),
        "recorded_at": transfer.recorded_at.isoformat(),
        "cause": transfer.cause,
        "reverses": transfer.reverses,
        "source": transfer.source,
        "actor": transfer.actor,
        "metadata": transfer.metadata,
    }


def _json(payload: dict[str, Any]) -> str:
    return json.dumps(payload, sort_keys=True, allow_nan=False, ensure_ascii=False, separators=(",", ":"))
