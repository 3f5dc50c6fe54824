"""Points on every store, blocking and awaited, and inside every kind of caller's transaction."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from lastro import CapExceeded, InsufficientFunds, InvalidInput, Ledger, UnknownAccount
from lastro.testing import Clock
from tests.conformance.adapters import Caller
from tests.conformance.conftest import Raw

pytestmark = pytest.mark.usefixtures("balanced")
WITH_POINTS = pytest.mark.stores(without=("firebird",))

MUG = "reward:mug"


def prepare(book: Any) -> None:
    """Two rules, a reward, and a member with 30 points of which 10 expire."""
    book.open_account(MUG, "PTS", floor=None)
    book.points.define_rule("game", activity="game", points=10, currency="PTS", cap=10, beyond_cap="refuse", lot_days=3)
    book.points.define_rule("bonus", activity="bonus", points=1, currency="PTS")
    book.points.earn("game:1", activity="game", member="ana")
    book.points.earn("bonus:1", activity="bonus", member="ana", units=20)


@WITH_POINTS
@pytest.mark.req("1.11")
@pytest.mark.req("1.12")
@pytest.mark.req("1.13")
def test_the_life_of_points(reopen: Callable[..., Ledger]) -> None:
    """Earned, spent, given, refunded, expired, cancelled and erased: each call answers what it answers everywhere."""
    clock = Clock()
    book = reopen(clock=clock)
    prepare(book)
    points = book.points
    spend = points.spend(key="s", member="ana", amount=15, currency="PTS", reward=MUG)
    assert (spend.replayed, spend.transfer.kind, spend.transfer.debit_after) == (False, "spend", 15)
    assert points.give(key="g", giver="ana", receiver="ben", amount=5, currency="PTS").transfer.kind == "give"
    assert points.refund(key="r", spend="s", amount=12).transfer.reverses == "s"
    assert [lot.left_over for lot in points.lots("ana", "PTS")] == [7, 15]
    clock.advance(timedelta(days=5))
    expired = points.expire()
    assert (expired.lots, expired.points) == (1, 7)
    assert points.cancel("bonus:1").activity.earnings == ()
    assert book.balance("ana", "PTS").posted == -5
    erased = points.erase("ana")
    assert (erased.accounts, book.balance(erased.pseudonym, "PTS").posted) == (1, -5)


@WITH_POINTS
def test_inside_a_callers_transaction(callers_book: Any, caller: Caller, raw: Raw) -> None:
    """Everything that one transaction can hold is kept or undone with the caller's own work."""
    prepare(callers_book)
    before = raw.written()
    erased = None
    for keeps in (False, True):
        held = callers_book.within(caller.handle).points
        caller.order(1)
        held.earn("bonus:2", activity="bonus", member="cleo", units=6)
        held.spend(key="s", member="ana", amount=15, currency="PTS", reward=MUG)
        held.give(key="g", giver="ana", receiver="ben", amount=5, currency="PTS")
        held.refund(key="r", spend="s", amount=12)
        held.cancel("bonus:1")
        erased = held.erase("cleo")
        assert [lot.left_over for lot in held.lots("ana", "PTS")] == [2]
        if keeps:
            caller.commit()
        else:
            caller.rollback()
            assert raw.written() == before
    assert raw.one("SELECT count(*) FROM {s}.orders") == 1
    assert callers_book.balance("ana", "PTS").posted == 2
    assert erased is not None
    assert callers_book.balance(erased.pseudonym, "PTS").posted == 6


@WITH_POINTS
def test_a_refusal_undoes_itself_and_nothing_else(callers_book: Any, caller: Caller, raw: Raw) -> None:
    """What was done before and after it in the transaction is kept; it left no account, no activity and no lot behind."""
    prepare(callers_book)
    before = raw.written()
    held = callers_book.within(caller.handle).points
    caller.order(1)
    with pytest.raises(InsufficientFunds):
        held.give(key="g", giver="ana", receiver="newcomer", amount=31, currency="PTS")
    with pytest.raises(InsufficientFunds):
        held.spend(key="s", member="ana", amount=31, currency="PTS", reward=MUG)
    with pytest.raises(CapExceeded):
        held.earn("game:2", activity="game", member="ana")
    with pytest.raises(UnknownAccount):
        held.spend(key="s", member="nobody", amount=1, currency="PTS", reward=MUG)
    caller.order(2)
    caller.commit()
    assert raw.one("SELECT count(*) FROM {s}.orders") == 2
    after = raw.written()
    assert after | {"orders": 0} == before | {"orders": 0}


@pytest.mark.stores("firebird")
def test_a_store_without_points_says_so(book: Any) -> None:
    """The generic dialect refuses each of them by what it can't do, and writes nothing."""
    points = book.points
    moving = {"key": "k", "amount": 1, "currency": "PTS"}
    calls: list[Callable[[], Any]] = [
        lambda: points.define_rule("game", activity="game", points=1, currency="PTS"),
        lambda: points.earn("game:1", activity="game", member="ana"),
        lambda: points.give(giver="ana", receiver="ben", **moving),
        lambda: points.erase("ana"),
        points.expire,
    ]
    for call in calls:
        with pytest.raises(InvalidInput, match="they need PostgreSQL, MariaDB, MySQL or SQLite"):
            call()
    assert book.accounts() == []
