"""Webhooks: signed, acknowledged by 2xx alone, and never held up by a receiver, however it fails."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

from lastro import InvalidInput, Ledger
from lastro.relaying import ACKNOWLEDGED, BadSignature, Outgoing, choose, rejected, verify
from lastro.relaying.signing import signed
from lastro.relaying.together import Together
from lastro.relaying.webhook import Webhook
from tests.relaying.receivers import (
    Receiver,
    answers,
    closed_port,
    drips,
    floods,
    hangs,
    hangs_up,
    talks_nonsense,
)
from tests.relaying.taking import Taking, drain, emit, relay, wear_out

pytestmark = pytest.mark.req("3.13")

SECRET, OLD_SECRET, FOREIGN = b"s" * 32, b"o" * 32, b"f" * 32
MOMENT = datetime(2026, 11, 30, 12, tzinfo=UTC)
NOW_S = int(MOMENT.timestamp())
TIMEOUT_MS = 400


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    """A receiver that says yes until it is told otherwise."""
    with Receiver().at_work() as receiver:
        yield receiver


def event(event_id: str = "bet:1", key: str = "ana") -> Outgoing:
    """An event on its way."""
    return Outgoing(1, event_id, "bets", key, '{"amount": "590"}', MOMENT, MOMENT)


def sent_to(url: str, *, timeout_ms: int = TIMEOUT_MS) -> str:
    """Post one event; return the verdict and the reason."""
    webhook = Webhook(url, secrets=[SECRET])
    try:
        (outcome,) = webhook.publish([event()], timeout_ms=timeout_ms)
    finally:
        webhook.close()
    return f"{outcome.verdict}: {outcome.reason}"


def test_the_receiver_can_tell_who_sent_it(receiver: Receiver) -> None:
    """The body is the envelope, its amounts strings; the signature holds for the raw body, the id and the moment."""
    assert sent_to(receiver.url) == "acknowledged: "
    (got,) = receiver.received
    assert json.loads(got.body) == {
        "event_id": "bet:1",
        "topic": "bets",
        "ordering_key": "ana",
        "opened_at": "2026-11-30T12:00:00+00:00",
        "payload": {"amount": "590"},
    }
    assert verify(got.body, got.headers, secrets=[SECRET], now_s=NOW_S + 5) == "bet:1"


@pytest.mark.case("C103")
def test_a_forged_or_replayed_or_changed_request_is_not_believed() -> None:
    """Everything that isn't what a holder of the secret sent just now is refused, also where nothing is set up."""
    body = b'{"amount":"590"}'
    headers = signed(body, event_id="e é\n", secrets=[SECRET], at_s=NOW_S)
    assert verify(body, headers, secrets=[SECRET], now_s=NOW_S) == "e é\n"
    assert verify(body, {name.lower(): value for name, value in headers.items()}, secrets=[SECRET], now_s=NOW_S)
    without_moment = headers["Lastro-Signature"].partition(",")[2]
    moved = headers["Lastro-Signature"].replace(f"t={NOW_S}", f"t={NOW_S + 200}")
    for wrong_body, wrong_headers, now_s in (
        (b'{"amount":"5900"}', headers, NOW_S),
        (body, headers, NOW_S + 301),
        (body, headers, NOW_S - 301),
        (body, {}, NOW_S),
        (body, headers | {"Lastro-Event-Id": "another"}, NOW_S),
        (body, headers | {"Lastro-Event-Id": ""}, NOW_S),
        (body, headers | {"Lastro-Signature": without_moment}, NOW_S),
        (body, headers | {"Lastro-Signature": moved}, NOW_S),
        (body, headers | {"Lastro-Signature": f"t={NOW_S},v1="}, NOW_S),
        (body, headers | {"Lastro-Signature": "t=é,v1=é"}, NOW_S),
    ):
        with pytest.raises(BadSignature):
            verify(wrong_body, wrong_headers, secrets=[SECRET], now_s=now_s)
    with pytest.raises(BadSignature):
        verify(body, headers, secrets=[FOREIGN], now_s=NOW_S)
    for nothing in ([], [b""], [b"short"]):
        with pytest.raises(InvalidInput):
            verify(body, headers, secrets=nothing, now_s=NOW_S)
        with pytest.raises(InvalidInput):
            Webhook("https://example.test/", secrets=nothing)


@pytest.mark.case("C103")
def test_secrets_are_changed_without_a_gap() -> None:
    """While both are signed with, who knows only the old one and who knows only the new one believe alike."""
    headers = signed(b"{}", event_id="e", secrets=[SECRET, OLD_SECRET], at_s=NOW_S)
    for known in ([SECRET], [OLD_SECRET], [FOREIGN, OLD_SECRET]):
        assert verify(b"{}", headers, secrets=known, now_s=NOW_S) == "e"


def test_every_way_to_fail_has_its_verdict(receiver: Receiver) -> None:
    """Nothing but 2xx acknowledges; nothing takes longer than it may; redirects are not followed."""
    elsewhere = f"{receiver.url}/elsewhere"
    for behave, expected in (
        (answers(200, b"fine"), "acknowledged"),
        (answers(302, Location=elsewhere), "rejected: HTTP 302: redirects are refused"),
        (answers(307, Location=elsewhere), "rejected: HTTP 307: redirects are refused"),
        (answers(400, b"no such field"), "impossible: HTTP 400: no such field"),
        (answers(401), "rejected: HTTP 401"),
        (answers(404), "rejected: HTTP 404"),
        (answers(422), "impossible: HTTP 422"),
        (answers(429), "rejected: HTTP 429"),
        (answers(500, b"\xff\0\n broken"), "rejected: HTTP 500: \N{REPLACEMENT CHARACTER}   broken"),
        (answers(503), "rejected: HTTP 503"),
        (floods, "rejected: HTTP 500: xxx"),
        (hangs_up, "unanswered: "),
        (talks_nonsense, "unanswered: "),
        (hangs(receiver), "unanswered: no answer in time"),
        (drips(receiver), "unanswered: no answer in time"),
    ):
        receiver.behave = behave
        began = time.monotonic()
        assert sent_to(receiver.url).startswith(expected)
        assert time.monotonic() - began < 20 * TIMEOUT_MS / 1000
    assert len(receiver.received) == 15
    assert sent_to(f"http://127.0.0.1:{closed_port()}/").startswith("unanswered: ClientConnectorError")


def test_events_of_many_keys_are_sent_at_once_and_a_slow_one_holds_up_none(receiver: Receiver) -> None:
    """Of twenty requests the one that hangs is unanswered, and every other is acknowledged."""
    slow = hangs(receiver)
    receiver.behave = lambda handler, got: (slow if b'"slow"' in got.body else answers(204))(handler, got)
    webhook = Webhook(receiver.url, secrets=[SECRET])
    events = [event(f"e{number}", f"k{number}") for number in range(19)] + [event("slow", "k")]
    outcomes = webhook.publish(events, timeout_ms=2_000)
    webhook.close()
    assert [outcome.verdict for outcome in outcomes] == ["acknowledged"] * 19 + ["unanswered"]


def test_from_the_outbox_to_the_receiver(ledger: Ledger, receiver: Receiver) -> None:
    """Down, then up with one event that it never takes: the others arrive, in order, and the bad one is set aside."""
    emit(ledger, ("a1", "a"), ("bad", "b"), ("b2", "b"), ("a2", "a"))
    away = Webhook(f"http://127.0.0.1:{closed_port()}/", secrets=[SECRET])
    assert "ClientConnectorError" in str(relay(ledger, away).run_once().left_alone)
    away.close()
    receiver.behave = lambda handler, got: answers(500 if b'"bad"' in got.body else 204)(handler, got)
    webhook = Webhook(receiver.url, secrets=[SECRET])
    wear_out(ledger, webhook, attempts=2)
    drain(ledger, webhook)
    got = [verify(one.body, one.headers, secrets=[SECRET], now_s=int(time.time())) for one in receiver.received]
    assert [each for each in got if each.startswith("a")] == ["a1", "a2"]
    assert got.count("bad") == 2
    assert [aside.event_id for aside in ledger.outbox.set_aside()] == ["bad"]
    assert [waiting.event_id for waiting in ledger.outbox.waiting()] == ["b2"]
    webhook.close()
    # Closed and used again it opens new connections.
    ledger.outbox.skip("bad", reason="agreed with the receiver", actor="ana")
    drain(ledger, webhook)
    webhook.close()
    assert ledger.outbox.standing().waiting == 0


def test_a_webhook_that_is_always_refused_is_switched_off(ledger: Ledger, receiver: Receiver) -> None:
    """After its limit it is left alone, and the reason is there to be read."""
    receiver.behave = answers(410, b"gone for good")
    emit(ledger, ("e", "k"))
    webhook = Webhook(receiver.url, secrets=[SECRET], failures_max=2)
    relaying = relay(ledger, webhook)
    for _ in range(3):
        relaying.run_once()
    webhook.close()
    (target,) = ledger.outbox.standing().targets
    assert target.disabled_at is not None
    assert (target.name, target.reason) == (receiver.url, "HTTP 410: gone for good")
    assert len(receiver.received) == 2


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("http://shop.example/events", "https"),
        ("https://user:pass@shop.example/", "password"),
        ("ftp://shop.example/", "no target begins with"),
        ("amqp://localhost/", "exchange"),
        ("https://", "https"),
    ],
)
def test_what_is_no_target_is_refused(url: str, why: str) -> None:
    """A target that would leak or can't work is refused before anything is sent."""
    with pytest.raises(InvalidInput, match=why):
        choose([url], secrets=[SECRET])


def test_a_targets_name_holds_no_secret() -> None:
    """What the metrics, the log and the terminal show has neither a password nor a token."""
    names = [
        choose([url], secrets=[SECRET]).name
        for url in (
            "https://shop.example/events?token=hush",
            "kafka://broker:9092?sasl.password=hush",
            "nats://user:hush@broker:4222",
            "amqp://user:hush@broker/?exchange=events",
        )
    ]
    assert names == [
        "https://shop.example/events",
        "kafka:broker:9092",
        "nats:broker:4222",
        "rabbitmq:broker:5672/events",
    ]


def test_several_targets_are_one(ledger: Ledger, receiver: Receiver) -> None:
    """What one of them didn't take is published by none of the later ones, and comes again until all have it."""
    second = Taking(lambda _: rejected("HTTP 500"))
    both = Together([Webhook(receiver.url, secrets=[SECRET]), second])
    emit(ledger, ("a", "a"), ("b", "b"))
    drain(ledger, both)
    assert (len(receiver.received), ledger.outbox.standing().waiting) == (2, 2)
    receiver.behave = lambda handler, got: answers(500 if b'"b"' in got.body else 204)(handler, got)
    second.answer = lambda _: ACKNOWLEDGED
    drain(ledger, both)
    both.close()
    assert (second.ids, ledger.outbox.standing().waiting) == (["a"], 1)
    assert both.name == f"{receiver.url} + taking"
