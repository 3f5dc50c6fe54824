"""
How long a run measures: quick (does everything work?), normal (the figures of the table), full (memory over a million).
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Scale:
    """The lengths of one run."""

    name: str
    rounds: int
    limit_s: int
    subject_s: int
    batch_s: float
    tail_rows: tuple[int, ...]
    backlog_rows: int
    reads: int
    # Earlier movements of a member beside which an earning is measured, and lots that expire.
    movements: tuple[int, ...]
    due_lots: int
    # Entries of one account, and the days that they lie on.
    history_entries: int
    history_days: int
    reconciled_accounts: int
    checkouts_s: int
    # Bets of one market that are settled at once, and the time for which bets are placed before that.
    burst_bets: int
    burst_s: int
    # Runs in which the doctor must find nothing.
    healthy_repeats: int
    memory_posts: int
    # Of the large .xlsx; each of eight files has a quarter of them.
    sheet_rows: int
    # Parts that are measured again with the slow flush.
    slow_parts: frozenset[str]


# Reading waits for no flush, and memory knows none.
SLOW_PARTS = frozenset({"sql", "betting", "python", "batches", "folding", "checkout"})

QUICK = Scale(
    name="quick",
    rounds=1,
    limit_s=1,
    subject_s=1,
    batch_s=0.2,
    tail_rows=(0, 500, 2_000),
    backlog_rows=20_000,
    reads=50,
    movements=(10, 1_000),
    due_lots=2_000,
    history_entries=20_000,
    history_days=20,
    reconciled_accounts=20_000,
    checkouts_s=1,
    burst_bets=2_000,
    burst_s=2,
    healthy_repeats=2,
    memory_posts=20_000,
    sheet_rows=8_000,
    slow_parts=frozenset({"sql"}),
)
NORMAL = Scale(
    name="normal",
    rounds=3,
    limit_s=2,
    subject_s=3,
    batch_s=1.5,
    tail_rows=(0, 5_000, 100_000),
    backlog_rows=200_000,
    reads=300,
    movements=(10, 1_000, 100_000),
    due_lots=100_000,
    history_entries=1_000_000,
    history_days=365,
    reconciled_accounts=200_000,
    checkouts_s=5,
    burst_bets=20_000,
    burst_s=10,
    healthy_repeats=20,
    memory_posts=200_000,
    sheet_rows=200_000,
    slow_parts=SLOW_PARTS,
)
FULL = Scale(
    name="full",
    rounds=5,
    limit_s=3,
    subject_s=8,
    batch_s=4.0,
    tail_rows=(0, 5_000, 100_000),
    backlog_rows=500_000,
    reads=1_000,
    movements=(10, 1_000, 100_000),
    due_lots=100_000,
    history_entries=10_000_000,
    history_days=365,
    reconciled_accounts=1_000_000,
    checkouts_s=15,
    burst_bets=20_000,
    burst_s=30,
    healthy_repeats=20,
    memory_posts=1_000_000,
    sheet_rows=200_000,
    slow_parts=SLOW_PARTS,
)
