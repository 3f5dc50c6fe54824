"""Holds inside the caller's own transaction: the caller's to commit and to undo, on every kind of connection."""

from __future__ import annotations

from typing import Any

import pytest

import lastro
from lastro import Ledger
from tests.conformance.adapters import Caller
from tests.conformance.conftest import Raw
from tests.conformance.test_holds import DEADLINE, capture, figures, fund, wanted

# Holds take more than plain SQL.
pytestmark = [pytest.mark.usefixtures("balanced"), pytest.mark.stores("postgres", "mariadb", "sqlite")]


@pytest.fixture
def books(callers_book: Ledger) -> Ledger:
    """`a` has 1,000 and holds 100 of them as `h`; `hot` has 500."""
    fund(callers_book, "direct")
    callers_book.open_account("hot", "BRL", keeping="hot")
    callers_book.post(key="fund:hot", kind="fund", debit="world", credit="hot", amount=500, currency="BRL")
    callers_book.place_hold(**wanted())
    return callers_book


def every_step(held: Any) -> None:
    """Place, guard, capture, release, alone and as a group, what one transaction may do with holds."""
    held.place_hold(**wanted(key="h2", amount=50, group="g"))
    held.place_hold(**wanted(key="h3", account="hot", amount=70, group="g"))
    held.place_hold(**wanted(key="h4", account="hot", amount=30))
    assert held.guard_hold("h4", DEADLINE).left == 30
    assert held.capture(**capture(amount=60, final=False)).hold.left == 40
    assert held.release(key="r", hold="h", amount=10).hold.left == 30
    assert [one.transfer.amount for one in held.capture_group(key="cg", group="g", credit="till", kind="sale")] == [
        50,
        70,
    ]
    assert held.capture(**capture(key="c2", hold="h4", credit="a")).transfer.amount == 30
    assert held.release_group(key="rg", group="g") == []
    assert [hold.key for hold in held.holds("a", "BRL")] == ["h"]
    assert held.hold("h").left == 30
    assert [event.kind for event in held.hold_events("h")] == ["captured", "released"]
    assert held.overdue_holds() == []


@pytest.mark.req("3.1")
def test_holds_are_stored_with_the_callers_work(books: Ledger, caller: Caller, raw: Raw) -> None:
    """Until the caller commits nobody else sees them; then everybody does."""
    caller.order(1)
    every_step(books.within(caller.handle))
    assert (books.hold("h").left, raw("SELECT id FROM {s}.orders")) == (100, [])
    caller.commit()
    assert (books.hold("h").left, raw("SELECT id FROM {s}.orders")) == (30, [(1,)])
    assert figures(books) == (920, 30, 890)
    assert figures(books, "hot") == (400, 0, 400)
    assert figures(books, "till") == (120, 0, 120)


def test_holds_are_the_callers_to_undo(books: Ledger, caller: Caller, raw: Raw) -> None:
    """A rollback takes all of it back, and the same keys may be used again."""
    before = raw.written()
    every_step(books.within(caller.handle))
    caller.rollback()
    assert raw.written() == before
    assert figures(books) == (1_000, 100, 900)
    every_step(books.within(caller.handle))
    caller.commit()


@pytest.mark.req("3.2")
def test_a_refusal_leaves_the_callers_transaction_usable(books: Ledger, caller: Caller, raw: Raw) -> None:
    """Whatever is refused writes nothing, and the caller's work before and after it is kept."""
    books.place_hold(**wanted(key="g1", amount=1, group="g"))
    before = raw.written()
    caller.order(1)
    held = books.within(caller.handle)
    for error, call in (
        (lastro.InsufficientFunds, lambda: held.place_hold(**wanted(key="x", amount=10_000))),
        (lastro.InsufficientFunds, lambda: held.place_hold(**wanted(key="x", account="hot", amount=10_000))),
        (lastro.HoldConflict, lambda: held.place_hold(**wanted(amount=99))),
        (lastro.HoldExceeded, lambda: held.capture(**capture(amount=101))),
        (lastro.UnknownHold, lambda: held.release(key="r", hold="nothing")),
        (lastro.HoldExceeded, lambda: held.release(key="r", hold="h", amount=101)),
        (lastro.UnknownAccount, lambda: held.capture(**capture(credit="nobody"))),
        (lastro.UnknownAccount, lambda: held.capture_group(key="c", group="g", credit="nobody", kind="sale")),
    ):
        with pytest.raises(error):
            call()
    assert held.place_hold(**wanted()).replayed
    assert held.capture(**capture()).transfer.amount == 100
    with pytest.raises(lastro.HoldClosed):
        held.capture(**capture(key="late"))
    caller.order(2)
    caller.commit()
    assert raw("SELECT id FROM {s}.orders ORDER BY id") == [(1,), (2,)]
    after = raw.written()
    assert {table for table in after if after[table] != before[table]} <= {
        "orders", "transfer", "transfer_key", "tail", "hold_event", "open_hold", "base amounts", "base payments",
    }  # fmt: skip
    assert (after["hold"], after["transfer"]) == (before["hold"], before["transfer"] + 1)
    assert books.transfer("c") is not None


@pytest.mark.stores("mariadb")
@pytest.mark.case("C037")
def test_an_older_snapshot_sees_what_was_committed_since(books: Ledger, caller: Caller, raw: Raw) -> None:
    """In a caller's REPEATABLE READ, whose snapshot is older, a hold placed or ended since is what it is now."""
    caller.execute("SELECT count(*) FROM {s}.account")
    held = books.within(caller.handle)
    books.place_hold(**wanted(key="new"))
    books.release(key="r", hold="h")
    assert held.place_hold(**wanted(key="new")).replayed
    assert held.capture(**capture(hold="new")).transfer.amount == 100
    with pytest.raises(lastro.HoldClosed) as caught:
        held.capture(**capture(key="late"))
    assert caught.value.state == "released"
    assert held.release(key="r", hold="h").replayed
    caller.commit()
    assert raw("SELECT count(*) FROM {s}.open_hold") == [(0,)]
