"""
Reading a hot account's balance with a short and a long tail.
"""

from __future__ import annotations

import time

from bench.books import CURRENCY, books
from bench.figures import Run
from bench.loads import percentile


def measure(run: Run) -> None:
    """`ledger.balance` with 0, 5,000 and 100,000 rows in the account's tail."""
    with books(run.server, "bench_reading") as made:
        account_id = made.account_id("platform")
        there = 0
        for rows in run.scale.tail_rows:
            # Written by SQL: what is timed is the reading, and 100,000 posts would take longer than all the rest.
            made.execute(
                f"INSERT INTO tail (account_id, transfer_id, amount) "
                f"SELECT {account_id}, n, 1 FROM generate_series({there + 1}, {rows}) AS n"
            )
            there = rows
            times = []
            for _ in range(run.scale.reads):
                began = time.perf_counter()
                balance = made.ledger.balance("platform", CURRENCY)
                times.append(time.perf_counter() - began)
                assert balance.posted == rows
            times.sort()
            run.note(
                f"balance.tail_{rows}",
                p50_ms=percentile(times, 0.5) * 1000,
                p99_ms=percentile(times, 0.99) * 1000,
            )
