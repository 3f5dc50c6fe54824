"""An application in the middle of an adoption: payments that ask for the phase, and what they come to."""

from __future__ import annotations

import random
import threading
from contextlib import closing
from typing import Any

from lastro import Fault, Ledger
from tests.adopting.old_table import OldTable
from tests.support.sessions import PATIENCE_S, Background
from tests.support.stores import connected, transaction

TRIES_MAX = 200


def pay(ledger: Ledger, table: OldTable, connection: Any, *, giver: int, taker: int, amount: int, key: str) -> str:
    """Move money between two customers as the phase wants it; return the phase."""
    with transaction(connection):
        held = ledger.within(connection)
        phase = held.adopting.phase(table.column.name)
        if phase != "ledger":
            for number in sorted((giver, taker)):
                table.change(number, amount if number == taker else -amount, connection)
        if phase != "importing":
            held.post(
                key=key, kind="payment", debit=f"customer:{giver}", credit=f"customer:{taker}", amount=amount,
                currency="BRL",
            )  # fmt: skip
    return phase


class Traffic:
    """Threads that pay, each again where a lock or a serialization was lost, until `stop()`; what was done is counted."""

    def __init__(self, ledger: Ledger, table: OldTable, *, customers: int, threads: int) -> None:
        self._ledger, self._table, self._customers = ledger, table, customers
        self._stop, self._news = threading.Event(), threading.Condition()
        self.moved = dict.fromkeys(range(1, customers + 1), 0)
        self.phases: dict[str, int] = {}
        self._running = [Background(lambda n=number: self._pay(n)) for number in range(threads)]  # type: ignore[misc]

    def _pay(self, thread: int) -> None:
        choice = random.Random(thread)
        with closing(connected(self._table.url)) as connection:
            for number in range(1_000_000):
                if self._stop.is_set():
                    return
                giver, taker = choice.sample(range(1, self._customers + 1), 2)
                amount = choice.randint(1, 9)
                phase = self._until_done(connection, giver, taker, amount, f"{thread}:{number}")
                with self._news:
                    self.moved[giver] -= amount
                    self.moved[taker] += amount
                    self.phases[phase] = self.phases.get(phase, 0) + 1
                    self._news.notify_all()

    def _until_done(self, connection: Any, giver: int, taker: int, amount: int, key: str) -> str:
        for tries_left in reversed(range(TRIES_MAX)):
            try:
                return pay(self._ledger, self._table, connection, giver=giver, taker=taker, amount=amount, key=key)
            except Fault:
                if not tries_left:
                    raise
        raise AssertionError("the last try returns or raises")

    def more(self, payments: int, phase: str) -> None:
        """Wait until so many more payments were made in a phase."""
        with self._news:
            target = self.phases.get(phase, 0) + payments
            there = self._news.wait_for(
                lambda: self.phases.get(phase, 0) >= target or any(one.done for one in self._running), PATIENCE_S
            )
        assert there, f"no {payments} payments in the phase {phase}: {self.phases}"
        for one in self._running:
            assert not one.done, one.error()

    def stop(self) -> None:
        """End the payments; raise what went wrong in one."""
        self._stop.set()
        for one in self._running:
            one.result()
