"""
Memory: a batcher and a consolidator over many posts; both must stay flat.
"""

from __future__ import annotations

import threading

from bench.books import CURRENCY, books, consolidating
from bench.client import resident_kib
from bench.figures import Run, in_process

CALLERS = 256
# Before this share of the posts caches fill up and the allocator finds its size; what counts is growth after it.
WARM_SHARE = 0.2
SAMPLE_EVERY_S = 0.2


def measure(run: Run) -> None:
    """Post through one batcher, with a consolidator beside it, and watch the resident memory of both."""
    with books(run.server, "bench_memory") as made, consolidating(made) as worker:
        samples: list[int] = []
        stop = threading.Event()

        def watch() -> None:
            while not stop.wait(SAMPLE_EVERY_S):
                samples.append(resident_kib(worker.pid))

        watching = threading.Thread(target=watch)
        watching.start()
        done = in_process(
            "bench.client",
            {
                "url": run.server.url, "ledger": made.name, "way": "async_batcher", "callers": CALLERS, "seconds": 0,
                "account": "platform", "currency": CURRENCY, "seed": run.next_seed(), "posts": run.scale.memory_posts,
            },
        )  # fmt: skip
        stop.set()
        watching.join()
    run.note("memory.batcher", posts=run.scale.memory_posts, per_s=done["per_s"], **_growth(done["resident_kib"]))
    run.note("memory.worker", posts=run.scale.memory_posts, **_growth(samples))


def _growth(samples: list[int]) -> dict[str, float]:
    settled = samples[int(len(samples) * WARM_SHARE) :]
    if not settled:
        raise RuntimeError("the load was too short to see any memory")
    return {
        "first_mib": settled[0] / 1024,
        "last_mib": settled[-1] / 1024,
        "most_mib": max(settled) / 1024,
        "growth": max(settled) / settled[0] - 1,
    }
