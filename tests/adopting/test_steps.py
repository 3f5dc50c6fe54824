"""The steps of an adoption on every store: each does what it says, may be asked for again, and is refused out of order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import lastro
from lastro import AdoptionConflict, AdoptionNotReady, AdoptionReport, InvalidInput, Ledger, UnknownAdoption
from lastro.adopting import importing, looking, mirroring
from lastro.testing import assert_balanced
from tests.adopting.old_table import BALANCE, ID, OldTable, cut, said, shadowing
from tests.support.stores import MARIADB, POSTGRES, SQLITE, on_every_store

pytestmark = [pytest.mark.case("C001"), pytest.mark.req("2.1")]

BATCH = 200
LARGE = 10**18


def credit(ledger: Ledger, number: int, amount: int, key: str, **more: Any) -> None:
    """Post to a customer."""
    ledger.credit(f"customer:{number}", "BRL", amount=amount, key=key, **more)


@on_every_store
def test_there_and_back(ledger: Ledger, store_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """From the column to the ledger and back, each step twice: the second time nothing is done and nothing changes."""
    monkeypatch.setattr(importing, "ADOPTION_IMPORT_ROWS_MAX", BATCH)
    table, adopting = OldTable(ledger, store_url), ledger.adopting
    table.add({number: number for number in range(1, BATCH + 2)} | {500: LARGE, 501: 0})
    survey = adopting.survey(table.column)
    assert (survey.rows, survey.nulls, survey.negative, survey.least, survey.most) == (BATCH + 3, 0, 0, 0, LARGE)
    assert (survey.currencies, survey.problems) == ({"BRL": BATCH + 3}, ())
    with pytest.raises(UnknownAdoption):
        adopting.status("users")

    batches: list[int] = []
    done = adopting.import_rows(table.column, actor="ana", after_rows=lambda rows: not batches.append(rows))
    assert (done.done, done.figures["imported"], batches) == (True, BATCH + 3, [BATCH, 3])
    assert said(ledger) == table.balances()
    (opening,) = ledger.entries("customer:500", "BRL")
    assert (opening.key, opening.kind, opening.amount) == ("adopt:users:500:opening", "opening", LARGE)
    assert ledger.entries("customer:501", "BRL") == []
    twice(lambda: adopting.import_rows(table.column))

    table.change(5, 7)
    assert adopting.import_rows(table.column).figures == {"imported": 0, "caught_up": 1, "refused": 0, "remaining": 0}
    table.change(5, -3)
    assert adopting.shadow("users", dry_run=True).problems == ()
    done = adopting.shadow("users")
    assert (done.adoption.phase, said(ledger)) == ("shadow", table.balances())
    twice(lambda: adopting.shadow("users"))

    table.add({600: 0})
    compared = adopting.compare("users")
    assert (compared.figures["rows"], compared.figures["imported"], compared.differences) == (BATCH + 4, 1, ())
    rehearsed = adopting.cut_over("users", dry_run=True)
    assert (rehearsed.done, rehearsed.problems, rehearsed.figures["rows"]) == (False, (), BATCH + 4)
    assert not adopting.status("users").guarded
    done = adopting.cut_over("users", actor="ana")
    assert (done.adoption.phase, done.adoption.guarded, done.adoption.actor) == ("ledger", True, "ana")
    twice(lambda: adopting.cut_over("users"))

    credit(ledger, 600, 25, "new")
    assert table.balances()[600] == 0
    assert adopting.mirror("users").figures["written"] == 1
    assert said(ledger) == table.balances()
    twice(lambda: adopting.mirror("users"))
    credit(ledger, 5, 10, "newer")
    assert adopting.roll_back("users", dry_run=True).figures["would_write"] == 1
    done = adopting.roll_back("users")
    assert (done.adoption.phase, done.adoption.guarded, done.figures["written"]) == ("shadow", False, 1)
    assert said(ledger) == table.balances()
    twice(lambda: adopting.roll_back("users"))
    assert adopting.compare("users").differences == ()
    assert [event.what for event in reversed(adopting.events("users"))] == [
        "begun", "imported", "shadow begun", "cut over", "rolled back",
    ]  # fmt: skip
    assert adopting.names() == ["users"]
    assert_balanced(ledger)


def twice(step: Callable[[], AdoptionReport]) -> None:
    """Nothing is left for the step to do, and it says so."""
    done = step()
    assert not done.done
    assert done.problems == ()


@on_every_store
def test_the_column_is_the_mirrors_alone(ledger: Ledger, store: str, store_url: str) -> None:
    """After the cut-over the database refuses the old write, with what to do; other columns are nobody's business."""
    other = "note varchar(9)"
    quoted = {"`" if store == MARIADB else '"'}.pop()
    columns = f"{quoted}{ID}{quoted} bigint PRIMARY KEY, {quoted}{BALANCE}{quoted} bigint, {other}"
    table = OldTable(ledger, store_url, columns=columns)
    table.add({1: "100, NULL", 2: "200, 'a'"})
    cut(ledger, table)
    for write in (
        lambda: table.change(1, 5),
        lambda: table.set(1, "NULL"),
        lambda: table.add({3: "5, NULL"}),
    ):
        with pytest.raises(Exception, match="the ledger has taken over this balance"):
            write()
    table.run(f"UPDATE {table.name} SET note = 'b'")
    table.set(1, 100)
    table.add({3: "0, NULL", 4: "NULL, NULL"})
    assert table.balances() == {1: 100, 2: 200, 3: 0, 4: None}
    ledger.adopting.roll_back("users")
    table.change(1, 5)
    assert table.balances()[1] == 105


def test_out_of_order(ledger: Ledger, store_url: str) -> None:
    """Each step that comes too early names the one that comes first, and changes nothing."""
    table, adopting = OldTable(ledger, store_url), ledger.adopting
    table.add({1: 100})
    for step in (adopting.shadow, adopting.compare, adopting.cut_over, adopting.mirror, adopting.roll_back):
        with pytest.raises(UnknownAdoption, match="adopt import"):
            step("users")
    adopting.import_rows(table.column)
    for step in (adopting.compare, adopting.cut_over, adopting.mirror):
        with pytest.raises(AdoptionNotReady, match="shadow comes first"):
            step("users")
    adopting.shadow("users")
    with pytest.raises(AdoptionNotReady, match="never compared"):
        adopting.cut_over("users")
    assert "never compared" in adopting.cut_over("users", dry_run=True).problems[0]
    with pytest.raises(AdoptionNotReady, match="cutover comes first"):
        adopting.mirror("users")
    adopting.compare("users")
    with pytest.raises(InvalidInput, match="block_ms_max"):
        adopting.cut_over("users", block_ms_max=0)
    table.change(1, 1)
    with pytest.raises(AdoptionNotReady, match="1 rows differ from their accounts just now"):
        adopting.cut_over("users")
    adopting.compare("users")
    with pytest.raises(AdoptionNotReady, match="1 differences are open"):
        adopting.cut_over("users")
    assert (adopting.status("users").phase, adopting.status("users").guarded) == ("shadow", False)
    adopting.adjust("users", reason="a test", actor="ana")
    adopting.compare("users")
    adopting.cut_over("users")
    with pytest.raises(AdoptionNotReady, match="rollback comes first"):
        adopting.shadow("users")
    with pytest.raises(AdoptionNotReady, match="the ledger is the truth"):
        adopting.adjust("users", reason="a test", actor="ana")
    with pytest.raises(AdoptionConflict) as conflict:
        adopting.import_rows(table.column._replace(floor=None, account="c:{" + ID + "}"))
    assert set(conflict.value.fields) == {"floor", "account"}


def test_a_comparison_grows_old(ledger: Ledger, store_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cut-over wants a fresh comparison, and one that would keep writers waiting for too long isn't begun."""
    from lastro.adopting import switching

    table, adopting = OldTable(ledger, store_url), ledger.adopting
    table.add({1: 100})
    shadowing(ledger, table)
    adopting.compare("users")
    monkeypatch.setattr(switching, "_since", lambda _: 6_000)
    with pytest.raises(AdoptionNotReady, match="took 6000 ms just now"):
        adopting.cut_over("users")
    assert "6000 ms" in adopting.cut_over("users", dry_run=True).problems[0]
    adopting.cut_over("users", block_ms_max=10_000, dry_run=True)
    monkeypatch.undo()
    table.run(
        f"UPDATE {ledger._operations.ledger}.adoption_look SET looked_at = looked_at - interval '1 hour'",
    )
    with pytest.raises(AdoptionNotReady, match="more than 900 s"):
        adopting.cut_over("users")
    assert adopting.cut_over("users", compared_within_s=4_000).done


@on_every_store
@pytest.mark.case("C032")
def test_the_largest_and_the_smallest(ledger: Ledger, store_url: str) -> None:
    """
    Amounts at the ends of 64 bits, below zero where the accounts have no floor, and rows without a balance where they are
    declared to hold nothing, go over and come back exactly.
    """
    table = OldTable(ledger, store_url, floor=None, nulls="zero")
    held = {1: 2**63 - 1, 2: -(2**62), 3: -1, 4: 10**18, 5: 0}
    table.add(held | {6: "NULL"})
    survey = ledger.adopting.survey(table.column)
    assert (survey.problems, survey.nulls, survey.negative) == ((), 1, 2)
    assert "taken for zero" in survey.advice[0]
    cut(ledger, table)
    assert said(ledger) == held | {6: 0}
    credit(ledger, 3, 1, "one")
    credit(ledger, 6, 7, "seven")
    ledger.adopting.roll_back("users")
    assert table.balances() == held | {3: 0, 6: 7}


def test_what_cant_be_imported(ledger: Ledger, store_url: str) -> None:
    """Rows below the floor and rows without a balance stay behind, by name and cause; when they are solved they follow."""
    table, adopting = OldTable(ledger, store_url), ledger.adopting
    table.add({1: 100, 2: -5, 3: "NULL"})
    problems = " ".join(adopting.survey(table.column).problems)
    assert "1 rows have no balance (NULL)" in problems
    assert "1 rows have a balance below zero" in problems
    done = adopting.import_rows(table.column)
    assert (done.figures["imported"], done.figures["remaining"]) == (1, 2)
    assert {one.row: (one.cause, one.expected) for one in done.differences} == {
        "2": ("row_without_account", -5), "3": ("unreadable_balance", None),
    }  # fmt: skip
    with pytest.raises(AdoptionNotReady, match="2 rows have no account"):
        adopting.shadow("users")
    assert "2 rows have no account" in adopting.shadow("users", dry_run=True).problems[0]
    table.set(2, 5)
    table.set(3, 0)
    done = adopting.import_rows(table.column)
    assert (done.figures["imported"], done.figures["remaining"], done.differences) == (2, 0, ())
    assert said(ledger) == {1: 100, 2: 5, 3: 0}
    assert adopting.shadow("users").done


@pytest.mark.parametrize("store", [POSTGRES, MARIADB], indirect=True)
@pytest.mark.case("C028")
def test_decimals(ledger: Ledger, store: str, store_url: str) -> None:
    """A decimal column of whole units is read in minor ones and written back to the last digit; a third decimal is refused."""
    quote = "`" if store == MARIADB else '"'
    columns = f"{quote}{ID}{quote} bigint PRIMARY KEY, {quote}{BALANCE}{quote} decimal(20, 3)"
    table, adopting = OldTable(ledger, store_url, columns=columns, decimals=2), ledger.adopting
    table.add({1: "19.99", 2: "8.2", 3: "0.005", 4: "1234567890123456.78"})
    assert any("1 rows have a balance with more decimals" in one for one in adopting.survey(table.column).problems)
    assert adopting.import_rows(table.column).differences[0].expected == "0.005"
    table.set(3, "0.01")
    adopting.import_rows(table.column)
    adopting.shadow("users")
    adopting.compare("users")
    adopting.cut_over("users")
    assert said(ledger) == {1: 1999, 2: 820, 3: 1, 4: 123456789012345678}
    credit(ledger, 1, 8201, "more")
    credit(ledger, 4, 1, "one")
    adopting.roll_back("users")
    assert {key: str(value) for key, value in table.balances().items()} == {
        1: "102.000", 2: "8.200", 3: "0.010", 4: "1234567890123456.790",
    }  # fmt: skip


@on_every_store
@pytest.mark.case("C028")
@pytest.mark.case("C035")
def test_a_float_column_is_refused(ledger: Ledger, store: str, store_url: str) -> None:
    """A column that can't hold an amount exactly is not adopted, and what to do is said."""
    quote, kind = (
        "`" if store == MARIADB else '"',
        {POSTGRES: "double precision", MARIADB: "double", SQLITE: "real"}[store],
    )
    table = OldTable(
        ledger, store_url, columns=f"{quote}{ID}{quote} bigint PRIMARY KEY, {quote}{BALANCE}{quote} {kind}"
    )
    table.add({1: 0.3})
    (problem,) = ledger.adopting.survey(table.column).problems
    assert "holds no exact amounts" in problem
    assert "minor units" in problem
    with pytest.raises(AdoptionNotReady, match="holds no exact amounts"):
        ledger.adopting.import_rows(table.column)
    assert ledger.adopting.names() == []


@pytest.mark.parametrize("store", [SQLITE], indirect=True)
@pytest.mark.case("C028")
def test_sqlite_holds_decimals_as_floats(ledger: Ledger, store_url: str) -> None:
    """A value that isn't an integer there stays behind whatever the column's type says, and decimals aren't believed."""
    table = OldTable(ledger, store_url, columns=f'"{ID}" integer PRIMARY KEY, "{BALANCE}" decimal(10, 2)')
    table.add({1: 5, 2: 19.99, 3: "'x'"})
    assert any("doesn't hold as an integer" in one for one in ledger.adopting.survey(table.column).problems)
    done = ledger.adopting.import_rows(table.column)
    assert {one.row: one.cause for one in done.differences} == {"2": "unreadable_balance", "3": "unreadable_balance"}
    (problem,) = ledger.adopting.survey(table.column._replace(name="other", decimals=2)).problems
    assert "round(" in problem


@on_every_store
@pytest.mark.case("C030")
def test_wallets_of_several_currencies(
    ledger: Ledger, store: str, store_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    Two columns name a row, one of them its currency; only some of the rows are adopted; texts compare as they are, and
    page by page in the order that the database gives them.
    """
    for module in (importing, looking, mirroring):
        for limit in ("ADOPTION_IMPORT_ROWS_MAX", "ADOPTION_COMPARE_ROWS_MAX", "ADOPTION_MIRROR_ROWS_MAX"):
            monkeypatch.setattr(module, limit, 2, raising=False)
    quote = "`" if store == MARIADB else '"'
    names = [f"{quote}{name}{quote}" for name in (ID, "cur", BALANCE, "kind", "gone")]
    columns = "{0} varchar(20), {1} varchar(8), {2} bigint, {3} varchar(9), {4} varchar(9), PRIMARY KEY ({0}, {1})"
    declared = {
        "id_column": (ID, "cur"), "currency_column": "cur", "only": ("kind", "customer"), "only_null": "gone",
        "account": f"customer:{{{ID}}}",
    }  # fmt: skip
    table = OldTable(ledger, store_url, columns=columns.format(*names), **declared)
    rows = [
        ("é'1", "BRL", 5, "customer", None), ("é'1", "USD", 7, "customer", None), ("b", "USD", 9, "customer", None),
        ("c", "JPY", 11, "staff", None), ("d", "USD", 13, "customer", "2020"), ("10", "BRL", 1, "customer", None),
        ("9", "BRL", 2, "customer", None), ("B2", "USD", 15, "customer", None), ("a%(x)s", "USD", 17, "customer", None),
    ]  # fmt: skip
    written = ", ".join(
        "({})".format(", ".join("NULL" if one is None else "'" + str(one).replace("'", "''") + "'" for one in row))
        for row in rows
    )
    table.run(f"INSERT INTO {table.name} VALUES {written}")
    assert ledger.adopting.survey(table.column).currencies == {"USD": 4, "BRL": 3}
    shadowing(ledger, table)
    adopted = {
        (name, currency): amount for name, currency, amount, kind, gone in rows if kind == "customer" and not gone
    }
    assert {
        (account.name.removeprefix("customer:"), account.currency): ledger.balance(
            account.name, account.currency
        ).posted
        for account in ledger.accounts(prefix="customer:")
    } == adopted
    table.run(f"UPDATE {table.name} SET {names[2]} = 6 WHERE {names[0]} = 'é''1' AND {names[1]} = 'BRL'")
    (found,) = ledger.adopting.compare("users").differences
    assert (found.row, found.account, found.currency, found.expected) == ("é'1/BRL", "customer:é'1", "BRL", 6)
    ledger.adopting.adjust("users", reason="a test", actor="ana", row="é'1/BRL")
    ledger.adopting.compare("users")
    ledger.adopting.cut_over("users")
    ledger.credit("customer:b", "USD", amount=1, key="one")
    ledger.adopting.roll_back("users")
    assert sorted(table.run(f"SELECT {names[2]} FROM {table.name}")) == [
        (1,),
        (2,),
        (6,),
        (7,),
        (10,),
        (11,),
        (13,),
        (15,),
        (17,),
    ]


def test_a_table_that_isnt_there(ledger: Ledger, store_url: str) -> None:
    """Names are compared as they are spelt; what is there is said."""
    table, adopting = OldTable(ledger, store_url), ledger.adopting
    for changed, said_ in (
        ({"table": "users"}, "there is no table 'users'"),
        ({"only_null": "gone"}, "has no column 'gone'"),
    ):
        with pytest.raises(InvalidInput, match=said_):
            adopting.survey(table.column._replace(**changed))
    assert adopting.survey(table.column).rows == 0
    cut(ledger, table)
    assert adopting.mirror("users").figures == {"rows": 0, "written": 0}
    adopting.roll_back("users")


@pytest.mark.parametrize("keeping", ["hot", "direct"])
def test_accounts_that_are_there_already(ledger: Ledger, store_url: str, keeping: Any) -> None:
    """What an account holds already counts: the opening balance is what is missing, also below it."""
    table = OldTable(ledger, store_url, keeping="hot")
    table.add({1: 100, 2: 100, 3: 100})
    for number, amount in ((1, 30), (2, 130), (3, 100)):
        ledger.open_account(f"customer:{number}", "BRL", keeping=keeping)
        credit(ledger, number, amount, f"before:{number}")
    cut(ledger, table)
    assert said(ledger) == {1: 100, 2: 100, 3: 100}
    ledger.credit("customer:1", "BRL", amount=5, key="after")
    ledger.adopting.roll_back("users")
    assert table.balances()[1] == 105


def test_two_rows_of_one_name(ledger: Ledger, store_url: str) -> None:
    """Of two rows whose accounts would be called the same only the first is adopted; the other is named."""
    columns = f'"{ID}" text, part text, "{BALANCE}" bigint'
    table = OldTable(ledger, store_url, columns=columns, id_column=(ID, "part"), account=f"customer:{{{ID}}}:{{part}}")
    table.run(f"INSERT INTO {table.name} VALUES ('a', 'b:c', 5), ('a:b', 'c', 7)")
    done = ledger.adopting.import_rows(table.column)
    assert [(one.row, one.cause) for one in done.differences] == [("a:b/c", "row_without_account")]
    assert ledger.balance("customer:a:b:c", "BRL").posted == 5


async def test_awaited_it_is_the_same(ledger: Ledger, store_url: str) -> None:
    """There and back again with the awaited ledger."""
    table = OldTable(ledger, store_url)
    table.add({1: 100, 2: 200})
    async with await lastro.connect_async(store_url, ledger=ledger._operations.ledger) as awaited:
        adopting = awaited.adopting
        assert (await adopting.survey(table.column)).rows == 2
        assert (await adopting.import_rows(table.column)).figures["imported"] == 2
        await adopting.shadow("users")
        table.change(1, 5)
        (found,) = (await adopting.compare("users")).differences
        assert [found] == await adopting.differences("users")
        await adopting.adjust("users", reason="a test", actor="ana")
        await adopting.compare("users")
        await adopting.cut_over("users")
        await awaited.credit("customer:2", "BRL", amount=1, key="one")
        assert (await adopting.mirror("users")).figures["written"] == 1
        assert (await adopting.status("users")).phase == await adopting.phase("users") == "ledger"
        await adopting.roll_back("users")
        assert await adopting.names() == ["users"]
        assert len(await adopting.events("users", limit=2)) == 2
    assert table.balances() == {1: 105, 2: 201}


def test_a_store_without_triggers_says_so(tmp_path: Any) -> None:
    """Where there are no triggers to trust nothing can be adopted."""
    from tests.support.generic import forced

    with forced(f"sqlite:///{tmp_path}/plain.db", "plain") as ledger:
        ledger.migrate()
        with pytest.raises(InvalidInput, match="no portable ones"):
            ledger.adopting.names()
