"""
Kafka: events go to the topic of their name, keyed by their ordering key; acknowledged by every replica in sync.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from lastro.plans.relaying import Outgoing
from lastro.relaying.delivering import ACKNOWLEDGED, Outcome, envelope, impossible, rejected, unanswered

if TYPE_CHECKING:
    from confluent_kafka import Producer

CLOSE_S: Final = 5.0
POLL_S: Final = 0.1
# What the producer must be whatever else is asked of it.
REQUIRED: Final[dict[str, Any]] = {"acks": "all", "enable.idempotence": True}


class Kafka:
    """
    Publishes through one idempotent producer. `settings` are librdkafka's, "bootstrap.servers" at least.

    A topic's name gets `prefix` before it. Key: the ordering key. Value: the envelope. Header `event_id`.
    """

    failures_max: int | None = None

    def __init__(self, settings: dict[str, Any], *, prefix: str = "") -> None:
        self._settings, self._prefix = settings | REQUIRED, prefix
        self.name = f"kafka:{settings.get('bootstrap.servers', '')}"[:255]
        self._producer: Producer | None = None

    def publish(self, events: Sequence[Outgoing], *, timeout_ms: int) -> list[Outcome]:
        """Hand the events over and wait for their acknowledgements."""
        from confluent_kafka import KafkaException, Producer

        if self._producer is None:
            # A message that isn't acknowledged in time is dropped by the producer, and not sent later behind our back.
            self._producer = Producer(self._settings | {"message.timeout.ms": timeout_ms, "linger.ms": 0})
        outcomes: list[Outcome | None] = [None] * len(events)
        give_up_s = time.monotonic() + timeout_ms / 1000 + CLOSE_S
        for place, event in enumerate(events):
            try:
                self._producer.produce(
                    f"{self._prefix}{event.topic}",
                    key=event.ordering_key.encode(),
                    value=envelope(event),
                    headers=[("event_id", event.event_id.encode())],
                    on_delivery=_into(outcomes, place),
                )
            except (KafkaException, BufferError) as error:
                outcomes[place] = _judged(error.args[0] if isinstance(error, KafkaException) else error)
        while any(outcome is None for outcome in outcomes) and time.monotonic() < give_up_s:
            self._producer.poll(POLL_S)
        answered = [outcome or unanswered("no acknowledgement in time") for outcome in outcomes]
        if any(outcome.verdict == "unanswered" for outcome in answered):
            # What is still inside must not be sent once the lane is another relay's.
            self.close()
        return answered

    def close(self) -> None:
        """Forget what wasn't acknowledged, and close the connections."""
        if self._producer is not None:
            self._producer.purge()
            self._producer.flush(CLOSE_S)
            self._producer = None


def _into(outcomes: list[Outcome | None], place: int) -> Any:
    def delivered(error: Any, message: Any) -> None:
        del message
        outcomes[place] = ACKNOWLEDGED if error is None else _judged(error)

    return delivered


def _judged(error: Any) -> Outcome:
    from confluent_kafka import KafkaError

    if not isinstance(error, KafkaError):
        return unanswered(repr(error))
    reason = f"{error.name()}: {error.str()}"
    match error.code():
        case KafkaError.MSG_SIZE_TOO_LARGE | KafkaError.INVALID_MSG | KafkaError.INVALID_RECORD:
            return impossible(reason)
        case (
            KafkaError.UNKNOWN_TOPIC_OR_PART
            | KafkaError._UNKNOWN_TOPIC  # noqa: SLF001 - so the client calls its own errors
            | KafkaError.TOPIC_AUTHORIZATION_FAILED
            | KafkaError.POLICY_VIOLATION
            | KafkaError.TOPIC_EXCEPTION
        ):
            return rejected(reason)
    return unanswered(reason)
