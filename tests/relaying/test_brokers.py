"""Events reach real brokers: acknowledged by them alone, in the order of their key, with the broker away in between."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

from lastro import Ledger
from lastro.relaying import Target, choose
from tests.conftest import require
from tests.relaying.taking import Taken, drain, emit, in_order, relay
from tests.support.brokers import Broker, free_port, nats_server, rabbitmq_server

pytestmark = pytest.mark.req("3.13")

EVENTS = [(f"e{number}", f"key {number % 5}") for number in range(60)]
SUBJECT, EXCHANGE, QUEUE = "bets", "events", "screens"
PATIENCE_S = 30.0
RABBITMQ = "/usr/lib/rabbitmq/bin/rabbitmq-server"


@pytest.fixture(scope="module")
def nats_broker() -> Iterator[Broker]:
    """A NATS with JetStream of this module's own."""
    with nats_server(require("nats-server", name="nats")) as broker:
        yield broker


@pytest.fixture(scope="module")
def rabbitmq_broker() -> Iterator[Broker]:
    """A RabbitMQ of this module's own."""
    require("rabbitmq-server", name="rabbitmq")
    # Debian's own script changes its user and so forgets the environment; this is what it runs.
    with rabbitmq_server(Path(RABBITMQ)) as broker:
        yield broker


def published(ledger: Ledger, target: Target, take: Callable[[], list[Taken]], events: list[tuple[str, str]]) -> None:
    """Everything that waits arrives, each key's in order, and nothing is left."""
    emit(ledger, *events, topic=SUBJECT)
    drain(ledger, target)
    assert ledger.outbox.standing().waiting == 0
    assert in_order(take(), events)


def refused(ledger: Ledger, target: Target, why: str, *, topic: str) -> None:
    """What the broker has no place for isn't acknowledged: it waits, with the reason."""
    emit(ledger, ("nowhere", "k"), topic=topic)
    assert relay(ledger, target).run_once().published == 0
    (event,) = ledger.outbox.waiting()
    assert why in str(event.reason)
    ledger.outbox.skip("nowhere", reason="as planned", actor="test")


async def _with_nats(port: int, do: Callable[[Any, Any], Any]) -> Any:
    import nats

    client = await nats.connect(f"nats://127.0.0.1:{port}")
    try:
        return await do(client, client.jetstream())
    finally:
        await client.close()


def on_nats(port: int, do: Callable[[Any, Any], Any]) -> Any:
    """Do something with a connection to NATS."""
    return asyncio.run(_with_nats(port, do))


def taken_from_nats(port: int) -> list[Taken]:
    """All that the stream holds, in its order."""

    async def take(_: Any, stream: Any) -> list[Taken]:
        info = await stream.stream_info(QUEUE)
        messages = [
            await stream.get_msg(QUEUE, seq=number) for number in range(info.state.first_seq, info.state.last_seq + 1)
        ]
        return [
            Taken(unquote(message.headers["Nats-Msg-Id"]), json.loads(message.data)["ordering_key"])
            for message in messages
        ]

    found: list[Taken] = on_nats(port, take)
    return found


def test_nats(ledger: Ledger, nats_broker: Broker) -> None:
    """A subject without a stream is refused; with one everything arrives, and a second delivery is dropped by its id."""
    port = nats_broker.port
    target = choose([f"nats://127.0.0.1:{port}"])
    refused(ledger, target, "NoStreamResponse", topic=SUBJECT)
    on_nats(port, lambda _, stream: stream.add_stream(name=QUEUE, subjects=[SUBJECT]))
    published(ledger, target, lambda: taken_from_nats(port), EVENTS)
    before = len(taken_from_nats(port))
    assert before == len(EVENTS)
    emit(ledger, *EVENTS[:10], topic=SUBJECT)
    drain(ledger, target)
    assert len(taken_from_nats(port)) == before
    # Killed and started again: what was published meanwhile waits for it, in order.
    nats_broker.kill()
    more = [(f"f{number}", f"key {number % 3}") for number in range(10)]
    emit(ledger, *more, topic=SUBJECT)
    for _ in range(2):
        done = relay(ledger, target).run_once()
        assert (done.published, done.left_alone is not None) == (0, True)
    assert ledger.outbox.standing().waiting == 10
    nats_broker.start()
    drain(ledger, target)
    target.close()
    assert in_order(taken_from_nats(port), EVENTS + more)


async def _with_rabbitmq(port: int, do: Callable[[Any], Any]) -> Any:
    import aio_pika

    connection = await aio_pika.connect(f"amqp://guest:guest@127.0.0.1:{port}/")
    try:
        return await do(await connection.channel())
    finally:
        await connection.close()


def on_rabbitmq(port: int, do: Callable[[Any], Any]) -> Any:
    """Do something with a channel of RabbitMQ's."""
    return asyncio.run(_with_rabbitmq(port, do))


def taken_from_rabbitmq(port: int) -> list[Taken]:
    """All that the queue holds, in its order; it is empty then."""

    async def take(channel: Any) -> list[Taken]:
        queue = await channel.get_queue(QUEUE)
        found = []
        while (message := await queue.get(no_ack=True, fail=False)) is not None:
            assert message.delivery_mode == 2
            found.append(Taken(message.headers["event_id"], json.loads(message.body)["ordering_key"]))
        return found

    found: list[Taken] = on_rabbitmq(port, take)
    return found


async def _declare_exchange(channel: Any) -> None:
    await channel.declare_exchange(EXCHANGE, "topic", durable=True)


async def _declare_queue(channel: Any) -> None:
    queue = await channel.declare_queue(QUEUE, durable=True)
    await queue.bind(EXCHANGE, SUBJECT)


def test_rabbitmq(ledger: Ledger, rabbitmq_broker: Broker) -> None:
    """Without an exchange nothing goes; what no queue takes is refused; with a queue all arrives, persistent."""
    port = rabbitmq_broker.port
    url = f"amqp://guest:guest@127.0.0.1:{port}/?exchange={EXCHANGE}"
    away = choose([url.replace(str(port), str(free_port()))])
    target = choose([url])
    emit(ledger, ("early", "k"), topic=SUBJECT)
    for unfit in (away, target):
        assert relay(ledger, unfit).run_once().left_alone is not None
    away.close()
    assert ledger.outbox.standing().waiting == 1
    ledger.outbox.skip("early", reason="as planned", actor="test")
    on_rabbitmq(port, _declare_exchange)
    refused(ledger, target, "no queue took it", topic="nobody.listens")
    on_rabbitmq(port, _declare_queue)
    published(ledger, target, lambda: taken_from_rabbitmq(port), EVENTS)
    target.close()
    published(ledger, target, lambda: taken_from_rabbitmq(port), [("again", "k")])
    target.close()


@pytest.mark.soak
def test_rabbitmq_killed_and_started_again(ledger: Ledger, rabbitmq_broker: Broker) -> None:
    """What is emitted while it is away waits for it; what was confirmed before is still in its queue."""
    port = rabbitmq_broker.port
    target = choose([f"amqp://guest:guest@127.0.0.1:{port}/?exchange={EXCHANGE}"])
    on_rabbitmq(port, _declare_exchange)
    on_rabbitmq(port, _declare_queue)
    emit(ledger, *EVENTS[:30], topic=SUBJECT)
    drain(ledger, target)
    rabbitmq_broker.kill()
    emit(ledger, *EVENTS[30:], topic=SUBJECT)
    assert relay(ledger, target).run_once().left_alone is not None
    rabbitmq_broker.start()
    drain(ledger, target)
    target.close()
    assert in_order(taken_from_rabbitmq(port), EVENTS)


def test_kafka(ledger: Ledger) -> None:
    """
    Against librdkafka's mock cluster: brokers that speak Kafka's protocol over TCP, and no Apache Kafka.

    Keyed by the ordering key, so that a key's events share a partition in their order; away, they wait.
    """
    from confluent_kafka import Consumer, Producer

    cluster: Any = Producer({"test.mock.num.brokers": 1, "log_level": 0})
    address = next(
        f"{broker.host}:{broker.port}" for broker in cluster.list_topics(timeout=PATIENCE_S).brokers.values()
    )
    away = choose([f"kafka://127.0.0.1:{free_port()}?log_level=0"])
    emit(ledger, *EVENTS, topic=SUBJECT)
    done = relay(ledger, away, publish_timeout_ms=500).run_once()
    away.close()
    assert (done.published, ledger.outbox.standing().waiting) == (0, len(EVENTS))
    target = choose([f"kafka://{address}?log_level=0"])
    drain(ledger, target)
    target.close()
    assert ledger.outbox.standing().waiting == 0
    consumer: Any = Consumer(
        {"bootstrap.servers": address, "group.id": "screens", "auto.offset.reset": "earliest", "log_level": 0}
    )
    consumer.subscribe([SUBJECT])
    taken, partitions = [], {}
    while len(taken) < len(EVENTS):
        message = consumer.poll(PATIENCE_S)
        assert message is not None, f"{len(taken)} of {len(EVENTS)} arrived"
        assert message.error() is None, message.error()
        key = message.key().decode()
        assert dict(message.headers())["event_id"].decode() == json.loads(message.value())["event_id"]
        partitions.setdefault(key, set()).add(message.partition())
        taken.append(Taken(json.loads(message.value())["event_id"], key))
    consumer.close()
    assert in_order(taken, EVENTS)
    assert all(len(own) == 1 for own in partitions.values())
