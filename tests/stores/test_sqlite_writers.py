"""Many writers on one SQLite file, in threads and in processes: one at a time, none twice, none starved."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from functools import partial
from multiprocessing.synchronize import Event
from pathlib import Path

import pytest

import lastro
from lastro import Ledger
from lastro.engine.sqlite_turns import Patience, Queue
from lastro.testing import assert_balanced
from tests.support.money import fund, posted, transfer
from tests.support.processes import JOIN_S, context, in_processes
from tests.support.sessions import Background

LIMIT_MS = 60_000
SPENDERS = 12
PAYMENTS = 40


@pytest.fixture
def url(tmp_path: Path) -> str:
    """A database file's URL."""
    return f"sqlite:///{tmp_path}/ledger.db"


@pytest.fixture
def ledger(url: str) -> Iterator[Ledger]:
    """A ledger on it, in order at the end."""
    with lastro.connect(url, lock_timeout_ms=LIMIT_MS) as ledger:
        ledger.migrate()
        yield ledger
        assert_balanced(ledger)


def spend(ledger: Ledger, number: int) -> list[float]:
    """Many payments of 1, the same keys in every process; the seconds that each took."""
    del number
    took = []
    for payment in range(PAYMENTS):
        begun = time.monotonic()
        ledger.post(**transfer(f"pay:{payment}", "shop", "seller", 1))
        took.append(time.monotonic() - begun)
    return took


def post_for_ever(url: str, begun: Event) -> None:
    """Post until somebody kills the process."""
    with lastro.connect(url, lock_timeout_ms=LIMIT_MS) as ledger:
        number = 0
        while True:
            number += 1
            ledger.post(**transfer(f"killed:{number}", "world", "shop", 2))
            ledger.post_many([transfer(f"killed:{number}:{part}", "shop", "seller", 1) for part in range(2)])
            begun.set()


@pytest.mark.req("0.1")
def test_a_writer_that_is_killed_leaves_whole_transactions(ledger: Ledger, url: str) -> None:
    """Whenever a process is killed, what it wrote is there as whole transactions, and others write on at once."""
    fund(ledger, "shop", 100)
    fund(ledger, "seller", 0, "hot")
    for number in range(3):
        begun = context.Event()
        process = context.Process(target=post_for_ever, args=(url, begun), daemon=True)
        process.start()
        assert begun.wait(JOIN_S)
        ledger.post(**transfer(f"meanwhile:{number}", "world", "shop", 1))
        assert process.pid is not None
        os.kill(process.pid, signal.SIGKILL)
        process.join(JOIN_S)
        ledger.post(**transfer(f"after:{number}", "world", "shop", 1))
        assert posted(ledger, "seller") % 2 == 0
        assert_balanced(ledger)


def test_the_queue_is_first_come_first_served() -> None:
    """Writers of a process get their turn in the order in which they came."""
    queue, order = Queue(), list[int]()

    def write(number: int) -> None:
        with queue.turn(Patience(LIMIT_MS)):
            order.append(number)

    with queue.turn(Patience(LIMIT_MS)):
        waiting = []
        for number in range(SPENDERS):
            waiting.append(Background(partial(write, number)))
            while len(queue._waiting) <= number:
                threading.Event().wait(0.001)
    for background in waiting:
        background.result()
    assert order == list(range(SPENDERS))


@pytest.mark.case("C020")
def test_a_turn_that_is_too_late_is_given_up() -> None:
    """Who has waited long enough hears LockTimeout, and takes nobody's turn away."""
    queue = Queue()

    def write() -> str:
        with queue.turn(Patience(20)):
            return "written"

    with queue.turn(Patience(LIMIT_MS)), pytest.raises(lastro.LockTimeout, match="within 20 ms"):
        Background(write).result()
    assert write() == "written"


def test_nobody_starves(ledger: Ledger, url: str) -> None:
    """Among processes that write without a pause no single posting waits for as long as all of them take together."""
    fund(ledger, "shop", 1_000)
    fund(ledger, "seller", 0)
    begun = time.monotonic()
    slowest = max(took for answer in in_processes(url, "lastro", spend) for took in answer)
    assert slowest < (time.monotonic() - begun) / 2
