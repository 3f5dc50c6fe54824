"""What went wrong is found and named on every store: each cause planted, told apart, adjusted, and gone."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from lastro import AdoptionNotReady, Ledger
from lastro.testing import assert_balanced
from lastro.workers.adopter import Adopter
from tests.adopting.old_table import BALANCE, ID, OldTable, cut, said, shadowing
from tests.support.stores import MARIADB, connected, on_every_store, transaction

pytestmark = [pytest.mark.case("C001"), pytest.mark.req("2.7")]

START = 1_000


def table_of(ledger: Ledger, store: str, url: str) -> OldTable:
    """Rows with a currency each."""
    quote = "`" if store == MARIADB else '"'
    names = [f"{quote}{name}{quote}" for name in (ID, BALANCE, "cur")]
    columns = "{} bigint PRIMARY KEY, {} bigint, {} varchar(8)".format(*names)
    table = OldTable(ledger, url, columns=columns, currency_column="cur", floor=None)
    table.add(dict.fromkeys(range(1, 13), f"{START}, 'BRL'"))
    return table


def post(ledger: Ledger, number: int, amount: int, key: str, cause: str | None = None) -> None:
    """Post to a customer, up or down."""
    move = ledger.credit if amount > 0 else ledger.debit
    move(f"customer:{number}", "BRL", amount=abs(amount), key=key, cause=cause)


@on_every_store
@pytest.mark.case("C022")
@pytest.mark.case("S06")
def test_each_cause_is_named(ledger: Ledger, store: str, store_url: str) -> None:
    """Planted one by one, found together in one comparison, and nothing is found where both sides moved alike."""
    table, adopting = table_of(ledger, store, store_url), ledger.adopting
    shadowing(ledger, table)
    for number in range(1, 13):
        table.change(number, 50)
        post(ledger, number, 50, f"both:{number}")
    assert adopting.compare("users").differences == ()

    table.change(1, 30)
    post(ledger, 2, -30, "new code alone")
    table.change(3, 30)
    post(ledger, 3, 20, "another amount")
    table.change(4, -30)
    post(ledger, 4, -30, "first try", cause="order:4")
    post(ledger, 4, -30, "second try", cause="order:4")
    table.change(5, 30)
    post(ledger, 5, 3_000, "cents taken for units")
    table.run(f"UPDATE {table.name} SET cur = 'USD' WHERE {table.id} = 6")
    table.run(f"DELETE FROM {table.name} WHERE {table.id} = 7")
    table.set(8, "NULL")
    table.change(9, 30)
    post(ledger, 9, 30, "as it should be")

    done = adopting.compare("users")
    assert {(one.row, one.cause, one.expected, one.found) for one in done.differences} == {
        ("1", "old_write_without_posting", 1_080, 1_050),
        ("2", "posting_without_old_write", 1_050, 1_020),
        ("3", "posted_other_amount", 1_080, 1_070),
        ("4", "posted_twice", 1_020, 990),
        ("5", "unit_mismatch", 1_080, 4_050),
        ("6", "currency_differs", 1_050, 1_050),
        ("7", "account_without_row", None, 1_050),
        ("8", "unreadable_balance", None, 1_050),
    }
    assert done.figures["new"] == done.adoption.differences == 8
    assert {one.account for one in done.differences} == {f"customer:{number}" for number in range(1, 9)}

    # Seen again they are the same ones, since then.
    again = adopting.compare("users")
    assert (again.figures["new"], again.figures["gone"]) == (0, 0)
    assert [one.first_seen_at for one in again.differences] == [one.first_seen_at for one in done.differences]
    assert all(one.last_seen_at >= one.first_seen_at for one in again.differences)

    adjusted = adopting.adjust("users", reason="found in review", actor="ana")
    assert (adjusted.figures, [one.row for one in adjusted.differences]) == (
        {"adjusted": 6, "remaining": 2},
        ["6", "8"],
    )
    assert said(ledger) == dict.fromkeys((1, 3, 5, 9), 1080) | {
        2: 1_050,
        4: 1_020,
        6: 1_050,
        7: 0,
        8: 1_050,
    } | dict.fromkeys((10, 11, 12), 1050)
    (entry,) = [one for one in ledger.entries("customer:5", "BRL") if one.kind == "adjustment"]
    assert (entry.signed, entry.actor) == (-2_970, "ana")
    transfer = ledger.transfer(entry.key)
    assert transfer is not None
    assert transfer.metadata == {"reason": "found in review", "row": "5"}
    table.run(f"UPDATE {table.name} SET cur = 'BRL' WHERE {table.id} = 6")
    table.set(8, 1_050)
    assert (adopting.compare("users").figures["gone"], adopting.status("users").differences) == (2, 0)
    with pytest.raises(AdoptionNotReady, match="no open difference"):
        adopting.adjust("users", reason="again", actor="ana", row="5")
    told = [(event.what, event.row) for event in reversed(adopting.events("users"))]
    assert told.count(("difference", "4")) == told.count(("adjusted", "4")) == 1
    assert ("agreed again", "8") in told
    adopting.cut_over("users")
    assert_balanced(ledger)


def test_what_both_sides_do_later_is_told_from_then_on(ledger: Ledger, store_url: str) -> None:
    """What is measured is what changed since both sides last agreed, not since the import."""
    table, adopting = OldTable(ledger, store_url), ledger.adopting
    table.add({1: 100})
    shadowing(ledger, table)
    for number in range(3):
        table.change(1, 10)
        ledger.credit("customer:1", "BRL", amount=10, key=f"both:{number}")
        adopting.compare("users")
    ledger.credit("customer:1", "BRL", amount=10, key="alone")
    (found,) = adopting.compare("users").differences
    assert found.cause == "posting_without_old_write"


def test_what_still_moves_is_no_difference(ledger: Ledger, store_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A row that is level again at the second look, or another one each time, isn't reported."""
    from lastro.adopting import comparing
    from lastro.plans.course import Pause

    table, adopting = OldTable(ledger, store_url), ledger.adopting
    table.add({1: 100, 2: 100})
    shadowing(ledger, table)
    table.change(1, 10)
    waits = []

    def pause(ms: int) -> Pause:
        # Between two looks: the posting comes late for one row, the other is written again each time.
        if not waits:
            ledger.credit("customer:1", "BRL", amount=10, key="late")
        table.change(2, 1)
        waits.append(ms)
        return Pause(1)

    table.change(2, 1)
    monkeypatch.setattr(comparing, "Pause", pause)
    done = adopting.compare("users")
    assert (done.differences, done.figures["moving"], len(waits)) == ((), 1, 8)


@on_every_store
def test_both_sides_are_read_in_one_snapshot(ledger: Ledger, store: str, store_url: str) -> None:
    """A transaction that has written one side, and not yet committed the other, shows neither."""
    del store
    table, adopting = OldTable(ledger, store_url), ledger.adopting
    table.add({1: 100})
    shadowing(ledger, table)
    connection = connected(store_url)
    with transaction(connection):
        table.change(1, 10, connection)
        assert ledger.adopting.differences("users") == []
        # A comparison writes down what it found: on SQLite that waits for the writer, elsewhere for nobody.
        if table.column.schema is not None:
            assert adopting.compare("users").differences == ()
        ledger.within(connection).credit("customer:1", "BRL", amount=10, key="in the same transaction")
    connection.close()
    assert adopting.compare("users").differences == ()
    assert said(ledger) == table.balances() == {1: 110}


def test_the_worker(ledger: Ledger, store_url: str, caplog: pytest.LogCaptureFixture) -> None:
    """It compares in the shadow phase and says a difference once, mirrors after the cut-over, and stops when it is told."""
    table, adopting = OldTable(ledger, store_url), ledger.adopting
    worker = Adopter(ledger)
    assert dict(worker.run_once().figures) == {"compared": 0, "differences": 0, "mirrored": 0}
    table.add({1: 100, 2: 100})
    adopting.import_rows(table.column)
    assert worker.run_once().figures["compared"] == 0
    adopting.shadow("users")
    assert dict(worker.run_once().figures) == {"compared": 2, "differences": 0, "mirrored": 0}
    table.change(1, 5)
    with caplog.at_level(logging.ERROR, "lastro.workers"):
        assert worker.run_once().figures["differences"] == worker.run_once().figures["differences"] == 1
    (message,) = caplog.messages
    assert "customer:1: old_write_without_posting (the column says 105, the ledger 100)" in message
    adopting.adjust("users", reason="a test", actor="ana")
    adopting.compare("users")
    adopting.cut_over("users")
    ledger.credit("customer:2", "BRL", amount=1, key="one")
    assert worker.run_once().figures["mirrored"] == 1
    assert table.balances() == {1: 105, 2: 101}
    ledger.credit("customer:2", "BRL", amount=1, key="two")
    assert Adopter(ledger, stopping=lambda: True).run_once().figures["mirrored"] == 0
    worker.close()


def test_the_worker_survives_the_end_of_the_old_column(ledger: Ledger, store_url: str) -> None:
    """A table that is gone is that adoption's trouble, told as such, and no word of a ledger to be migrated."""
    table, adopting = OldTable(ledger, store_url), ledger.adopting
    table.add({1: 100})
    adopting.import_rows(table.column)
    adopting.shadow("users")
    table.run(f"DROP TABLE {table.name}")
    worker = Adopter(ledger)
    with pytest.raises(AdoptionNotReady, match="'users': the old table is not as it was declared") as told:
        worker.run_once()
    assert (told.value.phase, told.value.step) == ("shadow", "compare")
    worker.close()


def test_more_rows_than_a_page(ledger: Ledger, store_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages follow each other without a gap, and without a row that comes twice; so do those that are written back."""
    from lastro.adopting import importing, looking, mirroring

    for module, limit in (
        (importing, "ADOPTION_IMPORT_ROWS_MAX"),
        (looking, "ADOPTION_COMPARE_ROWS_MAX"),
        (mirroring, "ADOPTION_MIRROR_ROWS_MAX"),
    ):
        monkeypatch.setattr(module, limit, 3)
    pages: list[Any] = []
    for rows in (3, 7, 9):
        table = OldTable(ledger, store_url, name=f"users{rows}", account=f"{rows}:{{{ID}}}")
        table.add({number: number for number in range(1, rows + 1)})
        cut(ledger, table)
        for number in range(1, rows + 1):
            ledger.credit(f"{rows}:{number}", "BRL", amount=1, key=f"{rows}:{number}")
        done = ledger.adopting.mirror(f"users{rows}", after_page=lambda written: not pages.append(written))
        assert done.figures == {"rows": rows, "written": rows}
        assert table.balances() == {number: number + 1 for number in range(1, rows + 1)}
        table.run(f"ALTER TABLE {table.name} RENAME TO gone_{rows}")
    assert pages == [3, 0, 3, 3, 1, 3, 3, 3, 0]
