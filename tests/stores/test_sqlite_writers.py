"""Many writers on one SQLite file, in threads and in processes: one at a time, none twice, none starved."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from multiprocessing.synchronize import Barrier, Event
from pathlib import Path
from typing import Any

import pytest

import lastro
from lastro import InsufficientFunds, Ledger, Posted
from lastro.engine.sqlite_turns import Patience, Queue
from lastro.model.account import Keeping
from lastro.testing import assert_balanced
from tests.support.money import KEEPINGS, fund, posted, transfer
from tests.support.sessions import Background, together

LIMIT_MS = 60_000
JOIN_S = 90
SPENDERS = 12
PROCESSES = 4
PAYMENTS = 40
context = multiprocessing.get_context("spawn")


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


@pytest.fixture(params=KEEPINGS)
def keeping(request: pytest.FixtureRequest, ledger: Ledger) -> Keeping:
    """How `shop` is kept; it has 100 to spend."""
    kept: Keeping = request.param
    fund(ledger, "shop", 100, kept)
    fund(ledger, "seller", 0)
    return kept


@pytest.mark.case("C009")
def test_many_spenders_spend_what_is_there(ledger: Ledger, keeping: Keeping) -> None:
    """Of many payments of 30 at once from 100 three are covered; the others are refused with what is left."""
    del keeping
    answers = together(
        [partial(ledger.post, **transfer(f"pay:{number}", "shop", "seller", 30)) for number in range(SPENDERS)]
    )
    assert sum(isinstance(answer, Posted) for answer in answers) == 3
    assert {type(answer) for answer in answers} == {Posted, InsufficientFunds}
    assert (posted(ledger, "shop"), posted(ledger, "seller")) == (10, 90)


@pytest.mark.case("C016")
def test_many_at_once_make_one(ledger: Ledger, keeping: Keeping) -> None:
    """Of many identical requests at the same moment one creates the transfer and all others replay it."""
    del keeping
    answers = together([partial(ledger.post, **transfer("k", "shop", "seller", 100))] * SPENDERS)
    outcomes = [answer for answer in answers if isinstance(answer, Posted)]
    assert len(outcomes) == SPENDERS, answers
    assert [outcome.replayed for outcome in outcomes].count(False) == 1
    assert len({(outcome.transfer.id, outcome.transfer.recorded_at) for outcome in outcomes}) == 1


def in_a_process(url: str, number: int, together: Barrier, told: Any, work: Callable[[Ledger, int], Any]) -> None:
    """Do *work* on a ledger of the process's own, at the same moment as the others; tell the outcome."""
    try:
        with lastro.connect(url, lock_timeout_ms=LIMIT_MS) as ledger:
            ledger.balance("shop", "BRL")
            together.wait(JOIN_S)
            told.put((number, work(ledger, number)))
    except BaseException as error:  # noqa: BLE001  (the parent must hear it)
        told.put((number, repr(error)))


def processes(url: str, work: Callable[[Ledger, int], Any]) -> list[Any]:
    """Do *work* in several processes at once; return what each tells, in their order."""
    barrier, told = context.Barrier(PROCESSES), context.Queue()
    running = [
        context.Process(target=in_a_process, args=(url, number, barrier, told, work), daemon=True)
        for number in range(PROCESSES)
    ]
    for process in running:
        process.start()
    answers = dict(told.get(timeout=JOIN_S) for _ in running)
    for process in running:
        process.join(JOIN_S)
    return [answers[number] for number in range(PROCESSES)]


def spend(ledger: Ledger, number: int) -> list[tuple[bool, float]]:
    """Many payments of 1, the same keys in every process; whether each was created here, and the seconds it took."""
    del number
    done = []
    for payment in range(PAYMENTS):
        begun = time.monotonic()
        outcome = ledger.post(**transfer(f"pay:{payment}", "shop", "seller", 1))
        done.append((not outcome.replayed, time.monotonic() - begun))
    return done


def drain(ledger: Ledger, number: int) -> int:
    """Pay 7 at a time until nothing is left; how often it was covered."""
    for payment in range(PAYMENTS):
        try:
            ledger.post(**transfer(f"pay:{number}:{payment}", "shop", "seller", 7))
        except InsufficientFunds:
            return payment
    raise AssertionError("the shop never ran dry")


@pytest.mark.req("0.2")
@pytest.mark.req("1.4")
@pytest.mark.case("C010")
@pytest.mark.case("C016")
def test_processes_with_the_same_keys_post_each_once(ledger: Ledger, url: str, keeping: Keeping) -> None:
    """Processes that post the same payments at once create each exactly once between them."""
    del keeping
    created = [created for answer in processes(url, spend) for created, _ in answer]
    assert (created.count(True), created.count(False)) == (PAYMENTS, PAYMENTS * (PROCESSES - 1))
    assert (posted(ledger, "shop"), posted(ledger, "seller")) == (100 - PAYMENTS, PAYMENTS)


@pytest.mark.req("0.3")
@pytest.mark.req("1.6")
@pytest.mark.case("C010")
def test_processes_never_spend_the_same_money(ledger: Ledger, url: str, keeping: Keeping) -> None:
    """Processes that drain one account at once take what is there and not a cent more."""
    del keeping
    assert sum(processes(url, drain)) == 100 // 7
    assert posted(ledger, "shop") == 100 % 7


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
    slowest = max(took for answer in processes(url, spend) for _, took in answer)
    assert slowest < (time.monotonic() - begun) / 2
