"""
The ticks that workers repeat and that anybody may run by hand: one round of consolidation, one round of partitions.
"""

from __future__ import annotations

from datetime import datetime
from functools import partial
from typing import NamedTuple

from lastro.model.limits import (
    CONSOLIDATION_BATCHES_MAX,
    CONSOLIDATION_ROWS_MAX,
)
from lastro.plans.consolidating import accounts_with_tail, fold
from lastro.plans.course import Act, Course
from lastro.plans.plan import Effect


class Consolidated(NamedTuple):
    """
    What one round of consolidation did. `full` says that the round's limit was reached and more may be waiting.
    """

    accounts: int
    rows: int
    batches: int
    full: bool


def consolidate(*, rows_max: int = CONSOLIDATION_ROWS_MAX, now: datetime | None) -> Course[Consolidated]:
    """
    Fold in what is there: account by account, batch by batch, until no batch is full or the round's limit is reached.
    """
    account_ids: list[int] = yield Act(accounts_with_tail, Effect.READ)
    rows = batches = accounts = 0
    for account_id in account_ids:
        accounts += 1
        taken = rows_max
        while taken == rows_max and batches < CONSOLIDATION_BATCHES_MAX:
            taken = yield Act(partial(fold, account_id, rows_max=rows_max, now=now))
            rows += taken
            batches += 1
        if batches >= CONSOLIDATION_BATCHES_MAX:
            return Consolidated(accounts, rows, batches, full=True)
    return Consolidated(accounts, rows, batches, full=False)
