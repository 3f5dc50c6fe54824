"""Sums at the edge of 64 bits: refused, never wrapped, whatever the keeping."""

from __future__ import annotations

from typing import Any

import pytest

import lastro
from lastro import Ledger
from lastro.model.account import Keeping
from tests.conformance.conftest import Raw

pytestmark = pytest.mark.usefixtures("balanced")

MOST = 2**63 - 1
KEEPINGS: tuple[Keeping, ...] = ("direct", "hot", "summed")


def wanted(**changed: Any) -> dict[str, Any]:
    """A transfer of 2^63−1 BRL from `source` to `a`, changed."""
    return {"key": "k", "kind": "pay", "debit": "source", "credit": "a", "amount": MOST, "currency": "BRL"} | changed


@pytest.mark.parametrize("batched", [False, True], ids=["alone", "batched"])
@pytest.mark.parametrize("keeping", KEEPINGS)
@pytest.mark.stores(without=("firebird",))
def test_two_of_the_largest_do_not_fit(book: Ledger, raw: Raw, keeping: Keeping, batched: bool) -> None:
    """A balance takes 2^63−1 and not one unit more, by credit or by debit; refused, with nothing written."""
    book.open_account("a", "BRL", keeping=keeping, floor=None)
    for source in ("source", "source 2"):
        book.open_account(source, "BRL", keeping=keeping, floor=None)

    def post(**changed: Any) -> None:
        if batched:
            book.post_many([wanted(**changed)])
        else:
            book.post(**wanted(**changed))

    post()
    assert (book.balance("a", "BRL").posted, book.balance("source", "BRL").posted) == (MOST, -MOST)
    before = raw.written()
    for amount in (MOST, 2**62, 2**41):
        with pytest.raises(lastro.AmountOutOfRange, match=r"leaves|leave the 64-bit range"):
            post(key="over", debit="source 2", amount=amount)
        with pytest.raises(lastro.AmountOutOfRange, match=r"leaves|leave the 64-bit range"):
            post(key="under", credit="source 2", amount=amount)
    assert raw.written() == before
    with pytest.raises(lastro.AmountOutOfRange):
        book.post_many(
            [wanted(key="1", debit="source 2", amount=2**41), wanted(key="2", debit="a", credit="source 2", amount=1)]
        )
    assert raw.written() == before
    post(key="down", debit="source", credit="source 2", amount=1)
    assert book.balance("source", "BRL").posted == -(2**63)
    post(key="back", debit="a", credit="source")
    book.consolidate()
    assert (book.balance("a", "BRL").posted, book.balance("source", "BRL").posted) == (0, -1)


def test_a_batch_adds_up_beyond_64_bits(book: Ledger, raw: Raw) -> None:
    """A batch whose transfers are each fine and whose sum isn't is refused at the one that goes beyond."""
    for name, keeping in (("hot", "hot"), ("direct", "direct"), ("summed", "summed")):
        book.open_account(name, "BRL", keeping=keeping, floor=None)  # type: ignore[arg-type]
    before = raw.written()
    for name in KEEPINGS:
        half = [wanted(key=f"{name} {number}", debit="world", credit=name, amount=2**62) for number in range(3)]
        with pytest.raises(lastro.AmountOutOfRange) as caught:
            book.post_many(half)
        assert caught.value.index == 1
    assert raw.written() == before


@pytest.mark.stores(without=("firebird",))
def test_back_and_forth_in_a_batch(book: Ledger) -> None:
    """The largest amount back and forth in one batch stays within the range at every step and is accepted."""
    book.open_account("a", "BRL", floor=None)
    book.open_account("source", "BRL", keeping="hot", floor=None)
    forth_and_back = [
        wanted(key=str(number), **({} if number % 2 == 0 else {"debit": "a", "credit": "source"}))
        for number in range(6)
    ]
    outcomes = book.post_many(forth_and_back)
    assert [transfer.credit_after for transfer, _ in outcomes] == [MOST, None] * 3
    assert (book.balance("a", "BRL").posted, book.balance("source", "BRL").posted) == (0, 0)


def test_the_world_has_an_end(book: Ledger, raw: Raw) -> None:
    """The world's own sum is judged like any other: it never leaves the 64-bit range either."""
    for name in ("a", "b"):
        book.open_account(name, "BRL", keeping="hot")
    book.post(**wanted(debit="world"))
    before = raw.written()
    with pytest.raises(lastro.AmountOutOfRange, match="'world'"):
        book.post(**wanted(key="2", debit="world", credit="b"))
    with pytest.raises(lastro.AmountOutOfRange, match="'world'"):
        book.post_many([wanted(key="2", debit="world", credit="b")])
    assert raw.written() == before
    book.post(**wanted(key="3", debit="a", credit="b"))
    assert book.balance("b", "BRL").posted == MOST


def test_the_balance_at_a_floor_near_the_edge(book: Ledger) -> None:
    """Floors at both ends of the range guard without overflowing themselves."""
    book.open_account("low", "BRL", floor=-(2**63))
    book.open_account("high", "BRL", keeping="hot", floor=MOST)
    book.post(**wanted(debit="low", credit="world", amount=MOST))
    with pytest.raises(lastro.InsufficientFunds) as caught:
        book.post(**wanted(key="2", debit="low", credit="world", amount=2))
    assert (caught.value.available, caught.value.floor) == (-MOST, -(2**63))
    with pytest.raises(lastro.InsufficientFunds) as caught:
        book.post(**wanted(key="3", debit="high", credit="low", amount=1))
    assert (caught.value.available, caught.value.floor) == (0, MOST)
