"""
A closing of the books: the moment before which nothing may be posted any more, or again, and who said so.
"""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple


class PeriodClosing(NamedTuple):
    """
    From it on, and until the next one, nothing is posted that occurred before `closed_until`.

    `reopens` says that the bound went back; then `key`, `reason` and `actor` are there.
    """

    id: int
    closed_until: datetime
    reopens: bool
    key: str | None
    reason: str | None
    actor: str | None
    recorded_at: datetime
