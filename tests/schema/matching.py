"""A row of each table of matching, and what breaks each of its constraints."""

from __future__ import annotations

from typing import Any

_COUNTS = (
    "lines", "transfers", "internal", "matched", "amount_differs", "missing_in_ledger", "missing_in_statement",
    "cut_short",
)  # fmt: skip
MATCHING_ROWS: dict[str, dict[str, Any]] = {
    "match_run": {
        "run_id": 900, "spec_name": "s", "period": "2026-11", "spec": "{}", **dict.fromkeys(_COUNTS, 1),
        "recorded_at": "2026-11-30Z",
    },
    "match_group": {
        "run_id": 900, "number": 1, "outcome": "matched", "currency": "BRL", "difference": 0, "cut_short": False,
    },
    "match_item": {
        "run_id": 900, "group_number": 1, "is_line": True, "place": 1, "id": "i", "on_date": "2026-11-30", "amount": 1,
        "is_inside": True,
    },
    "match_waiting": {
        "run_id": 900, "currency": "BRL", "reference": "r", "is_line": True, "place": 1, "id": "i",
        "on_date": "2026-11-30", "amount": 1, "is_inside": True,
    },
}  # fmt: skip

# As CONSTRAINTS of test_constraints.py.
MATCHING_CONSTRAINTS: dict[tuple[str, str], list[dict[str, Any]]] = {
    ("match_run", "match_run_once"): [{"period": "2026-12"}],
    ("match_run", "match_run_period_is_month"): [{"period": "2026-13"}, {"period": "26-11"}],
    ("match_run", "match_run_counts_not_negative"): [{name: -1} for name in _COUNTS],
    ("match_group", "match_group_once"): [{"outcome": "amount_differs"}],
    ("match_group", "match_group_outcome_known"): [{"outcome": "perhaps"}],
    ("match_item", "match_item_once"): [{"group_number": 2}],
    ("match_waiting", "match_waiting_once"): [{"amount": 2}],
}  # fmt: skip
