"""
A step of an adoption in a process of its own that kills itself, as `kill -9` would, before a statement of its choosing.

`python -m tests.adopting.adopting_process URL LEDGER DECLARATION STEP STATEMENTS`
"""

from __future__ import annotations

import os
import signal
import sys
from typing import Any

import lastro
from lastro.adopting import importing
from lastro.adopting.declaration import from_json
from lastro.engine import postgres
from tests.adopting.stepping import STEPS

ROWS_A_TRANSACTION = 200


def main(url: str, name: str, declaration: str, step: str, statements: str) -> None:
    """Do the step, until so many statements were sent."""
    left, execute = int(statements), postgres.execute
    # Several transactions, also in a small table.
    importing.ADOPTION_IMPORT_ROWS_MAX = ROWS_A_TRANSACTION

    def counted(*given: Any) -> Any:
        nonlocal left
        left -= 1
        if left < 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return execute(*given)

    with lastro.connect(url, ledger=name) as ledger:
        ledger.partitions()
        postgres.execute = counted
        STEPS[step](ledger, from_json(declaration))


if __name__ == "__main__":
    main(*sys.argv[1:])
