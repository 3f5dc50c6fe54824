"""
A relay in a process of its own that may be killed at any step of its work.

`python -m tests.relaying.relay_process URL SCHEMA FILE SEED STEPS`: it kills itself, as `kill -9` would, before a random
one of the next STEPS steps: a statement, an event that is written to FILE, or the one behind it. It ends when nothing
waits any more.
"""

from __future__ import annotations

import os
import random
import signal
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import lastro
from lastro.plans import relaying
from lastro.plans.relaying import RelayTerms
from lastro.relaying import Outcome, Outgoing, Relay
from tests.relaying.taking import TakingToFile

# A dead relay's lane is free again after so long.
LEASE_MS, PUBLISH_MS = 200, 50
PAUSE_S = 0.02


class Mortal(TakingToFile):
    """Counts down before and behind each event."""

    def __init__(self, path: Path, steps: int) -> None:
        super().__init__(path)
        self._left = steps

    def count_down(self) -> None:
        """Die at zero."""
        self._left -= 1
        if self._left == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    def publish(self, events: Sequence[Outgoing], *, timeout_ms: int) -> list[Outcome]:
        """Write the events one by one."""
        outcomes: list[Outcome] = []
        for event in events:
            self.count_down()
            outcomes += super().publish([event], timeout_ms=timeout_ms)
        self.count_down()
        return outcomes


def main(url: str, schema: str, path: str, seed: str, steps: str) -> None:
    """Relay until nothing waits, or until the chosen moment."""
    target = Mortal(Path(path), random.Random(int(seed)).randint(1, int(steps)))
    plain = relaying.step

    def step(statement: str, **params: Any) -> Any:
        target.count_down()
        return plain(statement, **params)

    relaying.step = step  # type: ignore[assignment]
    terms = RelayTerms(lease_ms=LEASE_MS, events_max=7)
    with lastro.connect(url, ledger=schema) as ledger:
        relay = Relay(ledger, target, terms=terms, publish_timeout_ms=PUBLISH_MS)
        waiting = threading.Event()
        while ledger.outbox.standing().waiting:
            if not relay.run_once().published:
                # Not for order: whoever died still holds its lane for a moment.
                waiting.wait(PAUSE_S)


if __name__ == "__main__":
    main(*sys.argv[1:])
