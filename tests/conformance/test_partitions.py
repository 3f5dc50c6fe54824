"""Partitions of the history: made ahead of need, never missed, and retired without a balance changing."""

from __future__ import annotations

from typing import Any

import pytest

import lastro
from lastro import Ledger
from lastro.model.account import Keeping
from lastro.testing import assert_balanced
from tests.conformance.conftest import Raw

pytestmark = pytest.mark.stores("postgres")

KEEPINGS: tuple[Keeping, ...] = ("direct", "hot", "summed")
SMALL = 10


@pytest.fixture(autouse=True)
def small_partitions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Partitions of 10 transfers, so that a test can fill some."""
    monkeypatch.setattr("lastro.ledger.operations.Operations.keep_partitions.__kwdefaults__", {
        "transfers": SMALL, "ahead": 2,
    })  # fmt: skip


def wanted(**changed: Any) -> dict[str, Any]:
    """A transfer of 5 BRL from the world to `direct`, changed."""
    return {
        "key": "k", "kind": "pay", "debit": "world", "credit": "direct", "amount": 5, "currency": "BRL",
    } | changed  # fmt: skip


@pytest.fixture
def books(book: Ledger, raw: Raw) -> Ledger:
    """A ledger with an account of each keeping and no partition but the default one: nobody kept them."""
    for keeping in KEEPINGS:
        book.open_account(keeping, "BRL", keeping=keeping)
    for partition in book.partitions():
        raw(f"DROP TABLE {{s}}.{partition.name}")
    assert book.partitions() == []
    return book


def post(book: Ledger, first: int, last: int) -> None:
    """Transfers number first … last, in and between the accounts of each keeping."""
    for number in range(first, last + 1):
        book.post(**wanted(key=f"in {number}", credit=KEEPINGS[number % 3], amount=10))
        if number % 2:
            pair = {"debit": KEEPINGS[number % 3], "credit": KEEPINGS[(number + 1) % 3]}
            book.post_many([wanted(key=f"move {number}", amount=number, **pair)])


def posted(book: Ledger) -> dict[str, int]:
    """The balance of each account."""
    return {name: book.balance(name, "BRL").posted for name in (*KEEPINGS, "world")}


@pytest.mark.req("3.11")
@pytest.mark.case("C096")
@pytest.mark.case("C097")
def test_a_missing_partition_stops_no_posting(books: Ledger, ledger: Ledger, raw: Raw) -> None:
    """Without partitions postings go to the default one; the keeper adopts them in place, nothing moves, all is read."""
    post(books, 1, 6)
    before, keys = posted(books), [entry.key for entry in books.entries("direct", "BRL")]
    stray = raw("SELECT id, key FROM {s}.transfer_default ORDER BY id")
    assert len(stray) == 9
    assert books.keep_partitions() == 2
    assert raw("SELECT count(*) FROM {s}.transfer_default") == [(0,)]
    adopted = books.partitions()[0]
    assert raw(f"SELECT id, key FROM {{s}}.{adopted.name} ORDER BY id") == stray
    assert (posted(books), [entry.key for entry in books.entries("direct", "BRL")]) == (before, keys)
    assert books.keep_partitions() == 0
    post(books, 7, 30)
    assert books.post(**wanted(key="in 3", credit="direct", amount=10)).replayed
    assert_balanced(ledger)


def test_partitions_lie_end_to_end(books: Ledger, ledger: Ledger) -> None:
    """Kept now and then, too late or in time, the partitions cover the ids without gap or overlap."""
    last = 0
    for step in (1, 3, 9, 20, 2):
        post(books, last + 1, last + step)
        last += step
        books.keep_partitions()
    partitions = books.partitions()
    bounds = [(partition.from_id, partition.to_id) for partition in partitions]
    assert bounds[0][0] == 1
    assert [begin for begin, _ in bounds[1:]] == [end for _, end in bounds[:-1]]
    assert bounds[-1][1] >= max(entry.transfer_id for entry in books.entries("world", "BRL")) + 2 * SMALL
    assert_balanced(ledger)


@pytest.mark.req("3.11")
@pytest.mark.case("C023")
def test_a_retired_partition_changes_no_balance(books: Ledger, ledger: Ledger, raw: Raw) -> None:
    """Balances of every keeping stand, keys stay taken, and posting, reversing and consolidating go on."""
    books.keep_partitions()
    post(books, 1, 30)
    books.keep_partitions()
    books.consolidate()
    post(books, 31, 33)
    before = posted(books)
    oldest = books.partitions()[0]
    gone = [key for (key,) in raw(f"SELECT key FROM {{s}}.{oldest.name} ORDER BY id")]
    assert len(gone) == SMALL
    assert books.retire_partition(oldest.name) == oldest._replace(transfers_about=oldest.transfers_about)
    assert posted(books) == before
    assert raw(f"SELECT count(*) FROM {{s}}.{oldest.name}") == [(SMALL,)], "the table stays, for an archive"
    assert oldest.name not in [partition.name for partition in books.partitions()]
    written = raw.written()
    for again in (wanted(key="in 1", credit="hot", amount=10), wanted(key="in 1", amount=11)):
        with pytest.raises(lastro.TransferConflict, match="was retired"):
            books.post(**again)
        with pytest.raises(lastro.TransferConflict, match="was retired"):
            books.post_many([again])
    with pytest.raises(lastro.TransferConflict, match="was retired"):
        books.reverse("in 1", "undo")
    with pytest.raises(lastro.TransferConflict, match="was retired"):
        books.transfer("in 1")
    assert raw.written() == written
    post(books, 34, 40)
    for name in KEEPINGS:
        books.post(**wanted(key=f"out {name}", debit=name, credit="world", amount=books.balance(name, "BRL").posted))
        assert books.balance(name, "BRL").posted == 0
    books.consolidate()
    assert posted(books) == dict.fromkeys((*KEEPINGS, "world"), 0)
    books.reverse("in 40", "undo 40")
    assert_balanced(ledger, whole_history=False)
    for keeping in KEEPINGS:
        books.keep("summed", "BRL", keeping)
        assert books.balance("summed", "BRL").posted == 0
    assert_balanced(ledger, whole_history=False)


def test_a_partition_in_use_is_not_retired(books: Ledger, raw: Raw) -> None:
    """What new transfers still go to, the default one, and what isn't there are refused with what could be retired."""
    books.keep_partitions()
    post(books, 1, 8)
    before = raw.written()
    names = [partition.name for partition in books.partitions()]
    for name in (names[-1], names[-2], "transfer_default", "transfer", "nothing", "x; DROP TABLE y", "", None, 5):
        with pytest.raises(lastro.InvalidInput, match=f"can't be retired.*these can: {names[0]}"):
            books.retire_partition(name)  # type: ignore[arg-type]
    assert raw.written() == before
    assert [partition.name for partition in books.partitions()] == names
