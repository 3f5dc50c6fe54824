"""Rows that come, go, or can't be posted to while an adoption stands: none of them costs a cent, and each is named."""

from __future__ import annotations

from typing import Any

import pytest

from lastro import AdoptionNotReady, Ledger
from lastro.adopting import switching
from lastro.testing import assert_balanced
from tests.adopting.old_table import BALANCE, ID, OldTable, cut, said
from tests.support.stores import MARIADB, SQLITE, on_every_store

pytestmark = [pytest.mark.case("C001")]


def quote_of(store: str) -> str:
    """What this store puts around a name."""
    return "`" if store == MARIADB else '"'


@on_every_store
def test_a_user_who_came_after_the_cut_over(ledger: Ledger, store_url: str) -> None:
    """A roll-back writes their balance too, also where their column is empty and empty ones were refused before."""
    table, adopting = OldTable(ledger, store_url), ledger.adopting
    table.add({1: 100})
    cut(ledger, table)
    table.add({2: 0, 3: "NULL"})
    for number in (2, 3):
        ledger.open_account(f"customer:{number}", "BRL")
        ledger.credit(f"customer:{number}", "BRL", amount=5_000, key=f"new:{number}")
    assert "2 rows have no account" in adopting.roll_back("users", dry_run=True).problems[0]
    adopting.roll_back("users")
    assert table.balances() == said(ledger) == {1: 100, 2: 5_000, 3: 5_000}
    assert adopting.compare("users").differences == ()
    assert_balanced(ledger)


@on_every_store
def test_sign_ups_dont_hold_a_step_up(ledger: Ledger, store_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who signs up before a step, or while it begins, gets an account by the step itself."""
    table, adopting = OldTable(ledger, store_url), ledger.adopting
    table.add({1: 100})
    adopting.import_rows(table.column)
    import_new, newest = switching.import_new, 1

    def with_a_sign_up(*given: Any) -> Any:
        nonlocal newest
        done = yield from import_new(*given)
        newest += 1
        table.add({newest: 0})
        return done

    monkeypatch.setattr(switching, "import_new", with_a_sign_up)
    table.add({50: 7})
    adopting.shadow("users")
    assert said(ledger) == table.balances() == {1: 100, 2: 0, 50: 7}
    adopting.compare("users")
    table.add({51: 0})
    adopting.cut_over("users")
    ledger.credit("customer:3", "BRL", amount=5, key="five")
    table.add({52: 0})
    adopting.roll_back("users")
    assert said(ledger) == table.balances() == {1: 100, 2: 0, 3: 5, 4: 0, 50: 7, 51: 0, 52: 0}


@on_every_store
def test_a_roll_back_loses_nothing(ledger: Ledger, store: str, store_url: str) -> None:
    """While a row is gone, has another id or names another currency a roll-back is refused; put right, it goes on."""
    quote = quote_of(store)
    names = [f"{quote}{name}{quote}" for name in (ID, BALANCE, "cur", "gone")]
    columns = "{} bigint PRIMARY KEY, {} bigint, {} varchar(8), {} varchar(9)".format(*names)
    table = OldTable(ledger, store_url, columns=columns, currency_column="cur", only_null="gone")
    table.add({1: "100, 'BRL', NULL", 2: "200, 'BRL', NULL"})
    cut(ledger, table)

    def write(what: str, key: int) -> None:
        table.run(f"UPDATE {table.name} SET {what} WHERE {names[0]} = {key}")

    gone, other = "1 accounts hold something and their row is gone", "1 rows name another currency"
    for done, undone, problem in (
        ((f"{names[0]} = 7", 1), (f"{names[0]} = 1", 7), gone),
        ((f"{names[3]} = '2020'", 1), (f"{names[3]} = NULL", 1), gone),
        ((f"{names[2]} = 'USD'", 1), (f"{names[2]} = 'BRL'", 1), other),
    ):
        write(*done)
        assert any(problem in one for one in ledger.adopting.roll_back("users", dry_run=True).problems)
        with pytest.raises(AdoptionNotReady, match=problem):
            ledger.adopting.roll_back("users")
        assert ledger.adopting.status("users").phase == "ledger"
        write(*undone)
    ledger.debit("customer:2", "BRL", amount=200, key="paid out")
    table.run(f"DELETE FROM {table.name} WHERE {names[0]} = 2")
    assert ledger.adopting.roll_back("users").done
    assert table.run(f"SELECT {names[1]} FROM {table.name}") == [(100,)]


def test_no_trigger_writes_past_the_guard(ledger: Ledger, store_url: str) -> None:
    """What another trigger of the application's makes of the column is refused as well, and so is emptying the table."""
    table = OldTable(ledger, store_url)
    table.add({1: 100})
    cut(ledger, table)
    schema = ledger._operations.ledger
    table.run(
        f"CREATE FUNCTION {schema}.bonus() RETURNS trigger LANGUAGE plpgsql AS "
        f"$$ BEGIN new.{table.balance} := 105; RETURN new; END $$"
    )
    table.run(
        f"CREATE TRIGGER zz BEFORE INSERT OR UPDATE ON {table.name} FOR EACH ROW EXECUTE FUNCTION {schema}.bonus()"
    )
    for write in (
        f"UPDATE {table.name} SET {table.id} = 1",
        f"INSERT INTO {table.name} VALUES (2, 0)",
        f"TRUNCATE {table.name}",
    ):
        with pytest.raises(Exception, match="the ledger has taken over this balance"):
            table.run(write)
    table.run(f"DROP TRIGGER zz ON {table.name}")
    ledger.adopting.roll_back("users")
    table.run(f"TRUNCATE {table.name}")


@on_every_store
def test_one_refused_posting_stops_nobody_elses(ledger: Ledger, store_url: str) -> None:
    """A row below its account's floor is noted and named; all others are brought on, and the shadow waits for it."""
    table, adopting = OldTable(ledger, store_url), ledger.adopting
    table.add({1: 100, 2: 100, 3: 100})
    adopting.import_rows(table.column)
    table.set(1, -5)
    table.set(2, 150)
    done = adopting.import_rows(table.column)
    assert done.figures["caught_up"] == 1
    assert [(one.row, one.expected, one.found) for one in done.differences] == [("1", -5, 100)]
    assert said(ledger) == {1: 100, 2: 150, 3: 100}
    with pytest.raises(AdoptionNotReady, match=r"1 accounts can't be brought to their rows \('1'\)"):
        adopting.shadow("users")
    table.set(1, 100)
    adopting.shadow("users")
    table.set(1, -5)
    table.set(3, 1)
    adopting.compare("users")
    done = adopting.adjust("users", reason="a test", actor="ana")
    assert (done.figures["adjusted"], done.figures["remaining"]) == (1, 1)
    assert said(ledger) == {1: 100, 2: 150, 3: 1}
    assert_balanced(ledger)


@pytest.mark.parametrize("store", [SQLITE], indirect=True)
def test_an_id_without_a_type(ledger: Ledger, store_url: str) -> None:
    """SQLite finds a value of a column without INTEGER or TEXT affinity by none but its own type: it is refused as an id."""
    for kind in ("", "blob", "numeric"):
        table = OldTable(ledger, store_url, columns=f'"{ID}" {kind} PRIMARY KEY, "{BALANCE}" bigint')
        with pytest.raises(AdoptionNotReady, match="INTEGER or TEXT"):
            ledger.adopting.import_rows(table.column)
        table.run(f"DROP TABLE {table.name}")


@on_every_store
def test_a_row_that_isnt_found_again_isnt_gone(ledger: Ledger, store_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """An account whose row is listed, and yet not found by its id, keeps what it holds."""
    from lastro.adopting.own_table import OwnTable

    table, adopting = OldTable(ledger, store_url), ledger.adopting
    table.add({1: 100, 2: 100})
    adopting.import_rows(table.column)
    table.set(1, 50)
    monkeypatch.setattr(OwnTable, "ids_in", lambda *_: (3,))
    assert adopting.import_rows(table.column).figures["caught_up"] == 0
    with pytest.raises(AdoptionNotReady, match="can't be brought"):
        adopting.shadow("users")
    assert said(ledger) == {1: 100, 2: 100}


@pytest.mark.parametrize("store", [MARIADB], indirect=True)
def test_a_row_of_another_spelling_is_another_row(ledger: Ledger, store_url: str) -> None:
    """Where ids compare without case, the account of a row takes nothing from one that is spelt otherwise."""
    columns = f"`{ID}` varchar(9) COLLATE utf8mb4_general_ci, `{BALANCE}` bigint, KEY (`{ID}`)"
    table, adopting = OldTable(ledger, store_url, columns=columns), ledger.adopting
    table.add({"'a'": 100, "'A'": 30})
    cut(ledger, table)
    ledger.credit("customer:a", "BRL", amount=1, key="one")
    adopting.roll_back("users")
    assert table.balances() == {"a": 101, "A": 30}
    table.run(f"DELETE FROM {table.name} WHERE BINARY {table.id} = 'a'")
    adopting.compare("users")
    adopting.adjust("users", reason="a test", actor="ana")
    assert ledger.balance("customer:a", "BRL").posted == 0
    assert ledger.balance("customer:A", "BRL").posted == 30
