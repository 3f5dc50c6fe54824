"""Sliced counters count exactly, however many bump them at once."""

from __future__ import annotations

from functools import partial

import pytest

from lastro import Ledger
from tests.support.sessions import Sessions, together
from tests.support.stores import SQLITE, in_every_callers_transaction, rows_of

THREADS = 16
BUMPS = 40


@in_every_callers_transaction
@pytest.mark.req("0.8")
def test_sixteen_threads(ledger: Ledger, session: Sessions, store: str, store_url: str) -> None:
    """Every bump that commits counts and none that rolls back does; the value is spread over at most 16 slices."""

    def bump(number: int) -> None:
        caller = session()
        for turn in range(BUMPS):
            ledger.within(caller).bump("orders", 1 + turn % 2)
            caller.rollback() if turn % 4 == 3 else caller.commit()

    assert together([partial(bump, number) for number in range(THREADS)]) == [None] * THREADS
    kept = sum(1 + turn % 2 for turn in range(BUMPS) if turn % 4 != 3)
    assert ledger.count("orders") == THREADS * kept
    ((slices, lowest, highest),) = rows_of(
        store_url, "SELECT count(*), min(slice), max(slice) FROM {s}counter", ledger._operations.ledger
    )
    # SQLite has one writer at a time, whom slices would not help.
    assert slices == 1 if store == SQLITE else 1 < slices <= 16
    assert 0 <= lowest <= highest < 16


@pytest.mark.req("0.8")
def test_a_bump_waits_for_no_bump_of_another_slice(ledger: Ledger, session: Sessions) -> None:
    """Two sessions of different slices bump one counter at once without waiting."""
    callers = [session() for _ in range(4)]
    slices = {caller.info.backend_pid % 16: caller for caller in callers}
    for caller in slices.values():
        caller.execute("SET LOCAL lock_timeout = '1ms'")
        ledger.within(caller).bump("orders")
    assert len(slices) > 1
    for caller in slices.values():
        caller.commit()
    assert ledger.count("orders") == len(slices)
