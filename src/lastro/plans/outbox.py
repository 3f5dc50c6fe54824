"""
The outbox: events are written in the transaction of what they tell of; people look at what waits, retry it or skip it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

from lastro.errors import EventConflict, InvalidInput, SerializationLost, UnknownEvent
from lastro.model.hold import Captured
from lastro.model.limits import EMIT_TRIES_MAX, EVENT_BYTES_MAX, EVENTS_EMITTED_MAX, OUTBOX_COUNTED_MAX
from lastro.model.outbox import (
    Emission,
    EventSetAside,
    OutboxEvent,
    OutboxNote,
    OutboxStanding,
    TargetStanding,
    WaitingEvent,
    transfer_event,
)
from lastro.model.text import as_differences, json_object, read_metadata
from lastro.model.transfer import Posted, Transfer
from lastro.plans.plan import TOGETHER, MakePlan, Plan, Row, T, step
from lastro.plans.stored import whole
from lastro.plans.waiting import patiently, undone_when_refused


class Event(NamedTuple):
    """
    An event of the library's own: as OutboxEvent, with its payload as what it becomes JSON of.
    """

    event_id: str
    topic: str
    ordering_key: str
    payload: Mapping[str, Any]


def emit(events: Sequence[OutboxEvent | Event], *, now: datetime | None = None) -> Plan[None]:
    """
    Put *events* into the outbox, in their order, in the transaction under way; nothing where there are none. One that
    waits already, or was set aside, isn't doubled. Raises EventConflict where other content stands under its id.
    """
    if len(events) > EVENTS_EMITTED_MAX:
        raise InvalidInput(
            f"{EVENTS_EMITTED_MAX} events may be emitted at once; these are {len(events)}", argument="events"
        )
    left = list(events)
    for _ in range(EMIT_TRIES_MAX):
        if not left:
            return
        new = yield step(
            "outbox.emit",
            event_ids=[event.event_id for event in left],
            topics=[event.topic for event in left],
            ordering_keys=[event.ordering_key for event in left],
            payloads=[_json(event.payload) for event in left],
            now=now,
        )
        if len(new) == len(left):
            return
        left = yield from _published_meanwhile(left)
    raise SerializationLost("events were met in the outbox and published before they could be compared: try again")


def emit_own(events: Sequence[OutboxEvent], *, now: datetime | None) -> Plan[None]:
    """
    Put a caller's events into the outbox: all of them, or none.
    """
    if len(events) > 1:
        yield TOGETHER
        return (yield from undone_when_refused(emit(events, now=now)))
    return (yield from emit(events, now=now))


def emitting(make: MakePlan[T], wanted: Emission, *, now: datetime | None) -> Plan[T]:
    """
    Run a posting plan and write an event for each transfer that it made, in one transaction. A replay made none.
    """
    yield TOGETHER
    result = yield from make()
    yield from emit([transfer_event(transfer, wanted) for transfer in _made(result)], now=now)
    return result


def _published_meanwhile(events: Sequence[OutboxEvent | Event]) -> Plan[list[OutboxEvent | Event]]:
    """
    Return which of *events* stand nowhere any more, whose ids were met. Raises EventConflict for other content.
    """
    rows = yield step(
        "outbox.compare",
        event_ids=[event.event_id for event in events],
        payloads=[_json(event.payload) for event in events],
    )
    for event, row in zip(events, rows, strict=True):
        if row["is_there"]:
            _refuse_other(event, row)
    return [event for event, row in zip(events, rows, strict=True) if not row["is_there"]]


def _refuse_other(event: OutboxEvent | Event, row: Row) -> None:
    fields: dict[str, tuple[Any, Any]] = {
        name: (row[name], given)
        for name, given in (("topic", event.topic), ("ordering_key", event.ordering_key))
        if row[name] != given
    }
    if not row["same_payload"]:
        there, given = json.loads(row["payload"]), json.loads(_json(event.payload))
        fields |= {
            f"payload.{name}": (there.get(name), given.get(name))
            for name in sorted(there.keys() | given.keys())
            # As JSON: to Python 1 and true are the same.
            if name not in there or name not in given or _sorted(there[name]) != _sorted(given[name])
        }
    if fields:
        raise EventConflict(
            f"event {event.event_id!r} waits in the outbox with other content ({as_differences(fields)}); an id names one "
            "event: give the new one an id of its own",
            event_id=event.event_id,
            fields=fields,
        )


def _made(result: object) -> Iterator[Transfer]:
    outcomes = result if isinstance(result, list) else [result]
    for outcome in outcomes:
        if isinstance(outcome, Posted | Captured) and not outcome.replayed:
            yield outcome.transfer


def standing(*, now: datetime | None) -> Plan[OutboxStanding]:
    """
    Return how the outbox and its targets stand.
    """
    row = (yield step("outbox.status", counted_max=OUTBOX_COUNTED_MAX, now=now))[0]
    targets = yield step("outbox.targets")
    return OutboxStanding(
        waiting=whole(row, "waiting"),
        oldest_opened_at=_moment(row["oldest_opened_at"]),
        age_ms=None if row["age_ms"] is None else whole(row, "age_ms"),
        keys_waiting=whole(row, "keys_waiting"),
        set_aside=whole(row, "set_aside"),
        published=whole(row, "published"),
        targets=tuple(_target(each) for each in targets),
    )


def waiting(*, after_id: int, limit: int) -> Plan[list[WaitingEvent]]:
    """
    Return events that wait, the oldest first.
    """
    rows = yield step("outbox.waiting", after_id=after_id, rows_max=limit)
    return [
        WaitingEvent(
            id=row["id"],
            event_id=row["event_id"],
            topic=row["topic"],
            ordering_key=row["ordering_key"],
            payload=read_metadata(row["payload"]) or {},
            opened_at=row["opened_at"].astimezone(UTC),
            waits_for=row["waits_for"],
            attempts=row["attempts"] or 0,
            due_at=_moment(row["due_at"]),
            reason=row["reason"],
        )
        for row in rows
    ]


def set_aside(*, after_id: int, limit: int) -> Plan[list[EventSetAside]]:
    """
    Return events that were set aside, the oldest first.
    """
    rows = yield step("outbox.set_aside", after_id=after_id, rows_max=limit)
    return [
        EventSetAside(
            id=row["id"],
            event_id=row["event_id"],
            topic=row["topic"],
            ordering_key=row["ordering_key"],
            payload=read_metadata(row["payload"]) or {},
            opened_at=row["opened_at"].astimezone(UTC),
            attempts=row["attempts"],
            reason=row["reason"],
            set_aside_at=row["set_aside_at"].astimezone(UTC),
        )
        for row in rows
    ]


def notes(*, limit: int) -> Plan[list[OutboxNote]]:
    """
    Return what was done about events and targets, the newest first.
    """
    rows = yield step("outbox.notes", rows_max=limit)
    return [
        OutboxNote(
            row["action"],
            row["about"],
            row["reason"],
            row["actor"],
            row["recorded_at"].astimezone(UTC),
        )
        for row in rows
    ]


def retry(event_id: str, *, reason: str, actor: str, now: datetime | None, lock_timeout_ms: int) -> Plan[None]:
    """
    Have an event published that was set aside, or that waits for its next attempt: its key goes on with it at once.
    """
    return (yield from patiently(_retry(event_id, reason, actor, now), lock_timeout_ms))


def skip(event_id: str, *, reason: str, actor: str, now: datetime | None, lock_timeout_ms: int) -> Plan[None]:
    """
    Take an event out of the outbox unpublished; what was behind it goes on. The note keeps the event as it was.
    """
    return (yield from patiently(_skip(event_id, reason, actor, now), lock_timeout_ms))


def enable(target: str, *, reason: str, actor: str, now: datetime | None, lock_timeout_ms: int) -> Plan[None]:
    """
    Switch a target on again, whose failures then count from zero.
    """
    return (yield from patiently(_enable(target, reason, actor, now), lock_timeout_ms))


def _retry(event_id: str, reason: str, actor: str, now: datetime | None) -> Plan[None]:
    ordering_key = yield from _held(event_id)
    if (yield step("outbox.take_back", event_id=event_id)):
        yield step("outbox.try_now", ordering_key=ordering_key, event_id=event_id, reason=reason)
    elif not (yield step("outbox.hurry_key", ordering_key=ordering_key)):
        raise InvalidInput(
            f"event {event_id!r} waits for its turn, or behind an event of its key that was set aside: retry or skip that one",
            argument="event_id",
        )
    yield from _note("retried", event_id, reason, actor, now)


def _skip(event_id: str, reason: str, actor: str, now: datetime | None) -> Plan[None]:
    ordering_key = yield from _held(event_id)
    rows = yield step("outbox.skip", event_id=event_id)
    if not rows:
        raise _unknown(event_id)
    yield step("outbox.wake_key", ordering_key=ordering_key, event_id=event_id)
    yield from _note("skipped", event_id, reason, actor, now, event=rows[0]["event"])


def _enable(target: str, reason: str, actor: str, now: datetime | None) -> Plan[None]:
    if not (yield step("outbox.enable", target=target)):
        known = yield step("outbox.targets")
        raise InvalidInput(
            f"no relay has used a target called {target!r}; there is: {', '.join(row['name'] for row in known) or 'none'}",
            argument="target",
        )
    yield from _note("enabled", target, reason, actor, now)


def _held(event_id: str) -> Plan[str]:
    found = yield step("outbox.find", event_id=event_id)
    if found:
        ordering_key: str = found[0]["ordering_key"]
        yield step("outbox.lock_lane", ordering_key=ordering_key)
        # In a snapshot taken under the lock: a relay may have recorded it as published in between.
        if (yield step("outbox.find", event_id=event_id)):
            return ordering_key
    raise _unknown(event_id)


def _note(
    action: str, about: str, reason: str, actor: str, now: datetime | None, *, event: str | None = None
) -> Plan[None]:
    yield step("outbox.note", action=action, about=about, reason=reason, actor=actor, event=event, now=now)


def _unknown(event_id: str) -> UnknownEvent:
    return UnknownEvent(
        f"no event {event_id!r} waits in the outbox or was set aside; perhaps it was published meanwhile",
        event_id=event_id,
    )


def _target(row: Row) -> TargetStanding:
    return TargetStanding(
        name=row["name"],
        failures=row["failures"],
        reason=row["reason"],
        failed_at=_moment(row["failed_at"]),
        due_at=_moment(row["due_at"]),
        disabled_at=_moment(row["disabled_at"]),
        acknowledged_at=_moment(row["acknowledged_at"]),
    )


def _json(payload: str | Mapping[str, Any]) -> str:
    return payload if isinstance(payload, str) else json_object(payload, argument="payload", bytes_max=EVENT_BYTES_MAX)


def _sorted(value: object) -> str:
    return json.dumps(value, sort_keys=True)


def _moment(value: datetime | None) -> datetime | None:
    return None if value is None else value.astimezone(UTC)
