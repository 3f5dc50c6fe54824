"""A row of each table of the outbox, and what breaks each of its constraints."""

from __future__ import annotations

from typing import Any

OUTBOX_ROWS: dict[str, dict[str, Any]] = {
    "outbox": {"id": 900, "event_id": "e", "topic": "t", "ordering_key": "k", "payload": "{}"},
    "outbox_key": {
        "ordering_key": "k", "lane": 0, "event_id": "e", "attempts": 1, "reason": "r", "blocked_at": "2026-01-01Z",
    },
    "outbox_set_aside": {
        "event_id": "e", "id": 1, "topic": "t", "ordering_key": "k", "payload": "{}", "opened_at": "2026-01-01Z",
        "attempts": 8, "reason": "r", "set_aside_at": "2026-01-01Z",
    },
    "outbox_lane": {"lane": 0},
    "outbox_target": {"name": "t", "failures": 0},
    "outbox_note": {
        "id": 900, "action": "retried", "about": "e", "reason": "r", "actor": "a", "recorded_at": "2026-01-01Z",
    },
}  # fmt: skip

# As CONSTRAINTS of test_constraints.py.
OUTBOX_CONSTRAINTS: dict[tuple[str, str], list[dict[str, Any]]] = {
    ("outbox", "outbox_once"): [{"event_id": "other"}],
    ("outbox", "outbox_event_once"): [{"id": 901}],
    ("outbox", "outbox_names_something"): [{"event_id": ""}, {"topic": ""}, {"ordering_key": ""}],
    ("outbox_key", "outbox_key_once"): [{"event_id": "other"}],
    ("outbox_key", "outbox_key_attempts_not_negative"): [{"attempts": -1}],
    ("outbox_set_aside", "outbox_set_aside_once"): [{"id": 2}],
    ("outbox_lane", "outbox_lane_once"): [{}],
    ("outbox_lane", "outbox_lane_known"): [{"lane": -1}, {"lane": 16}],
    ("outbox_target", "outbox_target_once"): [{"failures": 1}],
    ("outbox_target", "outbox_target_failures_not_negative"): [{"failures": -1}],
    ("outbox_note", "outbox_note_once"): [{"about": "other"}],
    ("outbox_note", "outbox_note_known"): [{"action": "lost"}, {"action": "skipped"}],
}  # fmt: skip
