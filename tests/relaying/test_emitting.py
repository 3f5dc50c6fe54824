"""Events are written in the transaction of what they tell of: with it or not at all, and once."""

from __future__ import annotations

import sqlite3
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import psycopg
import pytest

import lastro
from lastro import AsyncLedger, EventConflict, InvalidInput, Ledger
from lastro.model.limits import EVENT_BYTES_MAX
from lastro.model.outbox import OutboxEvent
from lastro.relaying import Outcome
from tests.relaying.taking import Taking, emit, relay
from tests.support.money import fund, transfer
from tests.support.sessions import Background, Observer, Sessions

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
    """The same id with the same content, emitted again while it waits, changes nothing."""
    emit(ledger, ("e", "k"), ("f", "k"), ("e", "k"))
    emit(ledger, ("e", "k"))
    assert [(event.event_id, event.ordering_key) for event in ledger.outbox.waiting()] == [("e", "k"), ("f", "k")]


EVENT: dict[str, Any] = {"event_id": "e", "topic": "t", "ordering_key": "k", "payload": {"paid": "5", "to": "x"}}


OTHERS: tuple[tuple[dict[str, Any], dict[str, Any]], ...] = (
    ({"topic": "u"}, {"topic": ("t", "u")}),
    ({"ordering_key": "l"}, {"ordering_key": ("k", "l")}),
    ({"payload": {"paid": "6", "to": "x"}}, {"payload.paid": ("5", "6")}),
    ({"payload": {"paid": "5", "to": None}}, {"payload.to": ("x", None)}),
    ({"payload": {"paid": "5"}}, {"payload.to": ("x", None)}),
    ({"payload": {"paid": "5", "to": "x", "by": None}}, {"payload.by": (None, None)}),
)


def test_another_event_under_an_id_that_waits_is_refused(ledger: Ledger, session: Sessions) -> None:
    """The conflict names what differs; nothing of the call is written, and the caller's transaction goes on."""
    ledger.outbox.emit([EVENT])
    for other, fields in OTHERS:
        with pytest.raises(EventConflict) as conflict:
            ledger.outbox.emit([EVENT | {"event_id": "new"}, EVENT | other])
        assert (conflict.value.event_id, conflict.value.fields) == ("e", fields)
    with pytest.raises(EventConflict):
        ledger.outbox.emit([EVENT | {"event_id": "two"}, EVENT | {"event_id": "two", "topic": "u"}])
    ledger.outbox.emit([EVENT | {"event_id": "one", "payload": {"n": 1, "in": {"a": 1, "b": 2}}}])
    ledger.outbox.emit([EVENT | {"event_id": "one", "payload": {"in": {"b": 2, "a": 1}, "n": 1}}])
    with pytest.raises(EventConflict, match=r"payload\.n: stored 1, given True"):
        ledger.outbox.emit([EVENT | {"event_id": "one", "payload": {"n": True, "in": {"a": 1, "b": 2}}}])
    assert ids(ledger) == ["e", "one"]
    one = session()
    held = ledger.within(one)
    with pytest.raises(EventConflict):
        held.outbox.emit([EVENT | {"event_id": "new"}, EVENT | {"topic": "u"}])
    held.outbox.emit([EVENT | {"event_id": "later"}, EVENT])
    one.commit()
    assert ids(ledger) == ["e", "one", "later"]


def test_events_under_one_id_at_the_same_moment(ledger: Ledger, session: Sessions, observer: Observer) -> None:
    """Who comes second waits for the first: then it is there, or another one, or its own where the first was undone."""
    for number, (end, second) in enumerate((("commit", {}), ("commit", {"topic": "u"}), ("rollback", {"topic": "u"}))):
        event = EVENT | {"event_id": f"e{number}"}
        one, two = session(), session()
        ledger.within(one).outbox.emit([event])
        going = Background(partial(ledger.within(two).outbox.emit, [event | second]))
        observer.until_blocked(two.info.backend_pid, by=one.info.backend_pid)
        getattr(one, end)()
        error = going.error()
        two.commit()
        waiting = {found.event_id: found.topic for found in ledger.outbox.waiting()}
        assert isinstance(error, EventConflict) if (end, second) == ("commit", {"topic": "u"}) else error is None
        assert waiting[f"e{number}"] == ("t" if end == "commit" else "u")


def test_an_event_that_was_set_aside_is_not_doubled(ledger: Ledger) -> None:
    """Its id is taken until it is published or skipped: the same is there, another one a conflict, and retry works."""
    ledger.outbox.emit([EVENT])
    target = Taking(lambda _: Outcome("impossible", "no"))
    relay(ledger, target, attempts_max=1).run_once()
    ledger.outbox.emit([EVENT])
    assert ids(ledger) == []
    with pytest.raises(EventConflict):
        ledger.outbox.emit([EVENT | {"topic": "u"}])
    ledger.outbox.retry("e", reason="mended", actor="ana")
    assert (ids(ledger), ledger.outbox.set_aside()) == (["e"], [])


def test_ids_of_the_ledgers_own_are_refused(shop: Ledger) -> None:
    """Nobody else writes under `transfer:` and `bet:`: a transfer's event is told whatever was tried before."""
    for event_id in ("transfer:t1", "bet:s1:placed", "transfer:"):
        for event in (EVENT | {"event_id": event_id}, OutboxEvent(event_id, "t", "k", "{}")):
            with pytest.raises(InvalidInput, match="ledger's own") as refused:
                shop.outbox.emit([event])
            assert refused.value.argument == "event_id"
    shop.outbox.emit([EVENT | {"event_id": "transferred"}, OutboxEvent("bets:1", "t", "k", '{"a": "1"}')])
    shop.emitting("transfers").post(**transfer("t1", "ana", "shop", 7))
    assert ids(shop) == ["transferred", "bets:1", "transfer:t1"]


WRONG: tuple[dict[str, Any], ...] = (
    {"event_id": ""}, {"event_id": "x" * 501}, {"topic": "a b"}, {"topic": "a..b"}, {"topic": "orders.>"},
    {"ordering_key": "\0"}, {"payload": "{}"}, {"payload": {"x": float("nan")}}, {"payload": {"x": "\0"}},
    {"payload": {"x": "y" * EVENT_BYTES_MAX}}, {"more": 1},
)  # fmt: skip


def test_what_is_no_event_is_refused(ledger: Ledger) -> None:
    """Refused before any SQL runs, and nothing of the call is written."""
    for payload in ("", "[]", "{", '{"x": NaN}', '"\\u0000"'):
        with pytest.raises(InvalidInput):
            ledger.outbox.emit([OutboxEvent("e", "t", "k", payload)])
    with pytest.raises(InvalidInput):
        ledger.outbox.emit([OutboxEvent("e", "a b", "k", "{}")])
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
