"""
Posting many in one call, beside a plain INSERT … SELECT unnest of the same rows into the same table.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from statistics import median
from typing import Any

import psycopg

from bench.books import CURRENCY, Books, books
from bench.figures import Run
from lastro.engine.psycopg_cursor import adapted

SIZES = (100, 1_000, 10_000)
KEY_BITS = 128
AMOUNT_MAX = 100_000
COLUMNS = {
    "debit_id": "bigint", "credit_id": "bigint", "amount": "bigint", "credit_before": "bigint",
    "credit_after": "bigint", "key": "text", "kind": "text", "cause": "text", "source": "text", "actor": "text",
}  # fmt: skip
Wanted = list[dict[str, Any]]


def measure(run: Run) -> None:
    """post_many at 100, 1,000 and 10,000, hot and direct."""
    with books(run.server, f"bench_batch_{run.flush.lower()}") as made:
        for account in ("platform", "busy"):
            for size in SIZES:
                _beside_plain(run, made, account, size)


def _beside_plain(run: Run, made: Books, account: str, size: int) -> None:
    keeping = "hot" if account == "platform" else "direct"
    drawn = random.Random(run.next_seed())
    plain = PlainInsert(made, account, chained=keeping == "direct", quickest=False)
    quickest = PlainInsert(made, account, chained=keeping == "direct", quickest=True)

    def post_many(wanted: Wanted) -> None:
        outcomes = made.ledger.post_many(wanted, partial=True)
        assert len(outcomes) == len(wanted)
        assert not any(isinstance(outcome, Exception) for outcome in outcomes)

    ways: dict[str, Callable[[Wanted], None]] = {"plain": plain, "post_many": post_many, "quickest": quickest}
    for way in ways.values():
        way(_wanted(drawn, account, size))
    rates: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(run.scale.rounds + 1):
        for name, way in ways.items():
            rates[name].append(_rate(way, drawn, account, size, run.scale.batch_s))
    plain.close()
    quickest.close()
    ratios = [mine / bare for mine, bare in zip(rates["post_many"], rates["plain"], strict=True)]
    to_quickest = [mine / bare for mine, bare in zip(rates["post_many"], rates["quickest"], strict=True)]
    run.note(
        f"post_many.{keeping}.{size}",
        per_s=median(rates["post_many"]),
        plain_per_s=median(rates["plain"]),
        ratio=median(ratios),
        ratios=[round(ratio, 3) for ratio in ratios],
        quickest_plain_per_s=median(rates["quickest"]),
        ratio_to_quickest=median(to_quickest),
    )


def _rate(way: Callable[[Wanted], None], drawn: random.Random, account: str, size: int, seconds: float) -> float:
    """Rows a second; the making of the input is not timed."""
    spent, rows = 0.0, 0
    while spent < seconds:
        wanted = _wanted(drawn, account, size)
        began = time.perf_counter()
        way(wanted)
        spent += time.perf_counter() - began
        rows += size
    return rows / spent


def _wanted(drawn: random.Random, account: str, size: int) -> Wanted:
    return [
        {
            "key": f"{drawn.getrandbits(KEY_BITS):032x}", "kind": "commission", "debit": "world", "credit": account,
            "amount": drawn.randint(1, AMOUNT_MAX), "currency": CURRENCY, "cause": "order:8812",
            "source": "order:8812", "actor": "checkout",
        }
        for _ in range(size)
    ]  # fmt: skip


class PlainInsert:
    """
    The rows alone: one prepared INSERT … SELECT unnest a batch, no key table, no balance, no outcome.

    The driver is given lists, as anybody would write it; with `quickest` texts of arrays, as the ledger sends them.
    """

    def __init__(self, made: Books, account: str, *, chained: bool, quickest: bool) -> None:
        self._quickest = quickest
        self._connection = psycopg.connect(made.server.url, autocommit=True)
        self._debit_id, self._credit_id = made.account_id("world"), made.account_id(account)
        self._balance = 0 if chained else None
        arrays = ", ".join(f"%({name})s::{kind}[]" for name, kind in COLUMNS.items())
        self._statement = (
            f"INSERT INTO {made.name}.transfer (id, occurred_at, recorded_at, {', '.join(COLUMNS)}) "
            f"SELECT nextval('{made.name}.transfer_id'), now(), now(), {', '.join(COLUMNS)} "
            f"FROM unnest({arrays}) AS row ({', '.join(COLUMNS)})"
        ).encode()

    def __call__(self, wanted: Wanted) -> None:
        """Insert a batch in one transaction."""
        columns: dict[str, list[Any]] = {name: [one.get(name) for one in wanted] for name in COLUMNS}
        columns["debit_id"] = [self._debit_id] * len(wanted)
        columns["credit_id"] = [self._credit_id] * len(wanted)
        if self._balance is not None:
            for number, one in enumerate(wanted):
                columns["credit_before"][number] = self._balance
                self._balance += one["amount"]
                columns["credit_after"][number] = self._balance
        self._connection.execute(self._statement, adapted(columns) if self._quickest else columns, prepare=True)

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()
