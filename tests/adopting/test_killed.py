"""A step that is killed anywhere leaves the adoption as it was or as it is to be, and goes on when it is asked for again."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

from lastro import Ledger
from lastro.adopting import importing
from lastro.adopting.declaration import to_json
from lastro.testing import assert_balanced
from tests.adopting.old_table import OldTable, said
from tests.adopting.stepping import STEPS, Killed, killed_at
from tests.house.checkout import ROOT
from tests.support.stores import MARIADB, on_every_store

pytestmark = [pytest.mark.case("C001"), pytest.mark.case("C038")]

ROWS, BATCH = 5, 2
STATEMENTS_MAX, TIMEOUT_S = 300, 60
KILLED_IMPORTS = (20, 45)
KILLED_SWITCHES = (6, 11)


def check(ledger: Ledger, table: OldTable, step: str) -> None:
    """Whatever was going on: every account has one opening, the column is writable by whose truth it is, nothing is lost."""
    names = ledger.adopting.names()
    phase = ledger.adopting.status("users").phase if names else None
    held, posted = table.balances(), said(ledger)
    assert {number: held[number] for number in posted} == posted or step in {"mirror", "rollback"}
    for number in posted:
        assert [entry.kind for entry in ledger.entries(f"customer:{number}", "BRL")].count("opening") == 1
    try:
        table.run(f"UPDATE {table.name} SET {table.balance} = {table.balance} + 1 WHERE {table.id} = 1")
        written = True
        table.change(1, -1)
    except Exception as error:  # noqa: BLE001  (each driver's own)
        assert "taken over" in str(error)  # noqa: PT017
        written = False
    assert written == (phase != "ledger")


@on_every_store
def test_killed_before_each_statement(
    ledger: Ledger, store: str, store_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From the import to the roll-back, each step killed before its first statement, its second, and so on to its end."""
    monkeypatch.setattr(importing, "ADOPTION_IMPORT_ROWS_MAX", BATCH)
    table, kills = OldTable(ledger, store_url), 0
    table.add({number: 100 * number for number in range(1, ROWS + 1)})
    # What is asked once, of the schema, isn't a statement of a step.
    ledger.accounts()
    for name in ("import", "shadow", "cutover", "mirror", "rollback"):
        if name == "cutover":
            ledger.adopting.compare("users")
        if name in {"mirror", "rollback"}:
            ledger.credit("customer:3", "BRL", amount=1, key=name)
        # MariaDB's tests take long enough: every third.
        for statement in range(0, STATEMENTS_MAX, 3 if store == MARIADB else 1):
            try:
                with killed_at(store, statement, monkeypatch):
                    STEPS[name](ledger, table.column)
            except Killed:
                kills += 1
                check(ledger, table, name)
            else:
                break
        else:
            raise AssertionError(f"{name} never ended")
        check(ledger, table, "")
    assert said(ledger) == table.balances() == {1: 100, 2: 200, 3: 302, 4: 400, 5: 500}
    assert not ledger.adopting.status("users").guarded
    assert_balanced(ledger)
    assert kills > 30
    print(f"{kills} kills, nothing lost and nothing twice")  # noqa: T201


def test_killed_for_good(ledger: Ledger, store_url: str) -> None:
    """Kill -9 between the batches of an import and within a cut-over, each started again until it ends well."""
    table = OldTable(ledger, store_url)
    table.add({number: 100 * number for number in range(1, 451)})
    ends = [run(ledger, table, "import", statements) for statements in (*KILLED_IMPORTS, 10_000)]
    assert ends == [-signal.SIGKILL] * len(KILLED_IMPORTS) + [0]
    assert said(ledger) == table.balances()
    assert all(len(ledger.entries(f"customer:{number}", "BRL")) == 1 for number in (1, 200, 201, 400, 401, 450))
    ledger.adopting.shadow("users")
    ledger.adopting.compare("users")
    ends = [run(ledger, table, "cutover", statements) for statements in (*KILLED_SWITCHES, 10_000)]
    assert ends == [-signal.SIGKILL] * len(KILLED_SWITCHES) + [0]
    assert ledger.adopting.status("users").phase == "ledger"
    assert said(ledger) == table.balances()
    assert_balanced(ledger)


def run(ledger: Ledger, table: OldTable, step: str, statements: int) -> int:
    """Do a step in a process of its own; return how it ended."""
    command = [sys.executable, "-m", "tests.adopting.adopting_process", table.url, ledger._operations.ledger]
    done = subprocess.run(
        [*command, to_json(table.column), step, str(statements)],
        cwd=ROOT, capture_output=True, check=False, timeout=TIMEOUT_S,
    )  # fmt: skip
    assert done.returncode in {0, -signal.SIGKILL}, done.stderr.decode()
    return done.returncode
