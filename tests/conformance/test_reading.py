"""Reading balances and entries: one snapshot, whole pages, past moments."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

import lastro
from lastro import Ledger
from lastro.model.account import Keeping
from lastro.testing import Clock
from tests.conformance.conftest import Raw

pytestmark = pytest.mark.usefixtures("balanced")

KEEPINGS: tuple[Keeping, ...] = ("direct", "hot", "summed")


def wanted(**changed: Any) -> dict[str, Any]:
    """A transfer of 5 BRL from the world to `a`, changed."""
    return {"key": "k", "kind": "pay", "debit": "world", "credit": "a", "amount": 5, "currency": "BRL"} | changed


@pytest.mark.req("0.5")
@pytest.mark.stores(without=("firebird",))
def test_a_balance_is_base_and_tail(book: Ledger, raw: Raw) -> None:
    """Before, between and after consolidation the balance is the same, to whoever reads it by method or by view."""
    book.open_account("a", "BRL", keeping="hot")
    for number in range(4):
        book.post(**wanted(key=str(number)))
    view = "SELECT posted, held, available FROM {s}.balance WHERE account = 'a'"
    assert book.balance("a", "BRL") == lastro.Balance("a", "BRL", posted=20, held=0, available=20)
    assert raw(view) == [(20, 0, 20)]
    assert book.consolidate().rows == 4
    book.post(**wanted(key="after"))
    assert raw(view) == [(25, 0, 25)]
    assert book.balance("a", "BRL").posted == 25
    assert raw.one("SELECT amount FROM {s}.base JOIN {s}.account ON id = account_id WHERE name = 'a'") == 20


@pytest.mark.req("1.2")
def test_a_summed_balance_is_the_sum_of_its_movements(book: Ledger, raw: Raw) -> None:
    """No balance is written for an account kept summed: the base amount stays 0, the movements add up to the balance."""
    book.open_account("a", "BRL", keeping="summed")
    for number in range(3):
        book.post(**wanted(key=str(number)))
    book.post(**wanted(key="out", debit="a", credit="world", amount=4))
    total = raw.one(
        "SELECT sum(CASE credit WHEN 'a' THEN amount ELSE -amount END) FROM {s}.movement WHERE 'a' IN (debit, credit)"
    )
    assert book.balance("a", "BRL").posted == total == 11
    assert raw("SELECT amount FROM {s}.base") == [(0,), (0,)]


@pytest.mark.req("0.6")
def test_entries_are_read_in_pages(book: Ledger) -> None:
    """Every entry once, oldest first, over page borders and both sides; `signed` adds up to the balance."""
    book.open_account("a", "BRL", floor=None)
    book.open_account("b", "BRL", keeping="hot", floor=None)
    keys = []
    for number in range(10):
        debit, credit = ("a", "b") if number % 3 == 0 else ("b", "a")
        keys.append(f"k{number}")
        book.post(**wanted(key=keys[-1], debit=debit, credit=credit, amount=number + 1))
    seen: list[lastro.Entry] = []
    for limit in (1, 3, 10, 11):
        seen = []
        after = None
        while page := book.entries("a", "BRL", after=after, limit=limit):
            seen += page
            after = page[-1].transfer_id
        assert [entry.key for entry in seen] == keys
    assert sum(entry.signed for entry in seen) == book.balance("a", "BRL").posted == 11
    first = seen[0]
    assert (first.side, first.amount, first.signed, first.counter_account) == ("debit", 1, -1, "b")
    assert (first.balance_before, first.balance_after) == (0, -1)
    for before, after_it in itertools.pairwise(seen):
        assert before.balance_after == after_it.balance_before
    assert all(entry.balance_before is None for entry in book.entries("b", "BRL"))
    assert book.entries("a", "BRL", after=seen[-1].transfer_id) == []


@pytest.mark.stores(without=("firebird",))
def test_the_entry_view_shows_both_sides(book: Ledger, raw: Raw) -> None:
    """The view is the read API for SQL: a debit and a credit a transfer, with who, whence and the balances."""
    book.open_account("a", "BRL")
    book.post(**wanted(source="order:1", actor="checkout", cause="c"))
    rows = raw(
        'SELECT account, side, amount, balance_before, balance_after, counter_account, "key", source, actor '
        "FROM {s}.entry ORDER BY side"
    )
    assert rows == [
        ("a", "credit", 5, 0, 5, "world", "k", "order:1", "checkout"),
        ("world", "debit", 5, None, None, "a", "k", "order:1", "checkout"),
    ]


@pytest.mark.parametrize("keeping", KEEPINGS)
def test_a_balance_at_a_moment(reopen: Callable[..., Ledger], keeping: Keeping) -> None:
    """What was recorded up to and with the moment counts, whatever the keeping was then or is now."""
    clock = Clock(datetime(2026, 1, 1, tzinfo=UTC))
    book = reopen(clock=clock)
    book.open_account("a", "BRL", keeping=keeping)
    for day in range(1, 4):
        clock.set(datetime(2026, 1, day, tzinfo=UTC))
        book.post(**wanted(key=f"in {day}", amount=10 * day, occurred_at=datetime(2020, 1, 1, tzinfo=UTC)))
    book.post(**wanted(key="out", debit="a", credit="world", amount=7))
    at = {
        moment: book.balance("a", "BRL", at=moment).posted
        for moment in (
            datetime(2025, 12, 31, tzinfo=UTC),
            datetime(2026, 1, 1, tzinfo=UTC),
            datetime(2026, 1, 2, tzinfo=UTC) - timedelta(microseconds=1),
            datetime(2026, 1, 2, tzinfo=UTC),
            datetime(2026, 1, 9, tzinfo=UTC),
        )
    }
    assert list(at.values()) == [0, 10, 10, 30, 53]
    assert book.balance("a", "BRL").posted == 53
    with pytest.raises(lastro.InvalidInput, match="at needs a time zone"):
        book.balance("a", "BRL", at=datetime(2026, 1, 1))  # noqa: DTZ001


def test_reading_what_is_not_there(book: Ledger) -> None:
    """An unknown account is refused, never a balance of 0 and never an empty page."""
    book.open_account("a", "BRL")
    assert book.balance("a", "BRL") == lastro.Balance("a", "BRL", posted=0, held=0, available=0)
    assert book.entries("a", "BRL") == []
    now = datetime.now(UTC)
    for name, currency, refusal in (
        ("b", "BRL", lastro.UnknownAccount), ("a", "USD", lastro.CurrencyMismatch), ("", "BRL", lastro.InvalidInput),
        ("a", "", lastro.InvalidInput),
    ):  # fmt: skip
        with pytest.raises(refusal):
            book.balance(name, currency)
        with pytest.raises(refusal):
            book.balance(name, currency, at=now)
        with pytest.raises(refusal):
            book.entries(name, currency)
