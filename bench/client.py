"""
One Python process that posts: `python -m bench.client`, its order as JSON on standard input, what it did as JSON out.

Ways: `one` (one thread, one connection), `threads` (a connection each), `batcher` (threads), `async_batcher` (tasks).
"""

from __future__ import annotations

import asyncio
import json
import random
import sys
import threading
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

import lastro
from bench.loads import percentile
from lastro.telemetry import listen

WARM_UP_POSTS = 20
KEY_BITS = 128
AMOUNT_MAX = 100_000
MEMORY_SAMPLES = 20


@dataclass
class Order:
    """What a process is asked to do. `posts` ends it as well as `seconds`, where it is given."""

    url: str
    ledger: str
    way: str
    callers: int
    seconds: float
    account: str
    currency: str
    seed: int
    posts: int | None = None


@dataclass
class Done:
    """What it did: the time of each post in seconds, and the resident memory on the way."""

    times: list[float] = field(default_factory=list)
    batches: list[float] = field(default_factory=list)
    resident_kib: list[int] = field(default_factory=list)
    elapsed_s: float = 0.0
    cpu_s: float = 0.0


class Caller:
    """One thread or task: it makes random posts until its time is over, and notes how long each took."""

    def __init__(self, order: Order, number: int) -> None:
        self.order = order
        self.random = random.Random(f"{order.seed}:{number}")
        self.times: list[float] = []

    def wanted(self) -> dict[str, Any]:
        """The next transfer, as a checkout would post it."""
        drawn = self.random.getrandbits(KEY_BITS)
        cause = f"order:{drawn & 0xFFFFFFFF}"
        return {
            "key": f"{drawn:032x}", "kind": "commission", "debit": "world", "credit": self.order.account,
            "amount": 1 + drawn % AMOUNT_MAX, "currency": self.order.currency, "cause": cause, "source": cause,
            "actor": "checkout",
        }  # fmt: skip

    def run(self, post: Callable[..., lastro.Posted], until: float) -> None:
        """Post, blocking."""
        while (began := time.perf_counter()) < until:
            outcome = post(**self.wanted())
            assert not outcome.replayed
            self.times.append(time.perf_counter() - began)

    async def run_async(self, post: Callable[..., Awaitable[lastro.Posted]], until: float) -> None:
        """Post, awaiting."""
        while (began := time.perf_counter()) < until:
            outcome = await post(**self.wanted())
            assert not outcome.replayed
            self.times.append(time.perf_counter() - began)


def post_in_threads(order: Order) -> Done:
    """Post from threads, through a batcher or one by one."""
    done = Done()
    callers = [Caller(order, number) for number in range(order.callers)]
    with lastro.connect(
        order.url, ledger=order.ledger, pool_max=order.callers if order.way == "threads" else 2
    ) as ledger:
        batcher = ledger.batching() if order.way == "batcher" else None
        post = ledger.post if batcher is None else batcher.post
        warm = Caller(order, -1)
        for _ in range(WARM_UP_POSTS):
            post(**warm.wanted())
        stop = listen(lambda _name, value, _labels: done.batches.append(value))
        begun, cpu = time.perf_counter(), time.process_time()
        until = begun + order.seconds
        threads = [threading.Thread(target=caller.run, args=(post, until)) for caller in callers]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        done.elapsed_s, done.cpu_s = time.perf_counter() - begun, time.process_time() - cpu
        stop()
        if batcher is not None:
            batcher.close()
    done.times = [spent for caller in callers for spent in caller.times]
    return done


async def post_in_tasks(order: Order) -> Done:
    """Post from tasks through a batcher, for a time or (with `posts`) so many times."""
    done = Done()
    callers = [Caller(order, number) for number in range(order.callers)]
    async with (
        await lastro.connect_async(order.url, ledger=order.ledger, pool_max=2) as ledger,
        ledger.batching() as batcher,
    ):
        warm = Caller(order, -1)
        for _ in range(WARM_UP_POSTS):
            await batcher.post(**warm.wanted())
        begun, cpu = time.perf_counter(), time.process_time()
        if order.posts is not None:
            await _post_so_many(batcher.post, callers, order.posts, done)
        else:
            stop = listen(lambda _name, value, _labels: done.batches.append(value))
            until = begun + order.seconds
            await asyncio.gather(*(caller.run_async(batcher.post, until) for caller in callers))
            stop()
        done.elapsed_s, done.cpu_s = time.perf_counter() - begun, time.process_time() - cpu
    done.times = [spent for caller in callers for spent in caller.times]
    return done


async def _post_so_many(
    post: Callable[..., Awaitable[lastro.Posted]], callers: list[Caller], posts: int, done: Done
) -> None:
    """Post a fixed number, noting the resident memory twenty times on the way and keeping nothing."""
    left = posts
    every = max(1, posts // MEMORY_SAMPLES)

    async def run(caller: Caller) -> None:
        nonlocal left
        while left > 0:
            left -= 1
            if left % every == 0:
                done.resident_kib.append(resident_kib())
            await post(**caller.wanted())

    await asyncio.gather(*map(run, callers))


def resident_kib(pid: int | str = "self") -> int:
    """The resident memory of a process, in KiB."""
    with open(f"/proc/{pid}/status", encoding="ascii") as status:  # noqa: PTH123 - no path is handled
        return next(int(line.split()[1]) for line in status if line.startswith("VmRSS:"))


def main() -> None:
    """Do what standard input orders."""
    order = Order(**json.load(sys.stdin))
    done = asyncio.run(post_in_tasks(order)) if order.way == "async_batcher" else post_in_threads(order)
    posts = len(done.times) if order.posts is None else order.posts
    times = sorted(done.times)
    json.dump(
        {
            "posts": posts,
            "per_s": posts / done.elapsed_s,
            "p50_ms": percentile(times, 0.5) * 1000,
            "p99_ms": percentile(times, 0.99) * 1000,
            "client_cpu_us": done.cpu_s / max(1, posts) * 1_000_000,
            "mean_batch": sum(done.batches) / len(done.batches) if done.batches else 1.0,
            "resident_kib": done.resident_kib,
        },
        sys.stdout,
    )


if __name__ == "__main__":
    main()
