"""A row of each table of imports, and what breaks each of its constraints."""

from __future__ import annotations

from typing import Any

IMPORT_HISTORY = (
    "import_request", "import_file", "import_outcome", "import_merge", "import_log", "import_quarantine",
    "import_replaced",
)  # fmt: skip
IMPORT_ROWS: dict[str, dict[str, Any]] = {
    "import_sheet": {"name": "s", "spec": "{}", "declared_at": "2026-01-01Z"},
    "import_request": {
        "request_id": 900, "name": "f.zip", "specs": "{}", "allow_shrink": False, "quarantine": False,
        "recorded_at": "2026-01-01Z",
    },
    "import_file": {"file_id": 900, "request_id": 900, "number": 1, "name": "f.csv", "recorded_at": "2026-01-01Z"},
    "open_import": {
        "file_id": 900, "status": "waiting", "leased_until": "2026-01-01Z", "opened_at": "2026-01-01Z",
    },
    "import_piece": {"file_id": 900, "number": 1, "piece": b"piece"},
    "import_outcome": {"file_id": 900, "status": "merged", "recorded_at": "2026-01-01Z"},
    "import_merge": {
        "file_id": 900, "sheet": "s", "inserted": 1, "updated": 1, "unchanged": 1, "deleted": 1, "quarantined": 1,
    },
    "import_log": {"file_id": 900, "line": "said", "recorded_at": "2026-01-01Z"},
    "import_quarantine": {"file_id": 900, "sheet": "s", "row_number": 2, "cells": "{}", "reasons": "[]"},
    "import_replaced": {"file_id": 900, "sheet": "s", "is_deleted": True, "line": "{}"},
    "sheet_billing": {
        "invoice": "i", "reference": "r", "billed_on": "2026-01-01", "amount": 1, "currency": "BRL", "line_id": 900,
        "file_id": 900, "row_number": 2, "written_at": "2026-01-01Z",
    },
    "sheet_movements": {
        "movement": "m", "reference": "r", "moved_on": "2026-01-01", "amount": 1, "currency": "BRL", "line_id": 900,
        "file_id": 900, "row_number": 2, "written_at": "2026-01-01Z",
    },
}  # fmt: skip

# As CONSTRAINTS of test_constraints.py.
IMPORT_CONSTRAINTS: dict[tuple[str, str], list[dict[str, Any]]] = {
    ("import_sheet", "import_sheet_once"): [{"spec": "[]"}],
    ("import_request", "import_request_once"): [{"name": "other"}],
    ("import_request", "import_request_period_is_month"): [{"period": "2026-13"}, {"period": "26-01"}],
    ("import_file", "import_file_once"): [{"number": 2}],
    ("import_file", "import_file_number_once"): [{"file_id": 901}],
    ("open_import", "open_import_once"): [{"attempts": 1}],
    ("open_import", "open_import_status_known"): [{"status": "done"}],
    ("open_import", "open_import_attempts_not_negative"): [{"attempts": -1}],
    ("import_piece", "import_piece_once"): [{"piece": b"other"}],
    ("import_outcome", "import_outcome_once"): [{"recorded_at": "2026-01-02Z"}],
    ("import_outcome", "import_outcome_known"): [
        {"status": "lost"}, {"status": "error"}, {"status": "merged", "reason": "r"},
    ],
    ("import_merge", "import_merge_once"): [{"inserted": 2}],
    ("import_merge", "import_merge_counts_not_negative"): [
        {name: -1} for name in ("inserted", "updated", "unchanged", "deleted", "quarantined")
    ],
    ("import_log", "import_log_once"): [{"line_id": 1}],
    ("import_quarantine", "import_quarantine_once"): [{"cells": "[]"}],
    ("import_replaced", "import_replaced_once"): [{"replaced_id": 1}],
    ("sheet_billing", "sheet_billing_once"): [{"invoice": "other"}],
    ("sheet_billing", "sheet_billing_key_once"): [{"line_id": 901}],
    ("sheet_movements", "sheet_movements_once"): [{"movement": "other"}],
    ("sheet_movements", "sheet_movements_key_once"): [{"line_id": 901}],
}  # fmt: skip
