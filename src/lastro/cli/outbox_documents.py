"""
The outbox as JSON documents with stable keys.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from lastro.model.outbox import EventSetAside, OutboxNote, OutboxStanding, TargetStanding, WaitingEvent


def standing_document(standing: OutboxStanding) -> dict[str, Any]:
    """
    Return how the outbox stands; `age_ms` is null where nothing waits.
    """
    return {
        "waiting": standing.waiting,
        "oldest_opened_at": _moment(standing.oldest_opened_at),
        "age_ms": standing.age_ms,
        "keys_waiting": standing.keys_waiting,
        "set_aside": standing.set_aside,
        "published": standing.published,
        "targets": [target_document(target) for target in standing.targets],
    }


def target_document(target: TargetStanding) -> dict[str, Any]:
    """
    Return how a target does; `disabled_at` is null while it is in use.
    """
    return {
        "name": target.name,
        "failures": target.failures,
        "reason": target.reason,
        "failed_at": _moment(target.failed_at),
        "due_at": _moment(target.due_at),
        "disabled_at": _moment(target.disabled_at),
        "acknowledged_at": _moment(target.acknowledged_at),
    }


def waiting_document(event: WaitingEvent) -> dict[str, Any]:
    """
    Return an event that waits.
    """
    return {
        "id": event.id,
        "event_id": event.event_id,
        "topic": event.topic,
        "ordering_key": event.ordering_key,
        "payload": event.payload,
        "opened_at": _moment(event.opened_at),
        "waits_for": event.waits_for,
        "attempts": event.attempts,
        "due_at": _moment(event.due_at),
        "reason": event.reason,
    }


def set_aside_document(event: EventSetAside) -> dict[str, Any]:
    """
    Return an event that was set aside.
    """
    return {
        "id": event.id,
        "event_id": event.event_id,
        "topic": event.topic,
        "ordering_key": event.ordering_key,
        "payload": event.payload,
        "opened_at": _moment(event.opened_at),
        "attempts": event.attempts,
        "reason": event.reason,
        "set_aside_at": _moment(event.set_aside_at),
    }


def note_document(note: OutboxNote) -> dict[str, Any]:
    """
    Return what was done about an event or a target.
    """
    return {
        "action": note.action,
        "about": note.about,
        "reason": note.reason,
        "actor": note.actor,
        "recorded_at": _moment(note.recorded_at),
    }


def _moment(moment: datetime | None) -> str | None:
    return None if moment is None else moment.isoformat()
