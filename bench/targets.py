"""
What the figures should reach, and whether they do.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

Figures = Mapping[str, Mapping[str, Any]]


class Target(NamedTuple):
    """One line of the table of targets: *value* of *figure* must be at least (or at most) *wanted*."""

    what: str
    figure: str
    value: str
    wanted: float
    at_most: bool = False


class Verdict(NamedTuple):
    """A target beside what was measured; None where it wasn't."""

    target: Target
    measured: float | None
    met: bool | None


TARGETS = (
    *(
        Target(f"hot post by SQL, {clients} clients{said}, of the limit", f"sql.hot.{clients}.{flush}", "ratio", wanted)
        for flush, said, wanted in (("F0", "", 0.55), ("F1000", ", 1 ms flush", 0.75))
        for clients in (8, 32)
    ),
    *(
        Target(
            f"hot post by SQL, {clients} clients{said}, p99 over the limit's",
            f"sql.hot.{clients}.{flush}", "p99_ratio", 3.0, at_most=True,
        )
        for flush, said in (("F0", ""), ("F1000", ", 1 ms flush"))
        for clients in (8, 32)
    ),
    Target(
        "hot over direct on ONE account, 32 clients, 1 ms flush, times", "sql.hot_over_direct_one_account.F1000",
        "times", 15.0,
    ),
    *(
        Target(f"Python, {way}, 256 callers, over one by one, times", f"python.hot.{name}_over_one.F0", "times", 3.0)
        for way, name in (("batcher (threads)", "batcher"), ("batcher (asyncio)", "async_batcher"))
    ),
    *(
        Target(f"Python, {way}, 256 callers, of the limit", f"python.hot.{name}.256.F0", "ratio", 0.40)
        for way, name in (("batcher (threads)", "batcher"), ("batcher (asyncio)", "async_batcher"))
    ),
    # Which insert is "plain" decides this line, so both stand here: lists as the driver sends them, and arrays written as
    # text, which is how the ledger itself sends them and twice as fast.
    *(
        Target(
            f"post_many of 10,000, {keeping}, of a plain INSERT … SELECT unnest{how}", f"post_many.{keeping}.10000.F0",
            value, 0.50,
        )
        for how, value in ((" (the driver's lists)", "ratio"), (" (arrays as text)", "ratio_to_quickest"))
        for keeping in ("hot", "direct")
    ),
    *(
        Target(f"post_many of 10,000, {keeping}, transfers/s", f"post_many.{keeping}.10000.F0", "per_s", 35_000)
        for keeping in ("hot", "direct")
    ),
    *(
        Target(what.format(clients), f"holds.{figure}.{clients}.F0", "times", wanted)
        for what, figure, wanted in (
            ("placing a hold, {} clients, over a direct post", "place_over_post", 0.8),
            ("hold and capture, {} clients, over two direct posts", "place_and_capture_over_two_posts", 0.5),
        )
        for clients in (8, 32)
    ),
    *(
        Target(f"balance at a moment, by {by}, over a plain balance read, times", f"past.balance_at.{by}.F0", "times", 5.0, at_most=True)
        for by in ("recorded", "occurred")
    ),
    *(
        Target(f"placing a bet by SQL, 32 clients, 10,000 accounts, {on}, of the limit", f"betting.place.{name}.32.F0", "ratio", 0.5)
        for on, name in (("100 markets", "many_markets"), ("ONE market", "one_market"))
    ),
    *(
        Target(f"settling bets, of post_many's rate for as many transfers ({size} a call)", "betting.settle.F0", value, 0.5)
        for size, value in (("as in a batch", "ratio"), ("10,000", "ratio_to_largest"))
    ),
    Target("bets placed while a market is settled, p99 over before, times", "betting.burst.F0", "p99_ratio", 2.0, at_most=True),
    Target("longest wait of a placement over longest batch", "betting.burst.F0", "wait_over_batch", 1.0, at_most=True),
    Target("deadlocks of the burst", "betting.burst.F0", "deadlocks", 0, at_most=True),
    Target("age of what is left to settle after it, ms", "betting.burst.F0", "backlog_age_ms", 0, at_most=True),
    Target("whole checkout, 32 clients, of the same without the ledger", "checkout.32.F0", "ratio", 0.70),
    Target("whole checkout, 32 clients, orders/s", "checkout.32.F0", "per_s", 1_600),
    Target("consolidation over what 32 clients post, times", "consolidation.F0", "times", 1.0),
    Target("wait for the base row over a batch's time", "consolidation.F0", "wait_over_batch", 1.0, at_most=True),
    Target("rows of a batch, stale statistics, idle statement", "consolidation.bound.F0", "rows_taken", 5_000, at_most=True),
    Target("earn beside 100,000 movements over beside 10, times", "points.earn.flat.F0", "times", 1.5, at_most=True),
    Target("expiry: longest wait of a spend over longest batch", "points.expiry.F0", "wait_over_batch", 1.0, at_most=True),
    *(
        Target(
            f"{said}, {keeping} post, {clients} client{'s' if clients > 1 else ''}, of its own one-row insert",
            f"stores.{store}.{keeping}.{clients}.F0", "ratio", wanted,
        )
        for store, said, numbers, wanted in (("mariadb", "MariaDB", (1, 8, 32), 0.40), ("sqlite", "SQLite", (1,), 0.50))
        for clients in numbers
        for keeping in ("hot", "direct", "summed")
    ),
    *(
        Target(
            f"{said}, {keeping} post by the batcher, 256 callers, of its own one-row insert ({limited})",
            f"stores.{store}.{keeping}.batcher.256.F0", "ratio", wanted,
        )
        for store, said, limited, wanted in (
            ("mariadb", "MariaDB", "32 clients", 0.40), ("sqlite", "SQLite", "one writer", 0.50)
        )
        for keeping in ("hot", "direct", "summed")
    ),
    Target(
        "MariaDB, hot over a naive UPDATE of one row, 32 clients, times", "stores.mariadb.hot_over_naive_one_row.32.F0",
        "times", 5.0,
    ),
    Target("reconciliation, unmoved accounts passed over, accounts/s", "reconciling.skip.F0", "per_s", 200_000),
    Target("reconciliation, memory growth over what moved", "reconciling.moved.F0", "growth", 0.10, at_most=True),
    Target("posts beside reconciliation, p99 over without, times", "reconciling.posts.F0", "p99_ratio", 1.2, at_most=True),
    Target("parsing 200,000 × 30 of an .xlsx, of the reader's own bare speed", "imports.xlsx.F0", "ratio", 0.80),
    Target("its peak memory, MiB", "imports.xlsx.F0", "peak_mib", 400, at_most=True),
    Target("eight .xlsx by four parsers, over one after another", "imports.eight_files.F0", "times", 0.60, at_most=True),
    Target("merging 200,000 rows unchanged, over a first load", "imports.merge.F0", "unchanged", 0.35, at_most=True),
    Target("merging them with 1 % changed, over a first load", "imports.merge.F0", "changed", 0.45, at_most=True),
    Target(
        "eight .xlsx read and merged by four lanes, over one lane", "imports.eight_merged.F0", "times", 0.60, at_most=True
    ),
    Target("peak memory of who merges, MiB", "imports.eight_merged.F0", "parent_peak_mib", 400, at_most=True),
    Target("doctor: injected faults named first, and nothing on healthy runs, share", "doctor.matrix.F0", "share", 1.0),
    Target("hot posts beside the doctor's watch, 8 clients, of the same alone", "doctor.watch.F0", "ratio", 0.98),
    Target("processor that the watch and its session take, of the machine's", "doctor.watch.F0", "processor_share", 0.02, at_most=True),
    Target("memory growth, batcher", "memory.batcher.F0", "growth", 0.10, at_most=True),
    Target("memory growth, worker", "memory.worker.F0", "growth", 0.10, at_most=True),
)  # fmt: skip


def judge(figures: Figures) -> list[Verdict]:
    """Hold the figures against the targets."""
    return [_judged(target, figures) for target in TARGETS]


def _judged(target: Target, figures: Figures) -> Verdict:
    figure = figures.get(target.figure)
    if figure is None:
        return Verdict(target, None, None)
    measured = float(figure[target.value])
    reaches: Callable[[float, float], bool] = operator.le if target.at_most else operator.ge
    return Verdict(target, measured, reaches(measured, target.wanted))
