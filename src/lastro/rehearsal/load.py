"""
Clients of a marketplace under load: threads that check out, in an open loop by the clock or as fast as it goes.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import psycopg

import lastro
from lastro.rehearsal.cast import Line
from lastro.rehearsal.marketplace import Order, Shop, check_out
from lastro.rehearsal.order_rows import make_rows, orders_of
from lastro.rehearsal.stage import Stage
from lastro.rehearsal.verdict import LATE_MS

ORDER_SHAPES = 2_000
MS = 1_000


class Arrival(NamedTuple):
    """
    A checkout that is to start `due_s` seconds after the beginning, whatever became of those before it.
    """

    due_s: float
    order: Order


@dataclass
class LoadFacts:
    """
    What the clients of one process saw. `latencies_ms` from the intended start; errors counted by their code.
    """

    latencies_ms: list[float] = field(default_factory=list)
    errors: dict[str, int] = field(default_factory=dict)
    lost_tries: int = 0
    started_late: int = 0
    waited_for_a_client: int = 0
    ended_s: float = 0.0


def order_shapes(seed: int) -> list[Order]:
    """Return the orders that load is made of; each arrival takes one under an id of its own."""
    return orders_of(make_rows(ORDER_SHAPES, seed=seed))


def arrivals_of(times_s: Sequence[float], shapes: Sequence[Order]) -> list[Arrival]:
    """Return one arrival a moment, each with an order of its own."""
    return [
        Arrival(due_s, shapes[number % len(shapes)]._replace(id=f"arrival-{number}"))
        for number, due_s in enumerate(times_s)
    ]


def drive_open_loop(line: Line, stage: Stage, arrivals: Sequence[Arrival], clients: int) -> LoadFacts:
    """
    Start each arrival when it is due, or when a client is free again: its latency counts from when it was due.
    """
    facts, queue, mutex = LoadFacts(), iter(arrivals), threading.Lock()

    def be_client(shop: Shop, connection: psycopg.Connection[Any]) -> None:
        while True:
            with mutex:
                arrival = next(queue, None)
            if arrival is None:
                return
            early_s = began + arrival.due_s - time.monotonic()
            if early_s > 0:
                time.sleep(early_s)
            late_ms = (time.monotonic() - began - arrival.due_s) * MS
            lost, error, connection = _attempt(stage, shop, connection, arrival.order)
            ended_s = time.monotonic() - began
            with mutex:
                facts.started_late += early_s > 0 and late_ms > LATE_MS
                facts.waited_for_a_client += early_s <= 0
                facts.lost_tries += lost
                facts.ended_s = max(facts.ended_s, ended_s)
                if error is None:
                    facts.latencies_ms.append((ended_s - arrival.due_s) * MS)
                else:
                    facts.errors[error] = facts.errors.get(error, 0) + 1

    with ExitStack() as held:
        shop = held.enter_context(stage.open_shop())
        connections = [held.enter_context(stage.connect()) for _ in range(clients)]
        line.wait_for_start()
        began = time.monotonic()
        _run_threads(be_client, shop, connections)
    return facts


def drive_closed_loop(
    line: Line,
    stage: Stage,
    shapes: Sequence[Order],
    *,
    name: str,
    clients: int,
    warm_up_s: float,
    seconds: float,
    with_ledger: bool,
) -> int:
    """
    Check out as fast as it goes, each client the next as soon as it is through; return how many were done in *seconds*.

    Any failure is raised: a rate with failures in it would be a rate of something else.
    """
    done = [0]
    failures: list[str] = []
    mutex = threading.Lock()
    numbers = _numbers()

    def be_client(shop: Shop, connection: psycopg.Connection[Any]) -> None:
        while time.monotonic() < began + warm_up_s + seconds and not failures:
            with mutex:
                number = next(numbers)
            order = shapes[number % len(shapes)]._replace(id=f"{name}-{number}")
            _, error, connection = _attempt(stage, shop, connection, order)
            in_time = warm_up_s <= time.monotonic() - began < warm_up_s + seconds
            with mutex:
                done[0] += in_time and error is None
                if error is not None:
                    failures.append(error)

    with ExitStack() as held:
        shop = held.enter_context(stage.open_shop(with_ledger=with_ledger))
        connections = [held.enter_context(stage.connect()) for _ in range(clients)]
        line.wait_for_start()
        began = time.monotonic()
        _run_threads(be_client, shop, connections)
    if failures:
        raise lastro.ServerUnavailable(f"{len(failures)} checkouts failed: {', '.join(sorted(set(failures)))}")
    return done[0]


def _attempt(
    stage: Stage, shop: Shop, connection: psycopg.Connection[Any], order: Order
) -> tuple[int, str | None, psycopg.Connection[Any]]:
    """Check out once; the lost tries, the error's code if it failed, and the connection to go on with."""
    try:
        return check_out(connection, shop, order).lost_tries, None, connection
    except lastro.LastroError as error:
        code = error.code
    except psycopg.Error as error:
        code = error.sqlstate or "connection_lost"
    if connection.closed:
        try:
            connection = stage.connect()
        except psycopg.Error:
            code = "connection_lost"
    return 0, code, connection


def _run_threads(
    body: Callable[[Shop, psycopg.Connection[Any]], None], shop: Shop, connections: Sequence[psycopg.Connection[Any]]
) -> None:
    threads = [threading.Thread(target=body, args=(shop, connection)) for connection in connections]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def _numbers() -> Iterator[int]:
    number = 0
    while True:
        yield number
        number += 1
