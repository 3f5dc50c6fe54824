"""
Consolidation: rows a second beside what 32 clients post, how long the base row is held, and the bound of a batch.
"""

from __future__ import annotations

import threading
import time
from typing import Any

import psycopg

from bench import pgbench, scripts
from bench.books import CURRENCY, Books, books
from bench.figures import Run
from bench.loads import percentile
from lastro.model.limits import CONSOLIDATION_ROWS_MAX
from lastro.sql.catalogue import catalogue

CLIENTS = 32
# One more than the server's five custom plans: from the sixth on a prepared statement keeps its generic plan.
IDLE_EXECUTIONS = 7
BURST_ROWS = 4 * CONSOLIDATION_ROWS_MAX


def measure(run: Run) -> None:
    """Fold a backlog that 32 clients posted; then provoke the batch bound."""
    with books(run.server, f"bench_folding_{run.flush.lower()}") as made:
        credit_id = made.account_id("platform")
        script = scripts.post_to_hot(made.name, world_id=made.account_id("world"), credit_id=credit_id)
        posting = pgbench.run(
            run.server.embedded, script, clients=CLIENTS, seconds=run.scale.subject_s, seed=run.next_seed()
        )
        real = int(made.value("SELECT count(*) FROM tail"))
        made.execute(
            f"INSERT INTO tail (account_id, transfer_id, amount) SELECT {credit_id}, n, 1 "
            f"FROM generate_series(10000000000, 10000000000 + {run.scale.backlog_rows - 1}) AS n"
        )
        backlog = real + run.scale.backlog_rows
        with _Waiting(made, credit_id) as waiting:
            began = time.perf_counter()
            rows, batches = _fold_all(made)
            elapsed = time.perf_counter() - began
        if rows != backlog:
            raise RuntimeError(f"{backlog} rows were in the tail, {rows} were folded in")
        run.note(
            "consolidation",
            rows_per_s=rows / elapsed,
            posted_per_s=posting.per_s,
            times=rows / elapsed / posting.per_s,
            batch_ms=elapsed / batches * 1000,
            base_row_wait_p50_ms=percentile(waiting.times_ms, 0.5),
            base_row_wait_p99_ms=percentile(waiting.times_ms, 0.99),
            base_row_wait_max_ms=max(waiting.times_ms, default=0.0),
            # Who waits no longer than a batch takes was held up by one batch at most.
            wait_over_batch=percentile(waiting.times_ms, 0.99) / (elapsed / batches * 1000),
        )
        _provoke_bound(run, made, credit_id)


def _fold_all(made: Books) -> tuple[int, int]:
    rows = batches = 0
    while (folded := made.ledger.consolidate()).rows:
        rows, batches = rows + folded.rows, batches + folded.batches
    return rows, batches


class _Waiting:
    """Somebody who locks the base row again and again, as a debit does, and notes how long it took to get it."""

    def __init__(self, made: Books, account_id: int) -> None:
        self.times_ms: list[float] = []
        self._url = made.server.url
        self._query = f"SELECT amount FROM {made.name}.base WHERE account_id = {account_id} FOR NO KEY UPDATE".encode()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def _run(self) -> None:
        with psycopg.connect(self._url, autocommit=True) as connection:
            while not self._stop.is_set():
                began = time.perf_counter()
                connection.execute(self._query, prepare=True)
                self.times_ms.append((time.perf_counter() - began) * 1000)

    def __enter__(self) -> _Waiting:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()
        self.times_ms.sort()


def _provoke_bound(run: Run, made: Books, account_id: int) -> None:
    """A burst after the statement was prepared on an empty tail, with statistics that know nothing of it."""
    made.execute("ALTER TABLE tail SET (autovacuum_enabled = off); ANALYZE tail")
    fold = catalogue("postgres", made.name)["consolidating.fold"].text.encode()
    params: dict[str, Any] = {"account_id": account_id, "rows_max": CONSOLIDATION_ROWS_MAX, "now": None}
    with psycopg.connect(run.server.url, autocommit=True) as idle:
        for _ in range(IDLE_EXECUTIONS):
            idle.execute(fold, params, prepare=True)
        made.execute(
            f"INSERT INTO tail (account_id, transfer_id, amount) SELECT {account_id}, n, 1 "
            f"FROM generate_series(20000000001, 20000000000 + {BURST_ROWS}) AS n"
        )
        began = time.perf_counter()
        row = idle.execute(fold, params, prepare=True).fetchone()
        elapsed_ms = (time.perf_counter() - began) * 1000
    taken = 0 if row is None else int(row[0])
    left = int(made.value("SELECT count(*) FROM tail"))
    if taken + left != BURST_ROWS:
        raise RuntimeError(f"{BURST_ROWS} rows, {taken} taken, {left} left")
    made.execute("ALTER TABLE tail RESET (autovacuum_enabled)")
    balance = made.ledger.balance("platform", CURRENCY)
    run.note(
        "consolidation.bound",
        rows_max=CONSOLIDATION_ROWS_MAX,
        rows_taken=taken,
        batch_ms=elapsed_ms,
        obeyed=taken <= CONSOLIDATION_ROWS_MAX,
        posted_after=balance.posted,
    )
