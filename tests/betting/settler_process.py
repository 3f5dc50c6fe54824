"""
Settlers and placements that are killed in a gap of their own: `python -m tests.betting.settler_process URL LEDGER WHAT`.

For each gap (before each statement, and at last behind the first commit) a child process goes so far, says so, and is
killed by signal 9. The number of gaps is printed. WHAT is `settle` or `place`.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from typing import Any

import lastro
from lastro.plans.plan import Plan

GAPS_MAX = 60


class Killable:
    """An engine that runs so many statements and then waits to be killed."""

    def __init__(self, engine: Any, statements: int, pipe: int) -> None:
        self._engine, self._left, self._pipe = engine, statements, pipe
        self.dialect = engine.dialect

    def run(self, make: Callable[[], Plan[Any]], effect: Any) -> Any:
        """Run a plan up to the gap."""

        def counted() -> Plan[Any]:
            plan, answer = make(), None
            while True:
                try:
                    step = plan.send(answer)
                except StopIteration as done:
                    return done.value
                if self._left == 0:
                    self.wait()
                self._left -= 1
                answer = yield step  # type: ignore[assignment]

        return self._engine.run(counted, effect)

    def wait(self) -> None:
        """Say that the gap is reached, and wait for the end."""
        os.write(self._pipe, b"gap")
        signal.pause()


def child(url: str, name: str, what: str, gap: int, pipe: int) -> None:
    """Go as far as the gap; say `end` behind the first commit."""
    ledger = lastro.connect(url, ledger=name)
    betting = ledger.betting
    betting._engine = Killable(ledger._engine, gap, pipe)  # type: ignore[assignment]

    def end(bets: int = 0) -> bool:
        os.write(pipe, b"end")
        signal.pause()
        return bool(bets)

    if what == "settle":
        betting.settle(bets_max=2, after_batch=end)
    else:
        on = {"market": "match", "selection": "home", "odds": "2.05"}
        betting.place(key=f"killed:{gap}", account="ana", currency="BRL", stake=7, **on)
        end()


def main(url: str, name: str, what: str) -> None:
    """Kill a child in every gap that there is."""
    for gap in range(GAPS_MAX):
        reader, writer = os.pipe()
        pid = os.fork()
        if pid == 0:
            try:
                child(url, name, what, gap, writer)
            finally:
                os._exit(1)
        os.close(writer)
        said = os.read(reader, 3)
        os.close(reader)
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        if said != b"gap":
            print(gap)  # noqa: T201  (heard by the test)
            return
    raise SystemExit(f"more than {GAPS_MAX} gaps")


if __name__ == "__main__":
    main(*sys.argv[1:])
