"""Reversing: undo a transfer by a new one, wholly or in part, never more than the original."""

from __future__ import annotations

from typing import Any

import pytest

import lastro
from lastro import Ledger
from lastro.model.account import Keeping
from tests.conformance.conftest import Raw

pytestmark = pytest.mark.usefixtures("balanced")

KEEPINGS: tuple[Keeping, ...] = ("direct", "hot", "summed")


def wanted(**changed: Any) -> dict[str, Any]:
    """A transfer of 100 BRL from the world to `a`, changed."""
    return {"key": "k", "kind": "pay", "debit": "world", "credit": "a", "amount": 100, "currency": "BRL"} | changed


@pytest.mark.req("1.12")
@pytest.mark.req("2.1")
@pytest.mark.parametrize("keeping", KEEPINGS)
def test_a_reversal_undoes_by_a_new_transfer(book: Ledger, keeping: Keeping) -> None:
    """The accounts change sides, the amount and the cause are the original's, `reverses` names it, once."""
    book.open_account("a", "BRL", keeping=keeping)
    original = book.post(**wanted(cause="order:1")).transfer
    undone = book.reverse("k", "undo", actor="support", metadata={"why": "cancelled"})
    transfer = undone.transfer
    assert not undone.replayed
    assert (transfer.debit, transfer.credit, transfer.amount) == ("a", "world", 100)
    assert (transfer.reverses, transfer.cause, transfer.kind, transfer.actor) == ("k", "order:1", "reversal", "support")
    assert book.balance("a", "BRL").posted == 0
    assert book.transfer("k") == original
    assert book.transfer("undo") == transfer
    assert book.reverse("k", "undo", actor="another") == lastro.Posted(transfer, replayed=True)
    with pytest.raises(lastro.AlreadyReversed) as caught:
        book.reverse("k", "undo again")
    assert (caught.value.key, caught.value.left) == ("k", 0)
    assert book.balance("a", "BRL").posted == 0


@pytest.mark.req("1.12")
@pytest.mark.parametrize("keeping", KEEPINGS)
def test_a_reversal_is_written_below_the_floor_and_a_spend_never(book: Ledger, keeping: Keeping) -> None:
    """What was earned and spent is reversed all the same; the debt keeps further spends out."""
    book.open_account("a", "BRL", keeping=keeping)
    book.post(**wanted())
    book.post(**wanted(key="spent", debit="a", credit="world", amount=70))
    with pytest.raises(lastro.InsufficientFunds):
        book.post(**wanted(key="more", debit="a", credit="world", amount=31))
    book.reverse("k", "undo")
    assert book.balance("a", "BRL").posted == -70
    with pytest.raises(lastro.InsufficientFunds) as caught:
        book.post(**wanted(key="more", debit="a", credit="world", amount=1))
    assert caught.value.available == -70


def test_parts_never_exceed_the_original(book: Ledger, raw: Raw) -> None:
    """Parts add up to the original and not beyond; None takes all that is left; the refusal says what that is."""
    book.open_account("a", "BRL")
    book.post(**wanted())
    assert book.reverse("k", "1", amount=30).transfer.amount == 30
    with pytest.raises(lastro.AlreadyReversed, match="70 left to reverse, and 71 was asked for") as caught:
        book.reverse("k", "2", amount=71)
    assert caught.value.left == 70
    assert book.reverse("k", "2", amount=20).transfer.amount == 20
    assert book.reverse("k", "3").transfer.amount == 50
    before = raw.written()
    for again in ({"key": "k", "new_key": "1", "amount": 30}, {"key": "k", "new_key": "3"}):
        assert book.reverse(**again).replayed
    with pytest.raises(lastro.AlreadyReversed):
        book.reverse("k", "4", amount=1)
    assert raw.written() == before
    assert book.balance("a", "BRL").posted == 0


def test_a_reversals_key_is_a_key_like_any_other(book: Ledger, raw: Raw) -> None:
    """A new key that names another transfer, or another part, is a conflict; nothing is written."""
    book.open_account("a", "BRL")
    book.post(**wanted())
    book.post(**wanted(key="other"))
    book.reverse("k", "part", amount=30)
    before = raw.written()
    for key, new_key, amount in (("k", "other", None), ("other", "part", None), ("k", "part", 31), ("k", "k", None)):
        with pytest.raises(lastro.TransferConflict):
            book.reverse(key, new_key, amount=amount)
    assert raw.written() == before


def test_what_is_not_there_cannot_be_reversed(book: Ledger, raw: Raw) -> None:
    """An unknown original is UnknownTransfer and names its key; bad arguments are InvalidInput; nothing is written."""
    book.open_account("a", "BRL")
    book.post(**wanted())
    before = raw.written()
    with pytest.raises(lastro.UnknownTransfer) as caught:
        book.reverse("nothing", "undo")
    assert caught.value.key == "nothing"
    bad: list[dict[str, Any]] = [
        {"key": "", "new_key": "n"}, {"key": "k", "new_key": ""}, {"key": "k", "new_key": "n" * 401},
        {"key": "k", "new_key": "n", "amount": 0}, {"key": "k", "new_key": "n", "amount": 1.0},
        {"key": "k", "new_key": "n", "kind": "k" * 17}, {"key": "k", "new_key": "n", "amount": True},
    ]  # fmt: skip
    for arguments in bad:
        with pytest.raises(lastro.InvalidInput):
            book.reverse(**arguments)
    assert raw.written() == before


def test_a_reversal_may_be_reversed(book: Ledger) -> None:
    """A reversal is a transfer: reversing it restores what it took, and it too is reversed once."""
    book.open_account("a", "BRL")
    book.post(**wanted())
    book.reverse("k", "undo")
    assert book.reverse("undo", "redo").transfer.reverses == "undo"
    assert book.balance("a", "BRL").posted == 100
    with pytest.raises(lastro.AlreadyReversed):
        book.reverse("k", "undo 2")


def test_a_reversal_needs_both_accounts_open(book: Ledger) -> None:
    """A closed account takes no reversal, but one that was applied before the closing is replayed."""
    book.open_account("a", "BRL")
    book.post(**wanted())
    book.post(**wanted(key="2"))
    undone = book.reverse("k", "undo")
    book.post(**wanted(key="out", debit="a", credit="world"))
    book.close_account("a", "BRL")
    assert book.reverse("k", "undo") == lastro.Posted(undone.transfer, replayed=True)
    with pytest.raises(lastro.AccountClosed):
        book.reverse("2", "undo 2")
    assert book.transfer("undo 2") is None
