"""
Client processes that post and keep a log until they are killed: `python -m tests.support.clients ROLE URL LEDGER …`.
"""

from __future__ import annotations

import contextlib
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from itertools import count
from pathlib import Path
from typing import Any

import lastro
from lastro import Ledger, SerializationLost
from lastro.plans.ticking import consolidate
from tests.support.acknowledged import ClientLog, Wanted, acked
from tests.support.money import transfer
from tests.support.sessions import PATIENCE_S, Observer
from tests.support.stores import connected, pid_of, transaction

ROOT = Path(__file__).resolve().parents[2]
FOLD_ROWS_MAX = 7
TRIES_MAX = 50
# So that a kill often comes while the caller's transaction is open.
WORK_OF_THEIR_OWN_S = 0.002
ACCOUNTS = ("platform", "ada", "ben", "sum")


def post_for_ever(url: str, ledger_name: str, directory: str, name: str) -> None:
    """Post one by one, in batches, and in transactions of the caller's with work of their own, until killed."""
    log, choice = ClientLog(Path(directory), name), random.Random(name)
    with lastro.connect(url, ledger=ledger_name) as ledger, closing(connected(url)) as connection:
        for number in count():
            wanted = [
                Wanted(f"client:{name}:{number}:{part}", *_sides(choice), choice.randint(1, 9))
                for part in range(choice.randint(1, 4))
            ]
            log.intends(*wanted)
            bodies = [transfer(*one) for one in wanted]
            if number % 3 == 0:
                for body, one in zip(bodies, wanted, strict=True):
                    ledger.post(**body)
                    log.heard(one)
            elif number % 3 == 1:
                ledger.post_many(bodies)
                log.heard(*wanted)
            else:
                _until_not_lost(lambda bodies=bodies: _within(ledger, connection, name, bodies))  # type: ignore[misc]
                log.heard(*wanted)


def _within(ledger: Ledger, connection: Any, name: str, bodies: list[dict[str, Any]]) -> None:
    with transaction(connection):
        ledger.within(connection).bump(f"client:{name}")
        ledger.within(connection).post_many(bodies)
        time.sleep(WORK_OF_THEIR_OWN_S)


def _until_not_lost(work: Callable[[], None]) -> None:
    # In a caller's REPEATABLE READ a circle of waits may be broken at our cost; the application begins again.
    for _ in range(TRIES_MAX):
        try:
            return work()
        except SerializationLost:
            continue
    raise AssertionError(f"lost {TRIES_MAX} times in a row")


def consolidate_for_ever(url: str, ledger_name: str) -> None:
    """Fold in small batches, over and over, until killed."""
    with lastro.connect(url, ledger=ledger_name) as ledger:
        print("ready", flush=True)  # noqa: T201  (heard by the test)
        while True:
            ledger._walk(consolidate(rows_max=FOLD_ROWS_MAX, now=None))


def hold_a_batch(url: str, ledger_name: str, account_id: str) -> None:
    """Take a batch out of the tail, say so, and never commit."""
    from lastro.plans.consolidating import fold
    from lastro.plans.plan import Effect

    with lastro.connect(url, ledger=ledger_name) as ledger, closing(connected(url)) as connection:
        held = ledger.within(connection)
        rows = held._engine.run(lambda: fold(int(account_id), rows_max=FOLD_ROWS_MAX, now=None), Effect.KEYED)
        print("holding", rows, pid_of(connection), flush=True)  # noqa: T201  (heard by the test)
        signal.pause()


def _sides(choice: random.Random) -> tuple[str, str]:
    debit, credit = choice.sample(ACCOUNTS, 2)
    return ("world", credit) if choice.random() < 0.5 else (debit, credit)


@contextlib.contextmanager
def client(role: str, *arguments: object) -> Iterator[subprocess.Popen[str]]:
    """Run a client process; it is killed at the end of the block if it still runs."""
    command = [sys.executable, "-m", "tests.support.clients", role, *map(str, arguments)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def until_acked(observer: Observer, directory: Path, more: int) -> None:
    """Return once so many more postings were acknowledged."""
    target = len(acked(directory)) + more
    observer.until(lambda: len(acked(directory)) >= target, f"{more} acknowledgements")


def until_gone(observer: Observer, pids: set[int]) -> None:
    """Return once the server has ended the sessions of killed clients."""
    observer.until(lambda: not pids & observer.sessions(), f"the sessions {pids} to end within {PATIENCE_S} s")


ROLES = {"post": post_for_ever, "consolidate": consolidate_for_ever, "hold": hold_a_batch}

if __name__ == "__main__":
    ROLES[sys.argv[1]](*sys.argv[2:])  # type: ignore[operator]
