"""Posting many transfers in one transaction: all or nothing, or each for itself."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

import lastro
from lastro import Ledger, Posted
from lastro.testing import Clock
from tests.conformance.conftest import Raw

pytestmark = pytest.mark.usefixtures("balanced")


def wanted(**changed: Any) -> dict[str, Any]:
    """A transfer of 5 BRL from the world to `direct`, changed."""
    return {
        "key": "k", "kind": "pay", "debit": "world", "credit": "direct", "amount": 5, "currency": "BRL",
    } | changed  # fmt: skip


@pytest.fixture
def books(book: Ledger) -> Ledger:
    """A ledger with an account of each keeping, called so, with a floor of 0, and a free one without."""
    book.open_account("direct", "BRL")
    book.open_account("hot", "BRL", keeping="hot")
    book.open_account("summed", "BRL", keeping="summed")
    book.open_account("free", "BRL", keeping="hot", floor=None)
    return book


@pytest.mark.stores(without=("firebird",))
def test_a_batch_does_what_its_transfers_would_do(books: Ledger, raw: Raw) -> None:
    """In their order, each against what those before it left: balances, chains, payments and tail as one by one."""
    batch = [
        wanted(key="1", amount=100),
        wanted(key="2", debit="direct", credit="hot", amount=40),
        wanted(key="3", debit="hot", credit="summed", amount=40),
        wanted(key="4", debit="summed", credit="direct", amount=40),
        wanted(key="5", debit="direct", credit="free", amount=100),
        wanted(key="6", debit="free", credit="hot", amount=250),
    ]
    outcomes = books.post_many(batch)
    assert [outcome.replayed for outcome in outcomes] == [False] * 6
    assert [outcome.transfer.key for outcome in outcomes] == ["1", "2", "3", "4", "5", "6"]
    assert [outcome.transfer.id for outcome in outcomes] == sorted(outcome.transfer.id for outcome in outcomes)
    chain = [(t.credit_before, t.credit_after, t.debit_before, t.debit_after) for t, _ in outcomes]
    assert chain == [
        (0, 100, None, None),
        (None, None, 100, 60),
        (None, None, None, None),
        (60, 100, None, None),
        (None, None, 100, 0),
        (None, None, None, None),
    ]
    posted = {name: books.balance(name, "BRL").posted for name in ("direct", "hot", "summed", "free", "world")}
    assert posted == {"direct": 0, "hot": 250, "summed": 0, "free": -150, "world": -100}
    assert [books.transfer(outcome.transfer.key) for outcome in outcomes] == [t for t, _ in outcomes]
    tails = raw("SELECT name, amount FROM {s}.tail JOIN {s}.account ON id = account_id ORDER BY 1")
    assert tails == [("free", -150), ("hot", 250)], "one tail row an account, of the batch's sum"


def test_all_or_nothing(books: Ledger, raw: Raw) -> None:
    """The first refusal is raised with its position, and nothing of the batch is written."""
    before = raw.written()
    with pytest.raises(lastro.InsufficientFunds, match="transfer 1 of the batch") as caught:
        books.post_many(
            [
                wanted(key="1", amount=10),
                wanted(key="2", debit="direct", credit="hot", amount=11),
                wanted(key="3", credit="nobody"),
            ]
        )
    assert (caught.value.index, caught.value.needed, caught.value.available) == (1, 11, 10)
    assert raw.written() == before


def test_partial_refuses_alone(books: Ledger) -> None:
    """With partial=True each refused transfer has its refusal where the others have their Posted, in their order."""
    conflict = wanted(key="there", amount=1)
    books.post(**conflict)
    outcomes = books.post_many(
        [
            wanted(key="1", amount=10),
            wanted(key="2", debit="direct", credit="hot", amount=12),
            wanted(key="3", credit="nobody"),
            wanted(key="there", amount=2),
            wanted(key="there", amount=1),
            wanted(key="6", amount=0),
            wanted(key="7", debit="direct", credit="hot", amount=11),
            {"key": "8"},
            "not a mapping",  # type: ignore[list-item]
            wanted(key="10", currency="USD"),
        ],
        partial=True,
    )
    assert [type(outcome) for outcome in outcomes] == [
        Posted,
        lastro.InsufficientFunds,
        lastro.UnknownAccount,
        lastro.TransferConflict,
        Posted,
        lastro.AmountOutOfRange,
        Posted,
        lastro.InvalidInput,
        lastro.InvalidInput,
        lastro.CurrencyMismatch,
    ]
    assert isinstance(outcomes[4], Posted)
    assert outcomes[4].replayed
    assert (books.balance("direct", "BRL").posted, books.balance("hot", "BRL").posted) == (0, 11)


@pytest.mark.req("0.2")
@pytest.mark.req("2.5")
def test_a_key_twice_in_one_batch_posts_once(books: Ledger) -> None:
    """The same key twice: the second is the first one's replay, or a conflict where it says something else."""
    first, again = books.post_many([wanted(actor="x"), wanted(actor="y", metadata={"y": 1})])
    assert (first.replayed, again.replayed) == (False, True)
    assert first.transfer == again.transfer
    assert books.balance("direct", "BRL").posted == 5
    outcomes = books.post_many([wanted(key="n"), wanted(key="n", amount=6), wanted(key="n")], partial=True)
    assert isinstance(outcomes[1], lastro.TransferConflict)
    assert outcomes[1].fields == {"amount": (5, 6)}
    assert isinstance(outcomes[2], Posted)
    assert outcomes[2].replayed
    with pytest.raises(lastro.TransferConflict, match="stands twice in this batch") as caught:
        books.post_many([wanted(key="m"), wanted(key="m", amount=6)])
    assert caught.value.index == 1
    assert books.transfer("m") is None


def test_a_refused_key_is_free_for_the_next_of_its_batch(books: Ledger) -> None:
    """A transfer that was refused doesn't take its key: a later one in the batch under that key is judged anew."""
    outcomes = books.post_many(
        [wanted(key="k", debit="direct", credit="hot", amount=1), wanted(key="k", amount=7)], partial=True
    )
    assert isinstance(outcomes[0], lastro.InsufficientFunds)
    assert outcomes[1] == Posted(books.transfer("k"), replayed=False)  # type: ignore[arg-type]


@pytest.mark.req("0.2")
def test_a_batch_is_replayed_whole(books: Ledger, raw: Raw) -> None:
    """Sent again, a batch writes nothing and returns the same transfers; half known, it posts the other half."""
    batch = [wanted(key=str(number), credit=name) for number, name in enumerate(("direct", "hot", "summed"))]
    first = books.post_many(batch[:2])
    second = books.post_many(batch)
    assert [outcome.replayed for outcome in second] == [True, True, False]
    assert [outcome.transfer for outcome in second[:2]] == [outcome.transfer for outcome in first]
    before = raw.written()
    assert [outcome.replayed for outcome in books.post_many(batch)] == [True, True, True]
    assert raw.written() == before


def test_an_empty_batch_is_nothing(books: Ledger, raw: Raw) -> None:
    """No transfers: no outcomes, no rows."""
    before = raw.written()
    assert books.post_many([]) == []
    assert books.post_many([], partial=True) == []
    assert raw.written() == before


def test_a_batch_has_a_limit(books: Ledger) -> None:
    """10,000 transfers go in one call and each gets its outcome; one more is refused before anything is written."""
    many = [wanted(key=f"k{number}", credit=("hot", "direct")[number % 2], amount=1) for number in range(10_001)]
    with pytest.raises(lastro.InvalidInput, match="a batch may have 10000 transfers; this one has 10001"):
        books.post_many(many)
    outcomes = books.post_many(many[:-1])
    assert len({outcome.transfer.id for outcome in outcomes}) == 10_000
    assert (books.balance("hot", "BRL").posted, books.balance("direct", "BRL").posted) == (5_000, 5_000)
    assert outcomes[-1].transfer.credit_after == 5_000


@pytest.mark.req("1.9")
def test_a_batch_records_one_moment(reopen: Callable[..., Ledger]) -> None:
    """All of a batch is recorded at one moment; occurred_at is each transfer's own."""
    book = reopen(clock=Clock(datetime(2026, 1, 1, tzinfo=UTC)))
    book.open_account("direct", "BRL")
    outcomes = book.post_many([wanted(key="1"), wanted(key="2", occurred_at=datetime(2025, 1, 1, tzinfo=UTC))])
    assert {transfer.recorded_at for transfer, _ in outcomes} == {datetime(2026, 1, 1, tzinfo=UTC)}
    assert [transfer.occurred_at.year for transfer, _ in outcomes] == [2026, 2025]


@pytest.mark.stores(without=("firebird",))
def test_stale_beliefs_do_not_mislead_a_batch(books: Ledger, reopen: Callable[..., Ledger]) -> None:
    """A process that believes an account hot and free posts a batch rightly after it became direct elsewhere."""
    other = reopen()
    other.post_many([wanted(key="1", credit="free"), wanted(key="2", credit="hot")])
    books.keep("free", "BRL", "direct")
    books.keep("hot", "BRL", "direct")
    outcomes = other.post_many([wanted(key="3", credit="free"), wanted(key="4", debit="free", credit="hot", amount=12)])
    assert [(t.credit_before, t.credit_after) for t, _ in outcomes] == [(5, 10), (5, 17)]
    assert books.balance("free", "BRL").posted == -2
