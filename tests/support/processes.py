"""
The same work in several processes at the same moment, each with a ledger of its own: no memory is shared between them.
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable
from multiprocessing.synchronize import Barrier
from typing import Any

import lastro
from lastro import Ledger
from tests.support.stores import LOCK_TIMEOUT_MS

JOIN_S = 90.0
PROCESSES = 4
context = multiprocessing.get_context("spawn")

Work = Callable[[Ledger, int], Any]


def _work(  # noqa: PLR0917  (a process takes them by position)
    url: str, name: str, number: int, together: Barrier, told: Any, work: Work
) -> None:
    try:
        with lastro.connect(url, ledger=name, lock_timeout_ms=LOCK_TIMEOUT_MS) as ledger:
            ledger.balance("shop", "BRL")
            together.wait(JOIN_S)
            told.put((number, work(ledger, number)))
    except BaseException as error:  # noqa: BLE001  (the parent must hear it)
        told.put((number, repr(error)))


def in_processes(url: str, name: str, work: Work) -> list[Any]:
    """Do *work*, a function of a module, in several processes at once; return what each tells, in their order."""
    barrier, told = context.Barrier(PROCESSES), context.Queue()
    running = [
        context.Process(target=_work, args=(url, name, number, barrier, told, work), daemon=True)
        for number in range(PROCESSES)
    ]
    for process in running:
        process.start()
    answers = dict(told.get(timeout=JOIN_S) for _ in running)
    for process in running:
        process.join(JOIN_S)
    return [answers[number] for number in range(PROCESSES)]
