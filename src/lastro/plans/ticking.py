"""
The ticks that workers repeat and that anybody may run by hand: one round of consolidation, one round of partitions.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from functools import partial
from typing import NamedTuple, TypeAlias

from lastro.errors import LockTimeout
from lastro.model.limits import (
    CONSOLIDATION_ACCOUNT_BATCHES_MAX,
    CONSOLIDATION_ACCOUNTS_MAX,
    CONSOLIDATION_ROWS_MAX,
)
from lastro.plans.consolidating import accounts_with_tail, fold
from lastro.plans.course import Act, Course
from lastro.plans.plan import Effect

# Told the rows of each batch as soon as it is committed; False ends the round there.
AfterBatch: TypeAlias = Callable[[int], bool]


class Consolidated(NamedTuple):
    """
    What one round of consolidation did. `full` says that it ended at a limit or was told to, so more may be waiting.

    `blocked` counts the accounts passed over because somebody held their base row for longer than the limit.
    """

    accounts: int
    rows: int
    batches: int
    full: bool
    blocked: int = 0


def consolidate(
    *,
    rows_max: int = CONSOLIDATION_ROWS_MAX,
    now: datetime | None,
    after_batch: AfterBatch | None = None,
) -> Course[Consolidated]:
    """
    Fold in what is there: account by account, batch by batch, until no batch is full.

    Every account gets its turn in every round: one that is fed faster than it is folded in is left after
    CONSOLIDATION_ACCOUNT_BATCHES_MAX batches, one whose base row is held by somebody after a bounded wait.
    """
    done = Consolidated(0, 0, 0, full=False)
    after_id, account_ids = 0, [0]
    while account_ids:
        account_ids = yield Act(partial(accounts_with_tail, after_id=after_id), Effect.READ)
        for account_id in account_ids:
            drained, go_on = yield from _drain(account_id, rows_max, now, after_batch)
            done = _added(done, drained)
            if not go_on:
                return done._replace(full=True)
        if len(account_ids) < CONSOLIDATION_ACCOUNTS_MAX:
            break
        after_id = account_ids[-1]
    return done


def _drain(
    account_id: int, rows_max: int, now: datetime | None, after_batch: AfterBatch | None
) -> Course[tuple[Consolidated, bool]]:
    rows = batches = 0
    while batches < CONSOLIDATION_ACCOUNT_BATCHES_MAX:
        try:
            taken: int = yield Act(lambda: fold(account_id, rows_max=rows_max, now=now))
        except LockTimeout:
            return Consolidated(1, rows, batches, full=False, blocked=1), True
        rows += taken
        batches += 1
        go_on = after_batch is None or after_batch(taken)
        if taken < rows_max or not go_on:
            return Consolidated(1, rows, batches, full=False), go_on
    return Consolidated(1, rows, batches, full=True), True


def _added(done: Consolidated, more: Consolidated) -> Consolidated:
    return Consolidated(
        done.accounts + more.accounts,
        done.rows + more.rows,
        done.batches + more.batches,
        done.full or more.full,
        done.blocked + more.blocked,
    )
