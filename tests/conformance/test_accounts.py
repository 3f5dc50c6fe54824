"""Opening, finding, listing and closing accounts."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

import lastro
from lastro import Ledger
from lastro.model.account import Keeping
from lastro.testing import Clock

pytestmark = pytest.mark.usefixtures("balanced")


def pay(book: Ledger, key: str, debit: str, credit: str, amount: int, **more: object) -> lastro.Posted:
    """Post with the least said."""
    wanted = {"kind": "pay", "currency": "BRL"} | more
    return book.post(key=key, debit=debit, credit=credit, amount=amount, **wanted)  # type: ignore[arg-type]


@pytest.mark.stores(without=("firebird",))
def test_an_account_opens_with_its_terms(book: Ledger) -> None:
    """The defaults are direct and a floor of 0; what was asked for is what is stored."""
    plain = book.open_account("seller:42", "BRL")
    assert (plain.keeping, plain.floor, plain.closed_at, plain.metadata) == ("direct", 0, None, None)
    assert plain.opened_at.utcoffset() == timedelta(0)
    fancy = book.open_account("platform", "BRL", keeping="hot", floor=-500, metadata={"ü": [1, None], "a": {"b": "'"}})
    assert fancy == book.account("platform", "BRL")
    assert (fancy.keeping, fancy.floor, fancy.metadata) == ("hot", -500, {"ü": [1, None], "a": {"b": "'"}})
    assert book.open_account("points", "POINTS", keeping="summed", floor=None).floor is None


@pytest.mark.req("0.2")
@pytest.mark.stores(without=("firebird",))
def test_an_account_opens_once(book: Ledger) -> None:
    """Opened again on equal terms it is the same account; on other terms it is a conflict that names them."""
    first = book.open_account("a", "BRL", keeping="hot", floor=None)
    assert book.open_account("a", "BRL", keeping="hot", floor=None) == first
    with pytest.raises(lastro.AccountConflict, match="keeping is 'hot', asked for 'direct'") as caught:
        book.open_account("a", "BRL")
    assert caught.value.fields == {"keeping": ("hot", "direct"), "floor": (None, 0)}
    assert book.account("a", "BRL") == first


def test_one_name_in_several_currencies(book: Ledger) -> None:
    """(name, currency) is the account; the world opens in each currency by itself."""
    book.open_account("a", "BRL")
    book.open_account("a", "USD", floor=None)
    pay(book, "k", "world", "a", 5)
    assert (book.balance("a", "BRL").posted, book.balance("a", "USD").posted) == (5, 0)
    assert [(a.name, a.currency) for a in book.accounts()] == [
        ("a", "BRL"), ("a", "USD"), ("world", "BRL"), ("world", "USD"),
    ]  # fmt: skip
    world = book.account("world", "BRL")
    assert (world.keeping, world.floor) == ("summed", None)


def test_the_world_is_not_opened_by_hand(book: Ledger) -> None:
    """`world` is the ledger's own."""
    with pytest.raises(lastro.InvalidInput, match="opens by itself"):
        book.open_account("world", "BRL", keeping="summed", floor=None)


def test_a_missing_account_is_told_from_a_wrong_currency(book: Ledger) -> None:
    """UnknownAccount names what to do; CurrencyMismatch names the currencies that are there."""
    book.open_account("a", "BRL")
    with pytest.raises(lastro.UnknownAccount, match=r"open_account\('b', 'BRL'\)") as unknown:
        book.account("b", "BRL")
    assert (unknown.value.account, unknown.value.currency) == ("b", "BRL")
    with pytest.raises(lastro.CurrencyMismatch) as mismatch:
        book.account("a", "USD")
    assert mismatch.value.currencies == ["BRL"]


def test_accounts_are_listed_in_pages(book: Ledger) -> None:
    """Pages follow one another without gap or overlap, bytewise, and a prefix is text: `%` and `_` mean themselves."""
    names = sorted(["Zoe", "a_b", "a%b", "axb", "seller:1", "seller:10", "seller:2", "ärger"], key=str.encode)
    for name in reversed(names):
        book.open_account(name, "BRL")
    seen: list[str] = []
    after = None
    while page := book.accounts(after=after, limit=3):
        assert len(page) <= 3
        seen += [account.name for account in page]
        after = (page[-1].name, page[-1].currency)
    assert seen == sorted([*names, "world"], key=str.encode)
    assert [a.name for a in book.accounts(prefix="a_")] == ["a_b"]
    assert [a.name for a in book.accounts(prefix="seller:1")] == ["seller:1", "seller:10"]
    assert [a.name for a in book.accounts(prefix="seller:", after=("seller:1", "BRL"))] == ["seller:10", "seller:2"]


def test_a_page_has_a_limit(book: Ledger) -> None:
    """1 … 1,000 rows a page; anything else is refused."""
    book.open_account("a", "BRL")
    limits: list[Any] = [0, -1, 1_001, True, "10", 2.0]
    for limit in limits:
        with pytest.raises(lastro.InvalidInput, match="limit must be 1 … 1000"):
            book.accounts(limit=limit)
        with pytest.raises(lastro.InvalidInput, match="limit must be 1 … 1000"):
            book.entries("a", "BRL", limit=limit)


@pytest.mark.parametrize(
    "keeping", ["direct", "hot", pytest.param("summed", marks=pytest.mark.stores(without=("firebird",)))]
)
def test_an_account_closes_when_it_is_empty(book: Ledger, keeping: Keeping) -> None:
    """Closing wants a zero balance; a closed account takes no transfers, isn't opened again, and stays readable."""
    book.open_account("a", "BRL", keeping=keeping)
    pay(book, "in", "world", "a", 5)
    with pytest.raises(lastro.AccountNotEmpty) as full:
        book.close_account("a", "BRL")
    assert (full.value.posted, full.value.held) == (5, 0)
    assert book.account("a", "BRL").closed_at is None
    pay(book, "out", "a", "world", 5)
    closed = book.close_account("a", "BRL")
    assert closed.closed_at is not None
    assert book.close_account("a", "BRL") == closed
    for debit, credit in (("world", "a"), ("a", "world")):
        with pytest.raises(lastro.AccountClosed, match="closed"):
            pay(book, "late", debit, credit, 1)
        with pytest.raises(lastro.AccountClosed, match="transfer 0"):
            book.post_many(
                [{"key": "l", "kind": "pay", "debit": debit, "credit": credit, "amount": 1, "currency": "BRL"}]
            )
    with pytest.raises(lastro.AccountClosed, match="choose another name"):
        book.open_account("a", "BRL", keeping=keeping)
    with pytest.raises(lastro.AccountClosed):
        book.keep("a", "BRL", "hot")
    assert book.balance("a", "BRL").posted == 0
    assert [entry.key for entry in book.entries("a", "BRL")] == ["in", "out"]
    assert pay(book, "in", "world", "a", 5).replayed, "what was posted before the closing is still replayed"


@pytest.mark.stores(without=("firebird",))
def test_another_process_hears_of_a_closing(book: Ledger, reopen: Callable[..., Ledger]) -> None:
    """A process that believes an account open learns that it was closed, and posts nothing."""
    book.open_account("a", "BRL", keeping="hot", floor=None)
    other = reopen()
    pay(other, "1", "world", "a", 5)
    pay(other, "2", "a", "world", 5)
    book.close_account("a", "BRL")
    with pytest.raises(lastro.AccountClosed):
        pay(other, "3", "world", "a", 1)


@pytest.mark.stores(without=("firebird",))
@pytest.mark.parametrize("keeping", ["hot", "summed"])
@pytest.mark.parametrize("way", ["post", "a few", "a batch", "partly"])
def test_a_closing_is_told_before_the_funds(
    book: Ledger, reopen: Callable[..., Ledger], keeping: Keeping, way: str
) -> None:
    """A debit that isn't covered, to an account that somebody closed, is refused for the closing, as everywhere else."""
    book.open_account("a", "BRL", keeping=keeping)
    book.open_account("b", "BRL", keeping=keeping, floor=None)
    other = reopen()
    pay(other, "1", "world", "b", 5)
    pay(other, "2", "b", "world", 5)
    book.close_account("b", "BRL")
    wanted: dict[str, Any] = {"kind": "pay", "debit": "a", "credit": "b", "amount": 1, "currency": "BRL"}
    if way == "partly":
        outcomes = other.post_many([wanted | {"key": f"{number}"} for number in range(3, 6)], partial=True)
        assert {type(outcome) for outcome in outcomes} == {lastro.AccountClosed}
        return
    many = [wanted | {"key": f"{number}"} for number in range(3, 5 if way == "a few" else 40)]
    with pytest.raises(lastro.AccountClosed):
        other.post(**wanted, key="3") if way == "post" else other.post_many(many)


def test_an_account_opens_when_the_clock_says(reopen: Callable[..., Ledger]) -> None:
    """The clock that a test sets is the moment of opening and closing."""
    clock = Clock(datetime(2026, 5, 1, tzinfo=UTC))
    book = reopen(clock=clock)
    assert book.open_account("a", "BRL").opened_at == datetime(2026, 5, 1, tzinfo=UTC)
    clock.advance(seconds=60)
    assert book.close_account("a", "BRL").closed_at == datetime(2026, 5, 1, 0, 1, tzinfo=UTC)
