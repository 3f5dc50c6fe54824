"""Adoptions while the application goes on writing: nothing falls between the steps, and nobody waits who needn't."""

from __future__ import annotations

from contextlib import closing

import psycopg
import pytest

from lastro import AdoptionNotReady, Ledger
from lastro.testing import assert_balanced
from tests.adopting.old_table import OldTable, said, shadowing
from tests.adopting.shop import Traffic, pay
from tests.support.sessions import Background, observer_of
from tests.support.stores import MARIADB, SQLITE, connected, on_every_server, on_every_store, pid_of, transaction

pytestmark = [pytest.mark.case("C001"), pytest.mark.case("C039")]

CUSTOMERS, THREADS, FUNDS = 6, 3, 100_000
PAYMENTS_A_PHASE = 15


@on_every_store
def test_traffic_through_all_phases(ledger: Ledger, store_url: str) -> None:
    """Payments go on from the import to the cut-over, back, and over again: none fails, and no cent is lost on either side."""
    table, adopting = OldTable(ledger, store_url, floor=None), ledger.adopting
    held = dict.fromkeys(range(1, CUSTOMERS + 1), FUNDS)
    table.add(held)
    adopting.import_rows(table.column)
    traffic = Traffic(ledger, table, customers=CUSTOMERS, threads=THREADS)
    try:
        traffic.more(PAYMENTS_A_PHASE, "importing")
        adopting.import_rows(table.column)
        adopting.shadow("users")
        for _ in range(2):
            traffic.more(PAYMENTS_A_PHASE, "shadow")
            assert adopting.compare("users").differences == ()
            assert adopting.cut_over("users").done
            traffic.more(PAYMENTS_A_PHASE, "ledger")
            adopting.mirror("users")
            assert adopting.roll_back("users").done
        traffic.more(PAYMENTS_A_PHASE, "shadow")
    finally:
        traffic.stop()
    expected = {number: FUNDS + moved for number, moved in traffic.moved.items()}
    assert said(ledger) == table.balances() == expected
    assert sum(expected.values()) == CUSTOMERS * FUNDS
    assert adopting.compare("users").differences == ()
    assert_balanced(ledger)
    print(f"{sum(traffic.phases.values())} payments through {traffic.phases}, no cent lost")  # noqa: T201


@on_every_server
def test_an_import_waits_for_nobody(ledger: Ledger, store_url: str) -> None:
    """A row that is being written is passed over, and comes with what was written when that is committed."""
    table, adopting = OldTable(ledger, store_url), ledger.adopting
    table.add({1: 100, 2: 100})
    with closing(connected(store_url)) as caller:
        with transaction(caller):
            table.change(1, 7, caller)
            done = adopting.import_rows(table.column)
            assert (done.figures["imported"], done.figures["remaining"]) == (1, 1)
        done = adopting.import_rows(table.column)
        assert (done.figures["imported"], done.figures["remaining"]) == (1, 0)
    assert said(ledger) == {1: 107, 2: 100}


@on_every_store
def test_imports_at_once(ledger: Ledger, store_url: str) -> None:
    """Several imports share the rows: each has one opening balance, and each is counted by one of them."""
    table = OldTable(ledger, store_url)
    table.add({number: number for number in range(1, 31)})
    at_once = [Background(lambda: ledger.adopting.import_rows(table.column)) for _ in range(3)]
    for one in at_once:
        one.result()
    assert said(ledger) == table.balances()
    assert all(len(ledger.entries(f"customer:{number}", "BRL")) == 1 for number in range(1, 31))
    assert ledger.adopting.status("users").rows == 30


@on_every_server
def test_a_cut_over_waits_for_who_asked(ledger: Ledger, store_url: str) -> None:
    """Whoever asked for the phase finishes in it: both sides are written, and only then is the column closed to it."""
    table, adopting = OldTable(ledger, store_url), ledger.adopting
    table.add({1: 100, 2: 100})
    shadowing(ledger, table)
    adopting.compare("users")
    with closing(connected(store_url)) as caller, observer_of(store_url) as observer:
        with transaction(caller):
            held = ledger.within(caller)
            assert held.adopting.phase("users") == "shadow"
            cutting = Background(lambda: adopting.cut_over("users"))
            observer.until_anyone_waits_for(pid_of(caller))
            table.change(1, 5, caller)
            held.credit("customer:1", "BRL", amount=5, key="five")
            assert not cutting.done
        assert cutting.result().done
        assert pay(ledger, table, caller, giver=1, taker=2, amount=5, key="later") == "ledger"
    assert said(ledger) == {1: 100, 2: 105}
    assert table.balances() == {1: 105, 2: 100}


@on_every_server
def test_a_roll_back_waits_for_who_posts(ledger: Ledger, store_url: str) -> None:
    """What is posted without asking, when a roll-back begins, is in the column when it ends."""
    table, adopting = OldTable(ledger, store_url), ledger.adopting
    table.add({1: 100})
    shadowing(ledger, table)
    adopting.compare("users")
    adopting.cut_over("users")
    with closing(connected(store_url)) as caller, observer_of(store_url) as observer:
        with transaction(caller):
            ledger.within(caller).credit("customer:1", "BRL", amount=5, key="five")
            back = Background(lambda: adopting.roll_back("users"))
            observer.until_anyone_waits_for(pid_of(caller))
            assert not back.done
        back.result()
    assert table.balances() == said(ledger) == {1: 105}


@on_every_server
def test_a_write_under_way_is_compared(ledger: Ledger, store: str, store_url: str) -> None:
    """An old write that asks nobody, and is under way as a cut-over begins, is waited for and found."""
    table, adopting = OldTable(ledger, store_url), ledger.adopting
    table.add({1: 100})
    shadowing(ledger, table)
    adopting.compare("users")
    with closing(connected(store_url)) as caller, observer_of(store_url) as observer:
        with transaction(caller):
            table.change(1, 5, caller)
            cutting = Background(lambda: adopting.cut_over("users"))
            if store == MARIADB:
                # InnoDB knows nothing of this wait: whoever makes a trigger waits for the table's own lock.
                waits = "SELECT count(*) FROM information_schema.processlist WHERE state LIKE '%metadata lock%'"
                observer.until(lambda: observer.value(waits) > 0, "the trigger to wait")
            else:
                observer.until_anyone_waits_for(pid_of(caller))
        assert isinstance(cutting.error(), AdoptionNotReady)
    assert (adopting.status("users").phase, table.balances()) == ("shadow", {1: 105})
    # The triggers are there already, and let everything pass.
    assert adopting.status("users").guarded
    table.change(1, -5)
    adopting.compare("users")
    assert adopting.cut_over("users").done


@pytest.mark.case("S07")
@on_every_store
def test_an_old_snapshot_doesnt_pass_the_cut_over_by(ledger: Ledger, store: str, store_url: str) -> None:
    """A transaction that began before the cut-over, whatever its isolation, can't write the column after it."""
    table, adopting = OldTable(ledger, store_url), ledger.adopting
    table.add({1: 100})
    shadowing(ledger, table)
    adopting.compare("users")
    with closing(connected(store_url)) as caller:
        if isinstance(caller, psycopg.Connection):
            caller.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        # On MariaDB a snapshot of the table itself would keep the trigger from being made.
        begin = {SQLITE: "BEGIN", MARIADB: "START TRANSACTION WITH CONSISTENT SNAPSHOT"}.get(store, "SELECT 1")
        table.run(begin, caller)
        if store != MARIADB:
            assert table.run(f"SELECT {table.balance} FROM {table.name}", caller) == [(100,)]
        adopting.cut_over("users")
        refused = "database is locked" if store == SQLITE else "could not serialize|taken over"
        with pytest.raises(Exception, match="taken over" if store == MARIADB else refused):
            table.change(1, 5, caller)
        caller.rollback()
    assert table.balances() == {1: 100}
