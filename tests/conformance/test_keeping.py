"""Changing how an account is kept, consolidating, and counting."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from itertools import product
from typing import Any

import psycopg
import pytest

import lastro
from lastro import Ledger
from lastro.model.account import Keeping
from tests.conformance.conftest import Raw
from tests.conformance.eyes import placeholders

pytestmark = pytest.mark.usefixtures("balanced")

KEEPINGS: tuple[Keeping, ...] = ("direct", "hot", "summed")


def wanted(**changed: Any) -> dict[str, Any]:
    """A transfer of 5 BRL from the world to `a`, changed."""
    return {"key": "k", "kind": "pay", "debit": "world", "credit": "a", "amount": 5, "currency": "BRL"} | changed


@pytest.mark.parametrize(("before", "after"), list(product(KEEPINGS, KEEPINGS)))
@pytest.mark.stores(without=("firebird",))
def test_a_change_of_keeping_changes_no_balance(book: Ledger, before: Keeping, after: Keeping) -> None:
    """From any keeping to any: the balance stands, the floor stays, and postings go on in the new way."""
    book.open_account("a", "BRL", keeping=before, floor=-3)
    book.post(**wanted(key="1", amount=40))
    book.post(**wanted(key="2", debit="a", credit="world", amount=10))
    account = book.keep("a", "BRL", after)
    assert (account.keeping, account.floor) == (after, -3)
    assert book.balance("a", "BRL").posted == 30
    with pytest.raises(lastro.InsufficientFunds):
        book.post(**wanted(key="3", debit="a", credit="world", amount=34))
    posted = book.post(**wanted(key="3", debit="a", credit="world", amount=33))
    assert posted.transfer.debit_before == (30 if after == "direct" else None)
    assert book.post(**wanted(key="1", amount=40)).replayed
    book.keep("a", "BRL", before)
    assert book.balance("a", "BRL").posted == -3
    book.post(**wanted(key="4", amount=3))
    assert book.balance("a", "BRL").posted == 0


@pytest.mark.stores(without=("firebird",))
def test_another_process_follows_a_change(book: Ledger, reopen: Callable[..., Ledger]) -> None:
    """A process that posted the old way goes on rightly after each change, in single postings and reversals."""
    book.open_account("a", "BRL", keeping="hot", floor=None)
    other = reopen()
    other.post(**wanted(key="0"))
    changes: tuple[Keeping, ...] = ("direct", "summed", "hot", "summed", "direct", "hot")
    for number, keeping in enumerate(changes, 1):
        book.keep("a", "BRL", keeping)
        posted = other.post(**wanted(key=str(number)))
        assert posted.transfer.credit_before == (number * 5 if keeping == "direct" else None)
        book.keep("a", "BRL", "direct" if keeping != "direct" else "hot")
        book.keep("a", "BRL", keeping)
        other.reverse(str(number), f"undo {number}")
        other.post(**wanted(key=f"redo {number}"))
        assert book.balance("a", "BRL").posted == 5 + number * 5


@pytest.mark.parametrize("word", ["warm", "", None, "HOT", b"hot", True])
def test_a_keeping_is_one_of_three(book: Ledger, word: Any) -> None:
    """Another word is refused with the three that are known."""
    book.open_account("a", "BRL")
    with pytest.raises(lastro.InvalidInput, match="keeping is one of direct, hot, summed"):
        book.keep("a", "BRL", word)
    with pytest.raises(lastro.InvalidInput, match="keeping is one of direct, hot, summed"):
        book.open_account("b", "BRL", keeping=word)
    with pytest.raises(lastro.UnknownAccount):
        book.keep("nobody", "BRL", "hot")


@pytest.mark.req("0.4")
@pytest.mark.stores(without=("firebird",))
def test_one_round_folds_everything_in(book: Ledger, raw: Raw) -> None:
    """A round moves each account's tail into its base, says what it did, and the next finds nothing."""
    for name in ("a", "b"):
        book.open_account(name, "BRL", keeping="hot")
    for number in range(3):
        book.post(**wanted(key=f"a{number}"))
    book.post(**wanted(key="b", debit="a", credit="b", amount=4))
    done = book.consolidate()
    assert (done.accounts, done.rows, done.batches, done.full) == (2, 5, 2, False)
    assert raw.one("SELECT count(*) FROM {s}.tail") == 0
    assert raw("SELECT name, amount FROM {s}.base JOIN {s}.account ON id = account_id ORDER BY name") == [
        ("a", 11), ("b", 4), ("world", 0),
    ]  # fmt: skip
    assert book.consolidate().rows == 0


@pytest.mark.req("0.4")
@pytest.mark.case("S03")
@pytest.mark.stores(without=("firebird",))
def test_a_batch_is_at_most_5000_rows(book: Ledger, raw: Raw) -> None:
    """More than one batch of tail rows is folded in batch by batch, with statistics from an almost empty table."""
    book.open_account("a", "BRL", keeping="hot")
    book.post(**wanted())
    raw("ANALYZE {s}.tail")
    raw(
        "INSERT INTO {s}.tail "
        "WITH RECURSIVE counted AS (SELECT 1 AS number UNION ALL SELECT number + 1 FROM counted WHERE number < 12000) "
        "SELECT id, 0 - number, 1 FROM {s}.account CROSS JOIN counted WHERE name = 'a'"
    )
    done = book.consolidate()
    assert (done.rows, done.batches) == (12_001, 3)
    assert book.balance("a", "BRL").posted == 12_005
    raw("UPDATE {s}.base SET amount = 5 WHERE amount = 12005")


@pytest.mark.req("0.11")
@pytest.mark.case("S01")
@pytest.mark.stores(without=("firebird",))
def test_a_tail_without_a_base_row_is_kept(book: Ledger, raw: Raw) -> None:
    """Entries of an account whose base row is missing stay in the tail: their sum isn't lost."""
    book.open_account("a", "BRL", keeping="hot")
    book.post(**wanted())
    ((account_id,),) = raw("SELECT id FROM {s}.account WHERE name = 'a'")
    raw.disarm("base")
    (row,) = raw("SELECT * FROM {s}.base WHERE account_id = %s", account_id)
    raw("DELETE FROM {s}.base WHERE account_id = %s", account_id)
    assert book.consolidate().rows == 0
    assert raw("SELECT amount FROM {s}.tail") == [(5,)]
    raw(f"INSERT INTO {{s}}.base VALUES ({placeholders(row)})", *row)
    assert book.consolidate().rows == 1
    assert book.balance("a", "BRL").posted == 5


@pytest.mark.req("0.8")
@pytest.mark.stores("postgres")
def test_counters_are_spread_over_16_slices(book: Ledger, ledger: Ledger, server_url: str, raw: Raw) -> None:
    """Connections bump slices of their own, 0 … 15, so that neighbours don't wait; a read adds the slices up."""
    assert book.count("orders") == 0
    book.bump("orders")
    book.bump("orders", 41)
    book.bump("orders", -2)
    book.bump("Orders", 7)
    with ExitStack() as stack:
        callers = [stack.enter_context(psycopg.connect(server_url)) for _ in range(6)]
        slices = {caller.info.backend_pid % 16: caller for caller in callers}
        assert len(slices) >= 2
        # All of them at once, none committed: nobody waits for a neighbour's slice.
        for caller in slices.values():
            caller.execute("SET LOCAL lock_timeout = '1s'")
            ledger.within(caller).bump("orders", 10)
        assert book.count("orders") == 40
        for caller in slices.values():
            caller.commit()
    assert (book.count("orders"), book.count("Orders")) == (40 + 10 * len(slices), 7)
    written = {number for (number,) in raw("SELECT slice FROM {s}.counter WHERE name = 'orders'")}
    assert set(slices) <= written <= set(range(16))


@pytest.mark.stores(without=("firebird",))
def test_a_counter_takes_whole_numbers(book: Ledger, raw: Raw) -> None:
    """Names of 1 … 255 characters, changes of 64 bits; a slice that would leave them is refused, not wrapped."""
    before = raw.written()
    bad: list[tuple[Any, Any]] = [
        ("", 1), ("n" * 256, 1), (None, 1), ("a\0", 1), ("a", 1.0), ("a", True), ("a", 2**63), ("a", "1"),
    ]  # fmt: skip
    for name, change in bad:
        with pytest.raises(lastro.InvalidInput):
            book.bump(name, change)
    assert raw.written() == before
    book.bump("n" * 255, 2**63 - 1)
    for number in range(16):
        raw("INSERT INTO {s}.counter VALUES ('full', %s, 9223372036854775807)", number)
    with pytest.raises(lastro.AmountOutOfRange):
        book.bump("full", 1)
    assert book.count("full") == 16 * (2**63 - 1)
