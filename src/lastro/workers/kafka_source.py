"""
Kafka as a source of messages: received in the order of their partitions, acknowledged only when somebody says so.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from urllib.parse import parse_qsl, urlsplit

from lastro.errors import Fault, InvalidInput

if TYPE_CHECKING:
    from confluent_kafka import Consumer

# What the consumer must be whatever else is asked of it: nothing is acknowledged by itself, nothing is skipped where
# there is no offset, and nothing read that its producer took back.
REQUIRED: Final[dict[str, Any]] = {
    "enable.auto.commit": False,
    "enable.auto.offset.store": False,
    "auto.offset.reset": "earliest",
    "isolation.level": "read_committed",
}
SCHEME: Final = "kafka"
DIGEST_CHARACTERS: Final = 16
# Without a further error for so long, the trouble is over: the client reports no recovery.
TROUBLE_OVER_S: Final = 30.0


class Delivery(NamedTuple):
    """
    A message and where it came from.
    """

    body: bytes
    key: bytes | None
    topic: str
    partition: int
    offset: int

    @property
    def name(self) -> str:
        """The same whenever it is delivered again; another one where the topic was made anew."""
        digest = hashlib.sha256(self.body).hexdigest()[:DIGEST_CHARACTERS]
        return f"{self.topic}/{self.partition}/{self.offset}/{digest}"


class KafkaSource:
    """
    One consumer of a group. `trouble` is what the client last complained of, or None.

    `kafka://host:9092[,host…]?topic=results[,more]&group=sportsbook`, with librdkafka's settings as further words.
    """

    def __init__(self, url: str) -> None:
        self._topics, self._settings = _read(url)
        self.trouble: str | None = None
        self._trouble_at_s = 0.0
        # At once: a setting that doesn't exist is refused where the process starts, and not tick by tick.
        self._consumer: Consumer | None = self._opened()

    def receive(self, *, messages_max: int, timeout_s: float) -> list[Delivery]:
        """Return what has come, at most so many messages, within the time; the consumer joins its group by itself."""
        if self._consumer is None:
            self._consumer = self._opened()
        if self.trouble is not None and time.monotonic() - self._trouble_at_s > TROUBLE_OVER_S:
            self.trouble = None
        deliveries = []
        for message in self._consumer.consume(messages_max, timeout_s):
            error = message.error()
            if error is not None:
                self._complain(error)
                continue
            topic, partition, offset = message.topic(), message.partition(), message.offset()
            assert topic is not None and partition is not None and offset is not None, "a message has its place"  # noqa: PT018
            # Without a body it is a tombstone, which is no result either.
            deliveries.append(Delivery(message.value() or b"", message.key(), topic, partition, offset))
        if deliveries:
            self.trouble = None
        return deliveries

    def acknowledge(self, deliveries: Sequence[Delivery]) -> None:
        """
        Say that these need not come again. Fault where that isn't known to be kept: they may come again.

        While the group is shared out anew nothing is taken either, and that is none: whoever gets the partitions gets these
        again, and leaving the group now would only have it shared out once more.
        """
        from confluent_kafka import KafkaException, TopicPartition

        if not deliveries or self._consumer is None:
            return
        behind = {(delivery.topic, delivery.partition): delivery.offset + 1 for delivery in deliveries}
        places = [TopicPartition(topic, partition, offset) for (topic, partition), offset in behind.items()]
        try:
            kept = self._consumer.commit(offsets=places, asynchronous=False) or []
        except KafkaException as error:
            _refuse(error.args[0])
            return
        for place in kept:
            if place.error is not None:
                _refuse(place.error)

    def behind(self) -> int:
        """Return how many messages are there that weren't received yet, as the client last heard."""
        if self._consumer is None:
            return 0
        behind = 0
        for place in self._consumer.position(self._consumer.assignment()):
            _, high = self._consumer.get_watermark_offsets(place, cached=True)
            # Both are negative before anything was received.
            behind += max(0, high - place.offset) if place.offset >= 0 else 0
        return behind

    def close(self) -> None:
        """Leave the group; what wasn't acknowledged comes again, to whoever is in it."""
        consumer, self._consumer = self._consumer, None
        if consumer is not None:
            consumer.close()

    def _opened(self) -> Consumer:
        try:
            from confluent_kafka import Consumer, KafkaException
        except ImportError as error:
            raise InvalidInput("taking results from Kafka needs the extra: pip install 'lastro[kafka]'") from error
        try:
            consumer = Consumer(self._settings | {"error_cb": self._complain})
        except KafkaException as error:
            raise InvalidInput(
                f"Kafka's client refuses these settings: {error.args[0].str()}", argument="source"
            ) from error
        consumer.subscribe(self._topics)
        return consumer

    def _complain(self, error: Any) -> None:
        self.trouble, self._trouble_at_s = f"{error.name()}: {error.str()}", time.monotonic()


def _read(url: str) -> tuple[list[str], dict[str, Any]]:
    parts = urlsplit(url)
    if parts.scheme != SCHEME or not parts.netloc:
        raise InvalidInput(
            f"results come from {SCHEME}://host:9092?topic=…&group=…; got {parts.scheme or url[:10]!r}",
            argument="source",
        )
    if "@" in parts.netloc:
        raise InvalidInput("Kafka's user and password are settings: &sasl.username=…", argument="source")
    words = dict(parse_qsl(parts.query, keep_blank_values=True))
    topics = [topic for topic in words.pop("topic", "").split(",") if topic]
    group = words.pop("group", "")
    if not topics or not group:
        raise InvalidInput(
            "Kafka needs a topic and a group of this ledger's own, for ledgers that share one get a part of the results "
            f"each: {SCHEME}://{parts.netloc}?topic=results&group=sportsbook",
            argument="source",
        )
    return topics, words | {"bootstrap.servers": parts.netloc, "group.id": group} | REQUIRED


def _refuse(error: Any) -> None:
    from confluent_kafka import KafkaError

    if error.code() in (KafkaError.REBALANCE_IN_PROGRESS, KafkaError.ILLEGAL_GENERATION, KafkaError.UNKNOWN_MEMBER_ID):
        return
    raise Fault(f"Kafka didn't take the acknowledgement ({error.name()}: {error.str()}); the messages come again")
