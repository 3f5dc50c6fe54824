"""After the cut-over the ledger is the truth: what the mirror can't or mustn't write is left alone, named, and solved."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from lastro import AdoptionNotReady, AdoptionReport, InsufficientFunds, Ledger
from lastro.testing import assert_balanced
from lastro.workers.adopter import Adopter
from tests.adopting.old_table import BALANCE, ID, OldTable, cut, said
from tests.support.stores import MARIADB, POSTGRES, SQLITE, on_every_store

pytestmark = [pytest.mark.case("C001"), pytest.mark.req("2.1")]

TAKEN_OVER = "the ledger has taken over this balance"


def credit(ledger: Ledger, number: int, amount: int, key: str) -> None:
    """Post to a customer."""
    ledger.credit(f"customer:{number}", "BRL", amount=amount, key=key)


def found(report: AdoptionReport) -> list[tuple[Any, ...]]:
    """The differences of a report."""
    return [(one.row, one.cause, one.expected, one.found) for one in report.differences]


def columns_of(store: str, *more: str, kind: str = "bigint") -> str:
    """The columns of a table: id, balance and others."""
    quote = "`" if store == MARIADB else '"'
    return ", ".join([f"{quote}{ID}{quote} bigint PRIMARY KEY", f"{quote}{BALANCE}{quote} {kind}", *more])


@on_every_store
@pytest.mark.case("C032")
def test_a_balance_that_the_column_doesnt_take(ledger: Ledger, store: str, store_url: str) -> None:
    """
    It is named, with its account and value; nothing of it is half-written, every other row is mirrored, a roll-back waits,
    and once the column is wide enough the mirror goes on by itself.
    """
    kind = {POSTGRES: "smallint", MARIADB: "decimal(5, 2)", SQLITE: "bigint CHECK ({} < 1000)"}[store]
    decimals = 2 if store == MARIADB else 0
    table = OldTable(ledger, store_url, columns=columns_of(store, kind=kind.format(f'"{BALANCE}"')), decimals=decimals)
    table.add({1: 100, 2: 200, 3: 300})
    cut(ledger, table)
    adopting, factor = ledger.adopting, 10**decimals
    for number, amount in ((1, 5), (2, 99_000), (3, 7)):
        credit(ledger, number, amount * factor, f"more:{number}")
    done = adopting.mirror("users")
    assert done.figures == {"rows": 3, "written": 2}
    (problem,) = done.problems
    held = "99200.00" if store == MARIADB else "99200"
    assert f"row '2': account 'customer:2' holds {held} BRL, which column '{BALANCE}' doesn't take" in problem
    assert "64-bit" not in problem
    assert found(done) == [("2", "unwritable_balance", 200 * factor, 99_200 * factor)]
    assert "Widen the column" in done.advice["unwritable_balance"]
    assert table.balances() == {1: 105, 2: 200, 3: 307}
    assert found(adopting.compare("users")) == found(done)
    with pytest.raises(AdoptionNotReady, match="customer:2"):
        adopting.roll_back("users")
    assert adopting.status("users").phase == "ledger"
    if store == SQLITE:
        ledger.debit("customer:2", "BRL", amount=99_000, key="less")
    else:
        wide = "ALTER COLUMN {0} TYPE bigint" if store == POSTGRES else "MODIFY {0} decimal(12, 2)"
        table.run(f"ALTER TABLE {table.name} {wide.format(table.balance)}")
    done = adopting.mirror("users")
    assert (done.problems, done.differences) == ((), ())
    adopting.roll_back("users")
    assert {key: int(value * factor) for key, value in table.balances().items()} == said(ledger)


@on_every_store
@pytest.mark.case("C022")
def test_a_row_in_another_currency_isnt_mirrored(ledger: Ledger, store: str, store_url: str) -> None:
    """What a row holds that moved to another currency stays as it is, and is named; given back its own it is mirrored."""
    table = OldTable(ledger, store_url, columns=columns_of(store, "cur varchar(8)"), currency_column="cur")
    table.add({1: "100, 'BRL'", 2: "200, 'BRL'"})
    cut(ledger, table)
    table.run(f"UPDATE {table.name} SET cur = 'USD' WHERE {table.id} = 1")
    credit(ledger, 1, 5, "one")
    credit(ledger, 2, 5, "two")
    done = ledger.adopting.mirror("users")
    assert found(done) == [("1", "currency_differs", 100, 105)]
    assert "currency back" in done.advice["currency_differs"]
    assert balances(table) == {1: 100, 2: 205}
    assert found(ledger.adopting.compare("users")) == found(done)
    table.run(f"UPDATE {table.name} SET cur = 'BRL' WHERE {table.id} = 1")
    assert ledger.adopting.mirror("users").differences == ()
    assert balances(table) == {1: 105, 2: 205}


def balances(table: OldTable) -> dict[Any, Any]:
    """What the column says."""
    return dict(table.run(f"SELECT {table.id}, {table.balance} FROM {table.name}"))


@on_every_store
@pytest.mark.case("S06")
def test_a_balance_that_the_ledger_never_had_is_never_overwritten(ledger: Ledger, store: str, store_url: str) -> None:
    """
    A row that comes among the declared ones after the cut-over keeps what it holds, is named, and is taken over or its
    column given up by a command, once, each with its reason.
    """
    table = OldTable(ledger, store_url, columns=columns_of(store, "kind varchar(9)"), only=("kind", "customer"))
    table.add({1: "100, 'customer'", 2: "500, 'staff'", 3: "-7, 'staff'", 4: "600, 'staff'", 5: "0, 'staff'"})
    cut(ledger, table)
    adopting = ledger.adopting
    ledger.open_account("customer:2", "BRL")
    credit(ledger, 2, 30, "before it was known")
    table.run(f"UPDATE {table.name} SET kind = 'customer'")
    for report in (adopting.mirror("users"), adopting.compare("users"), adopting.mirror("users")):
        assert found(report) == [
            ("2", "not_taken_over", 500, 30), ("3", "not_taken_over", -7, None), ("4", "not_taken_over", 600, None),
        ]  # fmt: skip
        assert "lastro adopt admit" in report.advice["not_taken_over"]
        assert balances(table) == {1: 100, 2: 500, 3: -7, 4: 600, 5: 0}
    for step in (adopting.roll_back, adopting.finish):
        with pytest.raises(AdoptionNotReady, match=r"3 rows have no account.*lastro adopt admit"):
            step("users")
    with pytest.raises(InsufficientFunds, match="customer:3"):
        adopting.admit("users", row="3", reason="moved", actor="ana")
    assert adopting.admit("users", row="2", reason="moved", actor="ana").figures == {"admitted": 1, "discarded": 0}
    done = adopting.admit("users", row="4", reason="was paid out", actor="ana", discard=True)
    assert done.figures == {"admitted": 0, "discarded": 1}
    for row in ("2", "4", "1", "9"):
        with pytest.raises(AdoptionNotReady, match="isn't among those"):
            adopting.admit("users", row=row, reason="again", actor="ana")
    assert found(adopting.mirror("users")) == [("3", "not_taken_over", -7, None)]
    assert balances(table) == {1: 100, 2: 530, 3: -7, 4: 0, 5: 0}
    assert said(ledger) == {1: 100, 2: 530, 4: 0, 5: 0}
    (opening,) = [one for one in ledger.entries("customer:2", "BRL") if one.kind == "opening"]
    assert (opening.key, opening.amount, opening.actor) == ("adopt:users:2:opening", 500, "ana")
    assert [event.what for event in adopting.events("users", limit=2)] == ["discarded", "admitted"]
    assert_balanced(ledger)


@on_every_store
def test_a_row_whose_account_holds_something_isnt_deleted(ledger: Ledger, store: str, store_url: str) -> None:
    """The database refuses it, with what to do; an empty one goes, and so does any before the cut-over and after a roll-back."""
    quote = "`" if store == MARIADB else '"'
    names = [f"{quote}{name}{quote}" for name in (ID, "pa'rt", BALANCE)]
    columns = "{0} varchar(20), {1} varchar(20), {2} bigint, PRIMARY KEY ({0}, {1})".format(*names)
    table = OldTable(ledger, store_url, columns=columns, id_column=(ID, "pa'rt"))
    rows = ", ".join(f"('{one}', 'x''y', 100)" for one in ("a", "b", "c", "d"))
    table.run(f"INSERT INTO {table.name} VALUES {rows}")
    ledger.adopting.import_rows(table.column)
    ledger.adopting.shadow("users")
    table.run(f"DELETE FROM {table.name} WHERE {names[0]} = 'd'")
    ledger.adopting.compare("users")
    ledger.adopting.adjust("users", reason="gone", actor="ana")
    ledger.adopting.compare("users")
    ledger.adopting.cut_over("users")
    with pytest.raises(Exception, match=TAKEN_OVER):
        table.run(f"DELETE FROM {table.name} WHERE {names[0]} = 'a'")
    ledger.debit("customer:a:x'y", "BRL", amount=100, key="paid out")
    table.run(f"DELETE FROM {table.name} WHERE {names[0]} = 'a'")
    ledger.adopting.roll_back("users")
    table.run(f"DELETE FROM {table.name} WHERE {names[0]} = 'b'")
    assert table.run(f"SELECT {names[0]}, {names[2]} FROM {table.name}") == [("c", 100)]


@on_every_store
@pytest.mark.case("S06")
def test_rows_that_are_gone_are_found(
    ledger: Ledger, store: str, store_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    """
    What passes the triggers by, as TRUNCATE does on MariaDB, is found by a comparison and by the worker, with what to do;
    and the money comes back with the rows.
    """
    table = OldTable(ledger, store_url)
    table.add({1: 100, 2: 200, 3: 0})
    cut(ledger, table)
    if store != MARIADB:
        trigger = f"adopted_users_by_{ledger._operations.ledger}_d"[-63:]
        table.run(f"DROP TRIGGER {trigger}" + ("" if store == SQLITE else f" ON {table.name}"))
    table.run(f"TRUNCATE {table.name}" if store == MARIADB else f"DELETE FROM {table.name}")
    with caplog.at_level(logging.ERROR, "lastro.workers"):
        assert Adopter(ledger).run_once().figures["differences"] == 2
    assert "account customer:1: account_without_row (the column says None, the ledger 100)" in caplog.messages[0]
    done = ledger.adopting.compare("users")
    assert found(done) == [("1", "account_without_row", None, 100), ("2", "account_without_row", None, 200)]
    assert "Insert the row again" in done.advice["account_without_row"]
    assert "adjust" not in done.advice["account_without_row"]
    table.add({1: 0, 2: "NULL"})
    assert ledger.adopting.mirror("users").differences == ()
    assert table.balances() == {1: 100, 2: 200}
    assert {one.what for one in ledger.adopting.events("users")} >= {"agreed again"}


def test_what_the_mirror_has_yet_to_write_is_no_difference(ledger: Ledger, store_url: str) -> None:
    """A comparison in the ledger's phase counts it, changes nothing, and advises no roll-back."""
    table = OldTable(ledger, store_url)
    table.add({1: 100, 2: 200})
    cut(ledger, table)
    credit(ledger, 1, 5, "one")
    done = ledger.adopting.compare("users")
    assert (done.differences, done.figures["behind"], done.figures["rows"]) == ((), 1, 2)
    assert table.balances() == {1: 100, 2: 200}
    with pytest.raises(AdoptionNotReady, match="the ledger is the truth") as refused:
        ledger.adopting.adjust("users", reason="a test", actor="ana")
    assert "rollback" not in str(refused.value)
    ledger.adopting.mirror("users")
    assert ledger.adopting.compare("users").figures["behind"] == 0
