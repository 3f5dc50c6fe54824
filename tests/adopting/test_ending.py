"""The end of an adoption, either way: nothing of it is left on the application's table, and what was done stays on record."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

import lastro
from lastro import AdoptionNotReady, Ledger
from lastro.adopting import ending
from lastro.testing import assert_balanced
from tests.adopting.old_table import OldTable, cut, said, shadowing
from tests.adopting.stepping import Killed, killed_at
from tests.support.stores import MARIADB, POSTGRES, SQLITE, on_every_store

pytestmark = [pytest.mark.case("C001"), pytest.mark.req("2.1")]

STATEMENTS_MAX = 300


def triggers_on(table: OldTable) -> int:
    """How many triggers there are beside the ledger's own."""
    query = {
        MARIADB: "SELECT count(*) FROM information_schema.triggers WHERE trigger_name LIKE 'adopted%'",
        SQLITE: "SELECT count(*) FROM sqlite_master WHERE type = 'trigger' AND name LIKE 'adopted%'",
    }.get(
        table.store,
        f"SELECT count(*) FROM pg_trigger WHERE tgname LIKE 'adopted%' AND tgrelid = '{table.name}'::regclass",
    )
    ((count,),) = table.run(query)
    return int(count)


@on_every_store
def test_finished(ledger: Ledger, store_url: str) -> None:
    """The column is mirrored once more, the triggers go, the application goes on as in the ledger's phase, for good."""
    table, adopting = OldTable(ledger, store_url), ledger.adopting
    table.add({1: 100, 2: 200})
    with pytest.raises(lastro.UnknownAdoption):
        adopting.finish("users")
    shadowing(ledger, table)
    with pytest.raises(AdoptionNotReady, match="cutover comes first"):
        adopting.finish("users")
    adopting.compare("users")
    adopting.cut_over("users")
    ledger.credit("customer:1", "BRL", amount=5, key="five")
    table.add({3: 0})
    assert "1 rows have no account" in adopting.finish("users", dry_run=True).problems[0]
    adopting.mirror("users")
    ledger.credit("customer:1", "BRL", amount=5, key="five more")
    rehearsed = adopting.finish("users", dry_run=True)
    assert (rehearsed.done, rehearsed.problems, rehearsed.adoption.phase) == (False, (), "ledger")
    assert triggers_on(table) >= 3
    done = adopting.finish("users", actor="ana")
    assert (done.done, done.adoption.phase, done.adoption.guarded, done.figures["written"]) == (
        True, "finished", False, 1,
    )  # fmt: skip
    assert (done.adoption.actor, done.adoption.rows, triggers_on(table)) == ("ana", 3, 0)
    assert table.balances() == said(ledger) == {1: 110, 2: 200, 3: 0}
    table.change(1, 5)
    table.run(f"DELETE FROM {table.name} WHERE {table.id} = 1")
    assert adopting.phase("users") == "ledger"
    assert not adopting.finish("users").done
    for step in (adopting.shadow, adopting.compare, adopting.cut_over, adopting.mirror, adopting.roll_back):
        with pytest.raises(AdoptionNotReady, match=r"was finished at .* takes another name"):
            step("users")
    with pytest.raises(AdoptionNotReady, match="was finished"):
        adopting.abandon("users")
    with pytest.raises(AdoptionNotReady, match="was finished"):
        adopting.import_rows(table.column)
    assert [event.what for event in adopting.events("users", limit=2)] == ["finished", "cut over"]
    assert said(ledger)[1] == 110


def test_finished_when_the_table_is_gone(ledger: Ledger, store_url: str) -> None:
    """A table that was dropped before stands in nobody's way."""
    table = OldTable(ledger, store_url)
    table.add({1: 100})
    cut(ledger, table)
    table.run(f"DROP TABLE {table.name}")
    assert ledger.adopting.finish("users").done
    assert ledger.adopting.status("users").phase == "finished"


@pytest.mark.parametrize(
    ("store", "phase"),
    [(POSTGRES, "importing"), (SQLITE, "shadow"), (POSTGRES, "ledger"), (MARIADB, "ledger"), (SQLITE, "ledger")],
    indirect=["store"],
)
def test_abandoned(ledger: Ledger, store_url: str, phase: str) -> None:
    """From any phase: the column is the truth, the accounts are empty by keyed transfers, and may be adopted again."""
    table, adopting = OldTable(ledger, store_url, floor=None), ledger.adopting
    table.add({1: 100, 2: -50, 3: 0})
    if phase == "importing":
        adopting.import_rows(table.column)
    else:
        (shadowing if phase == "shadow" else cut)(ledger, table)
    if phase == "ledger":
        ledger.credit("customer:1", "BRL", amount=5, key="five")
        rehearsed = adopting.abandon("users", dry_run=True)
        assert (rehearsed.step, rehearsed.figures["would_write"]) == ("abandon", 1)
    first = 105 if phase == "ledger" else 100
    rehearsed = adopting.abandon("users", dry_run=True)
    assert (rehearsed.done, rehearsed.adoption.phase) == (False, phase)
    done = adopting.abandon("users", actor="ana")
    assert done.figures == {"accounts": 3, "emptied": 2, "kept": 0}
    assert (done.done, done.adoption.phase, done.adoption.rows, triggers_on(table)) == (True, "abandoned", 0, 0)
    assert (table.balances(), said(ledger)) == ({1: first, 2: -50, 3: 0}, {1: 0, 2: 0, 3: 0})
    newest = ledger.entries("customer:1", "BRL")[-1]
    assert (newest.key, newest.kind, newest.signed) == ("adopt:users:1:abandoned", "adjustment", -first)
    assert adopting.phase("users") == "importing"
    table.change(1, 1)
    assert not adopting.abandon("users").done
    with pytest.raises(AdoptionNotReady, match=r"was abandoned at .* takes another name"):
        adopting.import_rows(table.column)
    cut(ledger, under_another_name(table, "again"))
    assert said(ledger) == {1: first + 1, 2: -50, 3: 0}
    assert_balanced(ledger)


def under_another_name(table: OldTable, name: str) -> OldTable:
    """The same table under another adoption."""
    again = object.__new__(OldTable)
    again.__dict__.update(table.__dict__, column=table.column._replace(name=name))
    return again


def test_balances_that_are_kept(ledger: Ledger, store_url: str) -> None:
    """Those of which something is held stay, and are named; all of them where that was asked for."""
    table, adopting = OldTable(ledger, store_url), ledger.adopting
    table.add({1: 100, 2: 200})
    shadowing(ledger, table)
    later = datetime.now(UTC) + timedelta(hours=1)
    ledger.place_hold(key="hold", account="customer:1", currency="BRL", amount=30, owner="shop", expires_at=later)
    done = adopting.abandon("users")
    assert done.figures == {"accounts": 2, "emptied": 1, "kept": 1}
    assert "1 accounts keep their balances" in done.problems[0]
    assert "'customer:1'" in done.problems[0]
    assert said(ledger) == {1: 100, 2: 0}
    assert [event.what for event in adopting.events("users", limit=2)] == ["balances kept", "abandoned"]
    again = under_another_name(table, "again")
    shadowing(ledger, again)
    assert adopting.abandon("again", keep_balances=True).figures == {"accounts": 2, "emptied": 0, "kept": 0}
    assert said(ledger) == {1: 100, 2: 200}


@pytest.mark.case("C038")
@pytest.mark.parametrize(
    ("store", "end"),
    [(POSTGRES, "finish"), (SQLITE, "finish"), (POSTGRES, "abandon"), (MARIADB, "abandon"), (SQLITE, "abandon")],
    indirect=["store"],
)
def test_killed_before_each_statement(
    ledger: Ledger, store: str, store_url: str, monkeypatch: pytest.MonkeyPatch, end: str
) -> None:
    """Killed anywhere it goes on when it is asked for again, and ends as if it had never been killed."""
    monkeypatch.setattr(ending, "ADOPTION_IMPORT_ROWS_MAX", 2)
    table, kills = OldTable(ledger, store_url), 0
    table.add({1: 100, 2: 200, 3: 300})
    cut(ledger, table)
    ledger.credit("customer:1", "BRL", amount=5, key="five")
    ends: dict[str, Any] = {"finish": ledger.adopting.finish, "abandon": ledger.adopting.abandon}
    for statement in range(0, STATEMENTS_MAX, 5 if store == MARIADB else 2):
        try:
            with killed_at(store, statement, monkeypatch):
                ends[end]("users")
        except Killed:
            kills += 1
        else:
            break
    stands = ledger.adopting.status("users")
    assert (stands.phase, stands.guarded) == ("finished" if end == "finish" else "abandoned", False)
    assert (table.balances(), triggers_on(table)) == ({1: 105, 2: 200, 3: 300}, 0)
    assert said(ledger) == ({1: 105, 2: 200, 3: 300} if end == "finish" else {1: 0, 2: 0, 3: 0})
    assert kills > 3
    assert_balanced(ledger)
