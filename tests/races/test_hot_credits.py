"""Credits of a hot account only insert: they wait for nobody, and the consolidator loses none of them."""

from __future__ import annotations

import threading
from functools import partial
from typing import Any

import psycopg
import pytest

import lastro
from lastro import InsufficientFunds, Ledger
from lastro.testing import assert_balanced
from tests.support.money import fold_within, fund, posted, transfer
from tests.support.sessions import Background, Observer, Sessions, pid_of, together
from tests.support.stores import on_every_store, rows_of

CREDITS_A_THREAD = 60
CREDITORS = 4
CONSOLIDATORS = 3


@pytest.fixture
def account_id(ledger: Ledger, store_url: str) -> int:
    """The id of `platform`, a hot account with 40 consolidated and 60 in the tail."""
    fund(ledger, "platform", 100, "hot")
    ((found,),) = rows_of(store_url, "SELECT id FROM {s}account WHERE name = 'platform'", schema_of(ledger))
    return int(found)


@pytest.mark.req("0.1")
@pytest.mark.case("C001")
def test_credits_hold_no_lock_on_the_base_row(
    ledger: Ledger, session: Sessions, observer: Observer, connection: psycopg.Connection[Any], account_id: int
) -> None:
    """While two credits are open in two transactions, the base row can be locked by a third without waiting."""
    one, two = session(), session()
    for number, caller in enumerate((one, two)):
        caller.execute("SET LOCAL lock_timeout = '1ms'")
        ledger.within(caller).post(**transfer(f"credit:{number}", "world", "platform", 5))
    assert [observer.blockers(pid_of(caller)) for caller in (one, two)] == [[], []]
    connection.execute("SELECT 1 FROM base WHERE account_id = %s FOR UPDATE NOWAIT", [account_id])
    connection.execute("SELECT 1 FROM account WHERE id = %s FOR UPDATE NOWAIT", [account_id])
    one.commit()
    two.commit()
    connection.rollback()
    assert posted(ledger, "platform") == 110


@pytest.mark.req("0.1")
@pytest.mark.req("0.3")
def test_a_credit_waits_for_no_debit_and_no_consolidator(ledger: Ledger, session: Sessions, account_id: int) -> None:
    """A credit goes through while a debit holds the base row, and while a consolidator does."""
    debit, consolidator, credit = session(), session(), session()
    ledger.within(debit).post(**transfer("debit", "platform", "world", 10))
    credit.execute("SET LOCAL lock_timeout = '1ms'")
    ledger.within(credit).post(**transfer("credit:1", "world", "platform", 1))
    debit.commit()
    assert fold_within(ledger.within(consolidator), account_id) > 0
    ledger.within(credit).post(**transfer("credit:2", "world", "platform", 1))
    credit.commit()
    consolidator.commit()
    assert posted(ledger, "platform") == 92
    assert_balanced(ledger)


@pytest.mark.req("0.3")
@pytest.mark.req("0.5")
def test_a_debit_holds_the_lock_while_a_consolidator_has_deleted(
    ledger: Ledger, session: Sessions, observer: Observer, account_id: int
) -> None:
    """The consolidator waits with its rows deleted; meanwhile every sum is right, and the debit's transaction goes on."""
    debit = session()
    ledger.within(debit).post(**transfer("debit:1", "platform", "world", 30))
    going = Background(ledger.consolidate)
    observer.until_anyone_waits_for(pid_of(debit))
    assert posted(ledger, "platform") == 100
    assert posted(ledger.within(debit), "platform") == 70
    with pytest.raises(InsufficientFunds) as caught:
        ledger.within(debit).post(**transfer("too much", "platform", "world", 71))
    assert caught.value.available == 70
    ledger.within(debit).post(**transfer("debit:2", "platform", "world", 70))
    debit.commit()
    assert going.result().rows == 1
    assert posted(ledger, "platform") == 0
    ledger.consolidate()
    assert observer.value(f"SELECT amount FROM {schema_of(ledger)}.base WHERE account_id = %s", account_id) == 0
    assert_balanced(ledger)


@pytest.mark.req("0.3")
@pytest.mark.parametrize("ends", ["commit", "rollback"])
@pytest.mark.parametrize(("amount", "covered"), [(100, True), (101, False)])
def test_a_debit_waits_for_the_consolidator(
    *, ledger: Ledger, session: Sessions, observer: Observer, account_id: int, ends: str, amount: int, covered: bool
) -> None:
    """A debit that waited for a consolidator counts each entry once, whether the consolidator commits or not."""
    consolidator, debit = session(), session()
    assert fold_within(ledger.within(consolidator), account_id) == 1
    going = Background(lambda: ledger.within(debit).post(**transfer("debit", "platform", "world", amount)))
    observer.until_blocked(pid_of(debit), by=pid_of(consolidator))
    getattr(consolidator, ends)()
    if covered:
        assert not going.result().replayed
    else:
        with pytest.raises(InsufficientFunds) as caught:
            going.result()
        assert caught.value.available == 100
    debit.commit()
    assert posted(ledger, "platform") == (0 if covered else 100)
    assert_balanced(ledger)


@pytest.mark.req("0.10")
@pytest.mark.case("C062")
def test_a_lower_id_that_commits_late_is_counted(
    ledger: Ledger, session: Sessions, connection: psycopg.Connection[Any], account_id: int
) -> None:
    """A credit with a lower id that commits after the consolidation is counted; a watermark of ids would lose it."""
    late = session()
    low = ledger.within(late).post(**transfer("low", "world", "platform", 7)).transfer.id
    high = ledger.post(**transfer("high", "world", "platform", 5)).transfer.id
    assert low < high
    ledger.consolidate()

    # What a consolidator by watermark would note at this moment: everything up to the highest id is in the base.
    history = "SELECT coalesce(sum(amount), 0), max(id) FROM transfer WHERE credit_id = %s AND id > %s"
    row = connection.execute(history, [account_id, 0]).fetchone()
    connection.commit()
    assert row is not None
    marked, watermark = row

    late.commit()
    newer = connection.execute(history, [account_id, watermark]).fetchone()
    assert newer is not None
    assert marked + newer[0] == 105, "the watermark lost the 7 that committed late"

    assert posted(ledger, "platform") == 112
    ledger.consolidate()
    assert posted(ledger, "platform") == 112
    assert_balanced(ledger)


@pytest.mark.req("0.4")
def test_two_consolidators_share_the_tail(
    ledger: Ledger, session: Sessions, observer: Observer, account_id: int
) -> None:
    """The second consolidator takes the rows after the first one's batch, and adds its sum to what the first left."""
    one, two = session(), session()
    for number in range(9):
        ledger.post(**transfer(f"credit:{number}", "world", "platform", 10))
    assert fold_within(ledger.within(one), account_id, rows_max=5) == 5
    going = Background(lambda: fold_within(ledger.within(two), account_id, rows_max=5))
    observer.until_blocked(pid_of(two), by=pid_of(one))
    one.commit()
    assert going.result() == 5
    two.commit()
    base, tail = f"{schema_of(ledger)}.base", f"{schema_of(ledger)}.tail"
    assert observer.value(f"SELECT amount FROM {base} WHERE account_id = %s", account_id) == 190
    assert observer.value(f"SELECT count(*) FROM {tail}") == 0
    assert_balanced(ledger)


@on_every_store
@pytest.mark.req("0.4")
@pytest.mark.req("0.5")
def test_consolidators_and_creditors_and_readers(ledger: Ledger, account_id: int) -> None:
    """With several of each at once every row is folded once, and no reader ever sees the balance go down."""
    del account_id
    stop = threading.Event()
    folded: list[int] = []

    def consolidate() -> None:
        while not stop.is_set():
            folded.append(ledger.consolidate().rows)

    def read() -> None:
        seen = 0
        while not stop.is_set():
            now = posted(ledger, "platform")
            assert now >= seen, "an entry was counted and then missed"
            seen = now

    def credit(creditor: int) -> None:
        for number in range(CREDITS_A_THREAD):
            ledger.post(**transfer(f"credit:{creditor}:{number}", "world", "platform", 3))

    workers = [Background(consolidate) for _ in range(CONSOLIDATORS)] + [Background(read)]
    assert together([partial(credit, creditor) for creditor in range(CREDITORS)]) == [None] * CREDITORS
    stop.set()
    for worker in workers:
        worker.result()
    folded.append(ledger.consolidate().rows)
    assert sum(folded) == CREDITORS * CREDITS_A_THREAD + 1
    assert posted(ledger, "platform") == 100 + 3 * CREDITORS * CREDITS_A_THREAD
    assert_balanced(ledger)


@pytest.mark.case("C003")
def test_a_debit_that_never_ends_holds_up_its_own_account_only(
    *, ledger: Ledger, server_url: str, ledger_name: str, session: Sessions, observer: Observer, account_id: int
) -> None:
    """The consolidator gives a stuck account up after the lock timeout, and folds all the others in the same round."""
    stuck = session()
    for name in ("aaa", "other", "zzz"):
        fund(ledger, name, 100, "hot")
    ledger.post(**transfer("credit", "world", "platform", 7))
    ledger.within(stuck).post(**transfer("stuck", "platform", "world", 1))
    with lastro.connect(server_url, ledger=ledger_name, lock_timeout_ms=100) as impatient:
        going = Background(impatient.consolidate)
        observer.until_anyone_waits_for(pid_of(stuck))
        going.error()
    left = f"SELECT array_agg(DISTINCT account_id) FROM {ledger_name}.tail"
    assert observer.value(left) == [account_id]
    stuck.commit()
    ledger.consolidate()
    assert observer.value(left) is None
    assert posted(ledger, "platform") == 106
    assert_balanced(ledger)


def schema_of(ledger: Ledger) -> str:
    """Return the schema of a ledger."""
    return ledger._operations.ledger
