"""
Clients of one store, each a process with one connection: `python -m bench.store_client`, its order as JSON on standard
input, what they did as JSON out.

Processes and not threads: what is compared is the store and the driver, and not who gets Python's lock.
"""

from __future__ import annotations

import json
import multiprocessing
import random
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import lastro
from bench.client import AMOUNT_MAX, KEY_BITS, WARM_UP_POSTS
from bench.loads import percentile
from bench.store_tables import Row, Write, mariadb_floor, mariadb_limit, mariadb_naive, sqlite_floor, sqlite_limit

# A client that dies before the start must not leave the others waiting.
START_WITHIN_S = 60
SAMPLES_MAX = 5_000
WRITES: dict[str, Callable[[str], Write]] = {
    "mariadb limit": mariadb_limit,
    "mariadb floor": mariadb_floor,
    "mariadb naive": mariadb_naive,
    "sqlite limit": sqlite_limit,
    "sqlite floor": sqlite_floor,
}


@dataclass
class Order:
    """What the clients are asked to do: `post` to the accounts in turn, or one of WRITES."""

    what: str
    url: str
    ledger: str
    accounts: list[str]
    currency: str
    clients: int
    seconds: float
    seed: int


def poster(order: Order, draw: random.Random) -> tuple[lastro.Ledger, Callable[[], object]]:
    """Posts as a checkout makes them, each to an account drawn anew; after the first of each the ledger knows them."""
    ledger = lastro.connect(order.url, ledger=order.ledger, pool_max=1)

    def post(account: str | None = None) -> None:
        drawn = draw.getrandbits(KEY_BITS)
        cause = f"order:{drawn & 0xFFFFFFFF}"
        outcome = ledger.post(
            key=f"{drawn:032x}", kind="commission", debit="world", credit=account or draw.choice(order.accounts),
            amount=1 + drawn % AMOUNT_MAX, currency=order.currency, cause=cause, source=cause, actor="checkout",
        )  # fmt: skip
        assert not outcome.replayed

    for account in order.accounts:
        post(account)
    return ledger, post


def writer(order: Order, draw: random.Random) -> Callable[[], object]:
    """Rows of random keys and amounts."""
    write = WRITES[order.what](order.url)

    def one() -> None:
        drawn = draw.getrandbits(KEY_BITS)
        write(Row(1 + drawn % AMOUNT_MAX, f"{drawn:032x}"))

    return one


def run(order: Order, number: int, started: Any, answers: Any) -> None:
    """One client: warm up, wait for the others, work until the time is over."""
    draw = random.Random(f"{order.seed}:{number}")
    ledger, work = poster(order, draw) if order.what == "post" else (None, writer(order, draw))
    for _ in range(WARM_UP_POSTS):
        work()
    started.wait(START_WITHIN_S)
    cpu, begun = time.process_time(), time.perf_counter()
    until, times = begun + order.seconds, []
    while (began := time.perf_counter()) < until:
        work()
        times.append(time.perf_counter() - began)
    elapsed, spent = time.perf_counter() - begun, time.process_time() - cpu
    if ledger is not None:
        ledger.close()
    sampled = times if len(times) <= SAMPLES_MAX else draw.sample(times, SAMPLES_MAX)
    answers.put((len(times), elapsed, spent, sampled))


def main() -> None:
    """Do what standard input orders."""
    order = Order(**json.load(sys.stdin))
    # What is imported by now needn't be imported by each of them.
    forking = multiprocessing.get_context("fork")
    started, answers = forking.Barrier(order.clients), forking.Queue()
    clients = [
        forking.Process(target=run, args=(order, number, started, answers), daemon=True)
        for number in range(order.clients)
    ]
    for client in clients:
        client.start()
    done = [answers.get(timeout=START_WITHIN_S + order.seconds) for _ in clients]
    for client in clients:
        client.join()
    count = sum(one[0] for one in done)
    times = sorted(spent for one in done for spent in one[3])
    json.dump(
        {
            "count": count,
            "warmed": order.clients * (WARM_UP_POSTS + len(order.accounts)),
            "per_s": sum(one[0] / one[1] for one in done),
            "p50_ms": percentile(times, 0.5) * 1000,
            "p99_ms": percentile(times, 0.99) * 1000,
            "client_cpu_us": sum(one[2] for one in done) / max(1, count) * 1_000_000,
        },
        sys.stdout,
    )


if __name__ == "__main__":
    main()
