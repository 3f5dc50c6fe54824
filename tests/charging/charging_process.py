"""
A charger in a process of its own that may be killed between a charge and its commit, or right behind the commit.

`python -m tests.charging.charging_process URL SCHEMA NOW SEED CHARGES`: it kills itself, as `kill -9` would, at a random
one of the next CHARGES charges; without a charge left it ends well.
"""

from __future__ import annotations

import os
import random
import signal
import sys
from datetime import datetime

import lastro
from lastro.charging import Charger
from tests.charging.tables import TableJobs


def main(url: str, schema: str, now: str, seed: str, charges: str) -> None:
    """Charge until nothing is due, or until the chosen moment."""
    choice = random.Random(int(seed))
    left, behind_the_commit = choice.randint(1, int(charges)), choice.random() < 1 / 3
    table = TableJobs(url, schema, datetime.fromisoformat(now))

    def count_down(job: object) -> None:
        nonlocal left
        del job
        left -= 1
        if left == 0 and not behind_the_commit:
            os.kill(os.getpid(), signal.SIGKILL)

    def committed() -> None:
        if left == 0 and behind_the_commit:
            os.kill(os.getpid(), signal.SIGKILL)

    table.before_commit, table.after_commit = count_down, committed
    with lastro.connect(url, ledger=schema) as ledger:
        charger = Charger(ledger, table)
        while charger.run_once().figures:
            pass


if __name__ == "__main__":
    main(*sys.argv[1:])
