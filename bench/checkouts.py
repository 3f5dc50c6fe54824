"""
The whole checkout of the marketplace with 32 clients: beside the same checkout without the ledger.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from statistics import median
from typing import Any

import psycopg

from bench.books import CURRENCY, Books, books, consolidating
from bench.figures import Run, in_process
from bench.loads import percentile
from lastro.rehearsal.marketplace import Shop, Tables

PROCESSES = 4
THREADS = 8
SELLERS = 1_000
TABLES = "bench_marketplace"


def measure(run: Run) -> None:
    """Alternate the checkout without and with the ledger."""
    with books(run.server, f"bench_checkout_{run.flush.lower()}") as made, consolidating(made):
        _set_up(made)
        without: list[dict[str, float]] = []
        with_ledger: list[dict[str, float]] = []
        for _ in range(run.scale.rounds):
            without.append(_shop(run, made, with_ledger=False))
            with_ledger.append(_shop(run, made, with_ledger=True))
        ratios = [mine["per_s"] / bare["per_s"] for mine, bare in zip(with_ledger, without, strict=True)]
        run.note(
            "checkout.32",
            per_s=median(one["per_s"] for one in with_ledger),
            without_ledger_per_s=median(one["per_s"] for one in without),
            ratio=median(ratios),
            ratios=[round(ratio, 3) for ratio in ratios],
            p99_ms=median(one["p99_ms"] for one in with_ledger),
            without_ledger_p99_ms=median(one["p99_ms"] for one in without),
        )
        with psycopg.connect(run.server.url, autocommit=True) as connection:
            connection.execute(f"DROP SCHEMA {TABLES} CASCADE".encode())


def _set_up(made: Books) -> None:
    shop = Shop(made.ledger, Tables(TABLES))
    with psycopg.connect(made.server.url) as connection:
        connection.execute(shop.tables.create.encode())
    for number in range(1, SELLERS + 1):
        made.ledger.open_account(f"seller:{number}", CURRENCY)


def _shop(run: Run, made: Books, *, with_ledger: bool) -> dict[str, float]:
    orders: list[dict[str, Any]] = [
        {
            "url": run.server.url, "ledger": made.name, "tables": TABLES, "with_ledger": with_ledger,
            "threads": THREADS, "seconds": run.scale.checkouts_s, "sellers": SELLERS, "seed": run.next_seed(),
        }
        for _ in range(PROCESSES)
    ]  # fmt: skip
    with ThreadPoolExecutor(PROCESSES) as pool:
        answers = list(pool.map(lambda order: in_process("bench.shopper", order), orders))
    times = sorted(spent for answer in answers for spent in answer["times"])
    return {"per_s": len(times) / run.scale.checkouts_s, "p99_ms": percentile(times, 0.99) * 1000}
