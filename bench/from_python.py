"""
Posting from Python: one connection, threads, and the batcher with threads and with tasks, each one process.
"""

from __future__ import annotations

from typing import NamedTuple

from bench.books import CURRENCY, Books, books, consolidating
from bench.figures import Run, in_process
from bench.loads import Load


class Way(NamedTuple):
    """How a process posts, with how many callers, and the clients of the limit it is held against."""

    name: str
    callers: int
    limit_clients: int


ONE = Way("one", 1, 1)
MANY = (Way("batcher", 256, 32), Way("async_batcher", 256, 32))
WAYS = (ONE, Way("threads", 16, 16), Way("batcher", 64, 32), Way("async_batcher", 64, 32), *MANY)


def measure(run: Run) -> None:
    """Every way on the hot account; the batcher on one direct account as well."""
    with books(run.server, f"bench_python_{run.flush.lower()}") as made, consolidating(made):
        for keeping, account, ways in (("hot", "platform", WAYS), ("direct", "busy", (ONE, *MANY))):
            for way in ways:
                _beside(run, made, f"python.{keeping}", way, account)
            one = run.figure(f"python.{keeping}.one.1")["per_s"]
            for way in MANY:
                per_s = run.figure(f"python.{keeping}.{way.name}.{way.callers}")["per_s"]
                run.note(f"python.{keeping}.{way.name}_over_one", times=per_s / one)


def _beside(run: Run, made: Books, group: str, way: Way, account: str) -> None:
    name = f"{group}.{way.name}.{way.callers}"

    def subject() -> Load:
        before = made.posted()
        done = in_process(
            "bench.client",
            {
                "url": run.server.url, "ledger": made.name, "way": way.name, "callers": way.callers,
                "seconds": run.scale.subject_s, "account": account, "currency": CURRENCY, "seed": run.next_seed(),
            },
        )  # fmt: skip
        if made.posted() - before < done["posts"]:
            raise RuntimeError(f"{name}: {done['posts']} posts counted, but fewer transfers are there")
        more = {"client_cpu_us": done["client_cpu_us"], "mean_batch": done["mean_batch"]}
        return Load(per_s=done["per_s"], p50_ms=done["p50_ms"], p99_ms=done["p99_ms"], more=more)

    run.beside_limit(name, subject, clients=way.limit_clients)
