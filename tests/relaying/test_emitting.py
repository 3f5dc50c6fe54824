"""Events are written in the transaction of what they tell of: with it or not at all, and once."""

from __future__ import annotations

import sqlite3
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psycopg
import pytest

import lastro
from lastro import AsyncLedger, InvalidInput, Ledger
from lastro.model.limits import EVENT_BYTES_MAX
from tests.relaying.taking import emit
from tests.support.money import fund, transfer

pytestmark = pytest.mark.req("3.13")


@pytest.fixture
def shop(ledger: Ledger) -> Ledger:
    """A ledger with money on an account of each keeping."""
    fund(ledger, "ana", 1_000)
    fund(ledger, "shop", 0, "hot")
    return ledger


def ids(ledger: Ledger) -> list[str]:
    """The ids of what waits, in the order of writing."""
    return [event.event_id for event in ledger.outbox.waiting()]


def test_a_transfer_becomes_an_event_where_it_is_asked_for(shop: Ledger) -> None:
    """With `emitting` each transfer made writes one event, amounts as strings; without it none."""
    emitting = shop.emitting("transfers", ordered_by="credit")
    posted = emitting.post(**transfer("t1", "ana", "shop", 2**40, cause="order:1") | {"amount": 7}).transfer
    shop.post(**transfer("t2", "ana", "shop", 7))
    (event,) = shop.outbox.waiting()
    assert (event.event_id, event.topic, event.ordering_key) == ("transfer:t1", "transfers", "shop")
    assert event.payload["amount"] == "7"
    assert event.payload["transfer_id"] == str(posted.id)
    assert event.payload["recorded_at"] == posted.recorded_at.isoformat()
    assert event.opened_at == posted.recorded_at


def test_a_replay_emits_nothing(shop: Ledger) -> None:
    """Posted twice, and once in a batch beside a new one: one event a transfer, for good."""
    emitting = shop.emitting("transfers")
    for _ in range(2):
        emitting.post(**transfer("t1", "ana", "shop", 7))
    assert ids(shop) == ["transfer:t1"]
    shop.outbox.skip("transfer:t1", reason="as if it was published", actor="test")
    emitting.post(**transfer("t1", "ana", "shop", 7))
    emitting.post_many([transfer(key, "ana", "shop", 7) for key in ("t1", "t2", "t3")])
    assert ids(shop) == ["transfer:t2", "transfer:t3"]


def test_everything_that_moves_money_emits(shop: Ledger) -> None:
    """Batches with refusals among them, reversals, credits and captures: an event for each transfer that was made."""
    emitting = shop.emitting("transfers")
    done = emitting.post_many([transfer("a", "ana", "shop", 1), transfer("b", "ana", "shop", 10**9)], partial=True)
    assert isinstance(done[1], lastro.InsufficientFunds)
    emitting.reverse("a", "undo a")
    shop.place_hold(
        key="h", account="ana", currency="BRL", amount=9, owner="x", expires_at=datetime(2100, 1, 1, tzinfo=UTC)
    )
    emitting.capture(key="c", hold="h", credit="shop", kind="capture", amount=4)
    assert ids(shop) == ["transfer:a", "transfer:undo a", "transfer:c"]
    with pytest.raises(InvalidInput, match="points"):
        _ = emitting.points


@pytest.mark.case("C068")
def test_an_event_shares_its_transfers_fate(shop: Ledger, server_url: str, ledger_name: str) -> None:
    """In a caller's transaction the event is committed or rolled back with the transfer; a refusal leaves neither."""
    with psycopg.connect(server_url) as connection:
        held = shop.within(connection).emitting("transfers")
        held.post(**transfer("gone", "ana", "shop", 7))
        with pytest.raises(lastro.InsufficientFunds):
            held.post(**transfer("refused", "ana", "shop", 10**9))
        assert [event.event_id for event in held.outbox.waiting()] == ["transfer:gone"]
        connection.rollback()
        assert ids(shop) == []
        shop.emitting("transfers").within(connection).post(**transfer("kept", "ana", "shop", 7))
        shop.within(connection).outbox.emit(
            [{"event_id": "mine:1", "topic": "orders", "ordering_key": "o", "payload": {"n": 1}}]
        )
    assert ids(shop) == ["transfer:kept", "mine:1"]
    assert shop.transfer("kept") is not None
    assert ledger_name


def test_the_order_of_an_account_is_the_order_of_its_postings(shop: Ledger) -> None:
    """On an account that is locked by each posting, an event is written behind the lock: numbers follow the balance."""
    emitting = shop.emitting("transfers")
    with emitting.batching() as batcher:
        for number in range(20):
            batcher.post(**transfer(f"t{number}", "ana", "shop", 1))
    entries = [entry.key for entry in shop.entries("ana", "BRL") if entry.side == "debit"]
    assert [f"transfer:{key}" for key in entries] == ids(shop)


async def test_the_awaited_twin_emits(shop: Ledger, async_ledger: AsyncLedger) -> None:
    """From asyncio the same."""
    emitting = async_ledger.emitting("transfers", ordered_by="cause")
    await emitting.post(**transfer("t1", "ana", "shop", 7))
    await async_ledger.outbox.emit([{"event_id": "e", "topic": "t", "ordering_key": "k", "payload": {}}])
    assert [event.ordering_key for event in await async_ledger.outbox.waiting()] == ["t1", "k"]
    assert (await async_ledger.outbox.standing()).waiting == 2
    await async_ledger.outbox.skip("e", reason="why", actor="who")
    assert ids(shop) == ["transfer:t1"]


def test_an_event_that_waits_is_not_doubled(ledger: Ledger) -> None:
    """The same id emitted again while it waits changes nothing."""
    emit(ledger, ("e", "k"), ("f", "k"), ("e", "other"))
    assert [(event.event_id, event.ordering_key) for event in ledger.outbox.waiting()] == [("e", "k"), ("f", "k")]


EVENT: dict[str, Any] = {"event_id": "e", "topic": "t", "ordering_key": "k", "payload": {}}


WRONG: tuple[dict[str, Any], ...] = (
    {"event_id": ""}, {"event_id": "x" * 501}, {"topic": "a b"}, {"topic": "a..b"}, {"topic": "orders.>"},
    {"ordering_key": "\0"}, {"payload": "{}"}, {"payload": {"x": float("nan")}}, {"payload": {"x": "\0"}},
    {"payload": {"x": "y" * EVENT_BYTES_MAX}}, {"more": 1},
)  # fmt: skip


def test_what_is_no_event_is_refused(ledger: Ledger) -> None:
    """Refused before any SQL runs, and nothing of the call is written."""
    for wrong in WRONG:
        with pytest.raises(InvalidInput):
            ledger.outbox.emit([EVENT, EVENT | {"event_id": "f"} | wrong])
    assert ledger.outbox.waiting() == []


def test_elsewhere_there_is_no_outbox(tmp_path: Path) -> None:
    """On a store without one it is refused as soon as it is asked for, in a caller's transaction too."""
    with lastro.connect(f"sqlite:///{tmp_path}/ledger.db") as ledger:
        ledger.migrate()
        for books in (ledger, ledger.within(sqlite3.connect(tmp_path / "ledger.db"))):
            with pytest.raises(lastro.InvalidInput, match="PostgreSQL"):
                books.emitting("transfers")
        with pytest.raises(lastro.InvalidInput, match="PostgreSQL"):
            ledger.outbox.emit([EVENT])
