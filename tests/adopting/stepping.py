"""The steps of an adoption by name, and the statement at which one of them is ended as by a kill."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from lastro import AdoptionReport, Ledger, OldColumn
from lastro.engine import mysql_driver, postgres, sqlite
from tests.support.stores import MARIADB, SQLITE

Step = Callable[[Ledger, OldColumn], AdoptionReport]

STEPS: dict[str, Step] = {
    "import": lambda ledger, column: ledger.adopting.import_rows(column),
    "shadow": lambda ledger, column: ledger.adopting.shadow(column.name),
    "cutover": lambda ledger, column: ledger.adopting.cut_over(column.name),
    "mirror": lambda ledger, column: ledger.adopting.mirror(column.name),
    "rollback": lambda ledger, column: ledger.adopting.roll_back(column.name),
}


class Killed(BaseException):
    """What no code catches: the process is gone, and the server rolls back what it had in hand."""


@contextmanager
def killed_at(store: str, statement: int, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """End the block before its statement of that number (from 0), whatever it is doing."""
    module, name = {SQLITE: (sqlite, "execute"), MARIADB: (mysql_driver, "send")}.get(store, (postgres, "execute"))
    send, left = getattr(module, name), statement

    def counted(*given: Any) -> Any:
        nonlocal left
        left -= 1
        if left == -1:
            raise Killed
        return send(*given)

    with monkeypatch.context() as patched:
        patched.setattr(module, name, counted)
        yield
