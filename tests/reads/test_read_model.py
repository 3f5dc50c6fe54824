"""The read model: what screens show is what the events come to, each applied once, and can be filled again."""

from __future__ import annotations

import json
import random
from datetime import UTC, datetime
from typing import Any

import pytest

import lastro
from lastro import InvalidInput, Ledger, SchemaOutdated
from lastro.reads import ROUTES, ReadModel, Reads, read_model_of
from lastro.relaying import Outgoing
from tests.relaying.taking import drain, relay
from tests.support.money import fund, transfer
from tests.support.sessions import together

pytestmark = pytest.mark.req("3.13")

MOMENT = datetime(2026, 11, 30, 12, tzinfo=UTC)
NAMES = ("ana", "ben", "shop", "world")


@pytest.fixture
def books(ledger: Ledger) -> Ledger:
    """A ledger whose postings are all told."""
    telling = ledger.emitting("transfers")
    for name, keeping in zip(NAMES[:3], ("direct", "direct", "hot"), strict=True):
        ledger.open_account(name, "BRL", keeping=keeping, floor=None)  # type: ignore[arg-type]
    return telling


def post_at_random(books: Ledger, count: int, seed: int) -> None:
    """So many transfers between the accounts, some of them reversed."""
    choice = random.Random(seed)
    for number in range(count):
        debit, credit = choice.sample(NAMES, 2)
        books.post(**transfer(f"{seed}:{number}", debit, credit, choice.randint(1, 500), cause=f"order:{number}"))
        if number % 7 == 0:
            books.reverse(f"{seed}:{number}", f"{seed}:{number}:undone")


def shown(model: ReadModel, books: Ledger) -> None:
    """The model shows what the ledger holds, balances and entries."""
    for name in NAMES[:3]:
        balance = model.balance(name, "BRL")
        entries = books.entries(name, "BRL", limit=1_000)
        assert (balance.posted, balance.entries) == (books.balance(name, "BRL").posted, len(entries))
        seen = model.entries(name, "BRL", limit=1_000)
        assert [(one.transfer_id, one.key, one.amount, one.recorded_at) for one in reversed(seen)] == [
            (one.transfer_id, one.key, one.signed, one.recorded_at) for one in entries
        ]


def test_screens_show_what_the_events_come_to(books: Ledger, model: ReadModel) -> None:
    """Fed by a relay the model agrees with the ledger, page by page, and says how far behind it is."""
    post_at_random(books, 60, 1)
    assert model.balance("ana", "BRL") == ("ana", "BRL", 0, 0, None)
    drain(books, model)
    shown(model, books)
    first, *rest = model.entries("ana", "BRL", limit=5)
    assert model.entries("ana", "BRL", before=first.transfer_id, limit=4) == rest
    standing = model.standing()
    assert standing.events == books.outbox.standing().published
    assert standing.delay_ms is not None
    assert standing.delay_ms >= 0
    assert books.outbox.standing().age_ms is None


def test_an_event_that_comes_again_changes_nothing(books: Ledger, model: ReadModel) -> None:
    """Every event twice, shuffled, by two appliers at once, some as a broker's messages: each counts once."""
    post_at_random(books, 40, 2)
    events = [
        Outgoing(one.id, one.event_id, one.topic, one.ordering_key, json.dumps(one.payload), one.opened_at, MOMENT)
        for one in books.outbox.waiting(limit=1_000)
    ]

    def feed(seed: int) -> None:
        mine = events * 2
        random.Random(seed).shuffle(mine)
        for start in range(0, len(mine), 9):
            model.publish(mine[start : start + 9], timeout_ms=1_000)

    assert together([lambda: feed(1), lambda: feed(2)]) == [None, None]
    message = json.dumps({
        "event_id": events[0].event_id,
        "opened_at": MOMENT.isoformat(),
        "payload": json.loads(events[0].payload),
    })  # fmt: skip
    assert model.apply(message) is False
    shown(model, books)


def test_it_is_filled_from_the_history(books: Ledger, ledger: Ledger, model: ReadModel) -> None:
    """From nothing, beside events that come meanwhile, and again: the history alone makes the same screens."""
    post_at_random(books, 30, 3)
    ledger.post(**transfer("untold", "ana", "shop", 5))
    drain(books, model)
    post_at_random(books, 20, 4)
    assert model.rebuild(ledger) > 0
    shown(model, books)
    drain(books, model)
    assert model.fill(ledger) == 0
    shown(model, books)


def test_poison_is_not_swallowed_and_other_topics_are_none_of_its_business(books: Ledger, model: ReadModel) -> None:
    """A transfer that isn't whole is impossible, and set aside; an event of another kind is taken and shows nowhere."""
    books.outbox.emit([
        {"event_id": "mail:1", "topic": "mails", "ordering_key": "m", "payload": {"to": "ana"}},
        {"event_id": "bad", "topic": "transfers", "ordering_key": "b",
         "payload": {"debit": "ana", "credit": "ben", "transfer_id": "1", "amount": 5.5}},
    ])  # fmt: skip
    relay(books, model, attempts_max=1).run_once()
    (aside,) = books.outbox.set_aside()
    assert aside.event_id == "bad"
    assert "string of digits" in aside.reason
    assert model.standing().events == 1
    for nonsense in (b"\xff", "[]", "{}", '{"event_id": "e", "opened_at": "noon", "payload": {}}'):
        with pytest.raises(InvalidInput):
            model.apply(nonsense)


def bet(event: str, version: int | None, **more: Any) -> str:
    """An event of a bet, as the sportsbook writes it."""
    payload = {"event": event, "bet": "b1", "id": "7", "account": "ana", "currency": "BRL", "stake": "500"} | more
    if version is not None:
        payload["version"] = version
    return json.dumps({"event_id": f"bet:7:{event}:{version}", "opened_at": MOMENT.isoformat(), "payload": payload})


PLACED = bet(
    "placed",
    None,
    potential_return="1025",
    legs=[{"market": "m", "selection": "home", "odds": "2.05"}],
    placed_at=MOMENT.isoformat(),
)
SETTLED, CORRECTED = bet("settled", 1, returned="1025"), bet("corrected", 2, returned="0")


@pytest.mark.parametrize(
    "order", [(PLACED, SETTLED, CORRECTED), (CORRECTED, PLACED, SETTLED, PLACED), (SETTLED, CORRECTED, PLACED)]
)
def test_a_bet_stands_as_its_newest_version_says(model: ReadModel, order: tuple[str, ...]) -> None:
    """However its events come, and however often, the bet shows the newest version and all that was known of it."""
    for message in order:
        model.apply(message)
    assert model.open_bets("ana") == []
    (one,) = model.bets("ana")
    assert (one.state, one.version, one.stake, one.returned, one.potential_return) == ("corrected", 2, 500, 0, 1_025)
    assert (one.legs[0]["selection"], one.placed_at) == ("home", MOMENT)


def test_an_open_bet_is_open_until_its_result(model: ReadModel) -> None:
    """Open bets are the ones that only were placed."""
    assert model.apply(PLACED) is True
    assert [one.bet for one in model.open_bets("ana")] == ["b1"]
    model.apply(SETTLED)
    assert model.open_bets("ana") == []


def test_each_read_goes_where_the_list_says(books: Ledger, model: ReadModel, server_url: str, ledger_name: str) -> None:
    """A replica that can't write serves its reads, the primary only its own; nothing falls back by itself."""
    fund(books, "carla", 1_000)
    drain(books, model)
    read_only = f"{server_url}&options=-c%20default_transaction_read_only%3Don"
    with lastro.connect(read_only, ledger=ledger_name) as replica:
        reads = Reads(books, replica=replica, model=model)
        assert set(ROUTES) == {name for name in vars(Reads) if not name.startswith("_")}
        assert reads.shown_balance("carla", "BRL").posted == reads.balance("carla", "BRL").posted == 1_000
        assert len(reads.shown_entries("carla", "BRL")) == 2
        assert reads.open_bets("carla") == reads.bets("carla") == []
        assert "carla" in [account.name for account in reads.accounts()]
        assert reads.balance_at("carla", "BRL", MOMENT.replace(year=2100)).posted == 1_000
        assert reads.transfer("fund:carla:0") is not None
        with pytest.raises(lastro.UnknownHold):
            reads.hold("none")
        with pytest.raises(lastro.ServerUnavailable):
            replica.post(**transfer("t", "carla", "world", 1))
    with pytest.raises(InvalidInput, match="no read model"):
        Reads(books).bets("carla")
    assert [name for name, route in ROUTES.items() if route == "primary"] == ["balance", "transfer", "hold"]


def test_a_ledgers_own_schema_is_no_read_models(ledger: Ledger, server_url: str, ledger_name: str) -> None:
    """Pointed at a ledger's tables, or at nothing, it refuses before it reads or writes; other stores aren't for it."""
    del ledger
    beside = read_model_of(server_url.replace("postgresql", "reads+postgresql") + f"&schema={ledger_name}")
    with pytest.raises(SchemaOutdated):
        beside.migrate()
    beside.close()
    nowhere = ReadModel(server_url, schema="not_there")
    with pytest.raises(SchemaOutdated):
        nowhere.balance("ana", "BRL")
    nowhere.close()
    with pytest.raises(InvalidInput, match="PostgreSQL"):
        ReadModel("sqlite:///reads.db")
