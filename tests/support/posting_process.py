"""
A process of its own that posts until it is told to stop, for tests in which one process's memory must not matter.
"""

from __future__ import annotations

import multiprocessing
from multiprocessing.synchronize import Event
from typing import Any

import lastro
from tests.support.money import transfer

JOIN_S = 60.0


def post_until(*, url: str, name: str, account: str, started: Event, stop: Event, told: Any) -> None:
    """Credit 3 and debit 1 in turn until *stop*; tell what was acknowledged, or what went wrong."""
    acked = number = 0
    try:
        with lastro.connect(url, ledger=name) as ledger:
            while not stop.is_set() or number == 0:
                number += 1
                ledger.post(**transfer(f"process:in:{number}", "world", account, 3))
                acked += 3
                ledger.post(**transfer(f"process:out:{number}", account, "world", 1))
                acked -= 1
                started.set()
        told.put((acked, None))
    except BaseException as error:  # noqa: BLE001  (the parent must hear it)
        told.put((acked, repr(error)))
    finally:
        started.set()


class PostingProcess:
    """One such process. `acked()` ends it and returns what its postings, all acknowledged, add up to."""

    def __init__(self, url: str, name: str, account: str) -> None:
        context = multiprocessing.get_context("spawn")
        started, self._stop, self._told = context.Event(), context.Event(), context.Queue()
        self._process = context.Process(
            target=post_until,
            kwargs={
                "url": url,
                "name": name,
                "account": account,
                "started": started,
                "stop": self._stop,
                "told": self._told,
            },
            daemon=True,
        )
        self._process.start()
        assert started.wait(JOIN_S), "the process didn't begin to post"

    def acked(self) -> int:
        """End the process; return the sum of what it posted, or raise what went wrong there."""
        self._stop.set()
        acked, wrong = self._told.get(timeout=JOIN_S)
        self._process.join(JOIN_S)
        assert wrong is None, wrong
        assert isinstance(acked, int)
        return acked
