"""A row of each table of an adoption, and what breaks each of its constraints."""

from __future__ import annotations

from typing import Any

ADOPTION_ROWS: dict[str, dict[str, Any]] = {
    "adoption": {
        "name": "n", "phase": "shadow", "declaration": "{}", "started_at": "2026-01-01Z", "changed_at": "2026-01-01Z",
    },
    "adoption_row": {"adoption": "n", "row_key": "1", "account_id": 1, "units": 5, "agreed_at": "2026-01-01Z"},
    "adoption_difference": {
        "adoption": "n", "row_key": "1", "cause": "posted_twice", "first_seen_at": "2026-01-01Z",
        "last_seen_at": "2026-01-01Z",
    },
    "adoption_look": {"adoption": "n", "rows_seen": 1, "differences": 0, "looked_at": "2026-01-01Z"},
    "adoption_mirroring": {"adoption": "n"},
    "adoption_event": {"adoption": "n", "what": "begun", "recorded_at": "2026-01-01Z"},
}  # fmt: skip

# As CONSTRAINTS of test_constraints.py.
ADOPTION_CONSTRAINTS: dict[tuple[str, str], list[dict[str, Any]]] = {
    ("adoption", "adoption_once"): [{"phase": "ledger"}],
    ("adoption", "adoption_phase_known"): [{"phase": "done"}, {"phase": ""}],
    ("adoption_row", "adoption_row_once"): [{"account_id": 2}],
    ("adoption_row", "adoption_account_once"): [{"row_key": "2"}],
    ("adoption_difference", "adoption_difference_once"): [{"cause": "unit_mismatch"}],
    ("adoption_look", "adoption_look_once"): [{"rows_seen": 2}],
    ("adoption_mirroring", "adoption_mirroring_once"): [{}],
    ("adoption_event", "adoption_event_once"): [{"id": 1, "what": "other"}],
}  # fmt: skip
