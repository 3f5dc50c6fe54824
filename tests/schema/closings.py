"""Rows of the closings, and what their constraints refuse: for the tests that break each constraint."""

from __future__ import annotations

from typing import Any

CLOSING_ROWS: dict[str, dict[str, Any]] = {
    "mark": {
        "id": 1,
        "marked_at": "2026-01-01Z",
        "id_floor": 0,
        "id_ceiling": 9,
        "closed_at": "2026-01-02Z",
    },
    "closing": {
        "account_id": 1,
        "mark_id": 1,
        "opening": 0,
        "amount": 5,
        "entries": 1,
        "blocks": 0,
        "first_id": 1,
        "last_id": 9,
        "recorded_min_at": "2026-01-01Z",
        "recorded_max_at": "2026-01-01Z",
        "occurred_min_at": "2026-01-01Z",
        "occurred_max_at": "2026-01-01Z",
    },
    "closing_block": {
        "account_id": 1,
        "mark_id": 1,
        "number": 0,
        "moved": 5,
        "entries": 1,
        "first_id": 1,
        "last_id": 9,
        "recorded_min_at": "2026-01-01Z",
        "recorded_max_at": "2026-01-01Z",
        "occurred_min_at": "2026-01-01Z",
        "occurred_max_at": "2026-01-01Z",
    },
    "open_mark": {"only_row": True, "id": 1, "id_floor": 0, "settled": False, "after_account_id": -1},
}

CLOSING_CONSTRAINTS: dict[tuple[str, str], list[dict[str, Any]]] = {
    ("mark", "mark_once"): [{"id_floor": 1}],
    ("mark", "mark_follows"): [{"id": 0}, {"id_floor": 10}],
    ("closing", "closing_once"): [{"amount": 6}],
    ("closing", "closing_of_entries"): [{"entries": 0}, {"blocks": -1}, {"first_id": 10}],
    ("closing_block", "closing_block_once"): [{"moved": 6}],
    ("closing_block", "closing_block_of_entries"): [{"entries": 0}, {"number": -1}, {"first_id": 10}],
    ("open_mark", "open_mark_once"): [{}],
    ("open_mark", "open_mark_is_one"): [{"only_row": False}],
    ("open_mark", "open_mark_follows"): [{"id": 0}, {"id_floor": 1, "id_ceiling": 0}],
}
