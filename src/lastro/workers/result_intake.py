"""
The intake: it takes results of markets from Kafka, each in a transaction of its own, and acknowledges them afterwards.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Final, Protocol

from lastro import config
from lastro.errors import InvalidInput
from lastro.ledger import Ledger
from lastro.model.limits import INTAKE_MESSAGES_MAX
from lastro.telemetry import measure
from lastro.workers.kafka_source import Delivery, KafkaSource
from lastro.workers.loop import Facts

INTERVAL_MS: Final = 500
JITTER: Final = 0.1
# A tick waits so long for messages: the stop is looked at in between.
RECEIVE_TIMEOUT_S: Final = 0.5

_log = logging.getLogger("lastro.workers")


class Source(Protocol):
    """
    Where messages come from: at least once, those of one market in order, until they are acknowledged.
    """

    trouble: str | None

    def receive(self, *, messages_max: int, timeout_s: float) -> list[Delivery]:
        """Return what has come."""
        ...

    def acknowledge(self, deliveries: Sequence[Delivery]) -> None:
        """Say that these need not come again."""
        ...

    def behind(self) -> int:
        """Return how many messages are there that weren't received yet, as far as is known."""
        ...

    def close(self) -> None:
        """Let go of the connections; the next call opens new ones."""
        ...


class ResultIntake:
    """
    One batch of messages a tick. Several at once share the partitions.

    A message is acknowledged when its transaction is committed, never before: killed in between, it comes again, and is a
    duplicate, or the dead letter that is there. A fault of the database's ends the tick at the message it met: that one
    and those behind it come again. Measures `lastro_intake_messages` and `lastro_intake_behind_messages`.
    """

    name = "intake"
    interval_ms = INTERVAL_MS
    jitter = JITTER

    def __init__(
        self, ledger: Ledger, *, source: Source | None = None, stopping: Callable[[], bool] = lambda: False
    ) -> None:
        self._ledger, self._stopping = ledger, stopping
        self._source = source or _source()
        self._said: str | None = None

    def run_once(self) -> Facts:
        """Take what has come."""
        deliveries = self._source.receive(messages_max=INTAKE_MESSAGES_MAX, timeout_s=RECEIVE_TIMEOUT_S)
        if self._source.trouble != self._said:
            # Said when it changes: a broker that is away for an hour would fill the log.
            _log.warning("intake: the source %s", self._source.trouble or "goes on")
            self._said = self._source.trouble
        figures: Counter[str] = Counter()
        taken: list[Delivery] = []
        try:
            for delivery in deliveries:
                if self._stopping():
                    break
                figures[self._take(delivery)] += 1
                taken.append(delivery)
        finally:
            # Also of those before a fault. Where this fails as well, they come again and are duplicates.
            self._source.acknowledge(taken)
            if len(taken) < len(deliveries):
                # The source has handed out the rest; joining anew, it does so again.
                self._source.close()
        measure("lastro_intake_behind_messages", self._source.behind())
        return Facts({"messages": len(taken), **figures}, more=bool(deliveries))

    def close(self) -> None:
        """Leave the source, and let go of the connections."""
        try:
            self._source.close()
        finally:
            self._ledger.close()

    def _take(self, delivery: Delivery) -> str:
        taken = self._ledger.betting.take(
            delivery.body, market=delivery.key, topic=delivery.topic, delivery=delivery.name
        )
        measure("lastro_intake_messages", 1, outcome=taken.outcome)
        if taken.reason is not None:
            _log.warning("intake: %s is a dead letter, %s: %s", delivery.name, taken.outcome, taken.reason)
        return taken.outcome


def _source() -> KafkaSource:
    url = config.intake_source()
    if url is None:
        raise InvalidInput(
            f"the intake has nowhere to take results from: set {config.INTAKE_SOURCE_VARIABLE} to "
            "kafka://host:9092?topic=…&group=…",
            argument=config.INTAKE_SOURCE_VARIABLE,
        )
    return KafkaSource(url)
