"""
An expirer that stops where a test may kill it: `python -m tests.points.expirer_process URL LEDGER NOW WHERE`.

WHERE is `between` (a batch is committed) or `middle` (a batch is written and not committed). It says so and waits for a
line on its standard input.
"""

from __future__ import annotations

import contextlib
import subprocess
import sys
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import lastro
from lastro.plans.course import Act
from lastro.plans.plan import Effect, Plan
from lastro.points.expiring import Batch, expire, expire_batch
from lastro.testing import Clock

ROOT = Path(__file__).resolve().parents[2]
LOTS_MAX = 20


def say_and_wait(word: str) -> None:
    """Tell the test, and go on when it says so."""
    print(word, flush=True)  # noqa: T201  (heard by the test)
    sys.stdin.readline()


def main(url: str, name: str, now: str, where: str) -> None:
    """Expire until nothing is due, stopping at every batch."""
    with lastro.connect(url, ledger=name, clock=Clock(datetime.fromisoformat(now))) as ledger:
        terms = ledger._operations.terms()

        def between(lots: int) -> bool:
            say_and_wait(f"batch {lots}")
            return True

        def in_the_middle(after: object) -> Plan[Batch]:
            batch = yield from expire_batch(terms, after=after, lots_max=LOTS_MAX)  # type: ignore[arg-type]
            say_and_wait(f"batch {batch.lots}")
            return batch

        if where == "between":
            ledger._walk(expire(terms, lots_max=LOTS_MAX, after_batch=between))
        else:
            act = Act(lambda: in_the_middle(None), Effect.KEYED)
            while ledger._act(act).lots:
                pass
    print("done", flush=True)  # noqa: T201  (heard by the test)


@contextlib.contextmanager
def expirer(url: str, name: str, now: datetime, where: str) -> Iterator[subprocess.Popen[str]]:
    """Run an expirer in a process of its own; it is killed at the end of the block if it still runs."""
    command = [sys.executable, "-m", "tests.points.expirer_process", url, name, now.isoformat(), where]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


if __name__ == "__main__":
    main(*sys.argv[1:])
