"""Samples written by hand, for rules that need no database."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any

from lastro.doctor.readings import Reading, Sample

BEGAN_AT = datetime(2026, 11, 30, 20, 0, tzinfo=UTC)


def reading(name: str, value: Any, subject: str = "", unit: str = "", **detail: Any) -> Reading:
    """A reading."""
    return Reading(name, value, unit, subject, detail)


def window(*samples: Iterable[Reading], every_s: float = 1.0) -> list[Sample]:
    """Samples, so many seconds apart."""
    return [
        Sample(BEGAN_AT + timedelta(seconds=number * every_s), tuple(readings))
        for number, readings in enumerate(samples)
    ]


def waiting(
    account: str, sessions: int, *, keeping: str = "direct", age_s: float = 0.01, busy: int = 10
) -> list[Reading]:
    """So many sessions, of those that are busy, wait for an account's row behind a transaction of that age."""
    blocker = {"session": "shop (pid 1)", "state": "active", "state_age_s": 0.01, "age_s": age_s, "query": "…"}
    detail: dict[str, Any] = {
        "account": account,
        "currency": "BRL",
        "keeping": keeping,
        "relation": "lastro.base",
        "longest_s": 0.02,
    }
    return [
        reading("sessions_busy", busy),
        reading("sessions_waiting", sessions),
        reading("lock_waits", sessions, f"account {account} BRL", **detail, blockers=[blocker]),
    ]
