"""
RabbitMQ: events go to an exchange, routed by their topic, persistent and mandatory; the broker's confirm acknowledges.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from lastro.plans.relaying import Outgoing
from lastro.relaying.delivering import ACKNOWLEDGED, Outcome, envelope, rejected, unanswered
from lastro.relaying.looping import LoopThread

if TYPE_CHECKING:
    from aio_pika.abc import AbstractConnection, AbstractExchange

CONNECT_TIMEOUT_S: Final = 5.0
CLOSE_S: Final = 5.0


class RabbitMQ:
    """
    Publishes to an exchange that must be there. What no queue takes is returned, and counts as rejected.

    Message id: the event's. Header `ordering_key`. Durable queues are the receiver's business.
    """

    failures_max: int | None = None

    def __init__(self, url: str, *, exchange: str) -> None:
        parts = urlsplit(url)
        self._url, self._exchange_name = url, exchange
        self.name = f"rabbitmq:{parts.hostname}:{parts.port or 5672}/{exchange}"[:255]
        self._loop = LoopThread("rabbitmq")
        self._connection: AbstractConnection | None = None
        self._exchange: AbstractExchange | None = None

    def publish(self, events: Sequence[Outgoing], *, timeout_ms: int) -> list[Outcome]:
        """Publish all and wait for the confirms."""
        timeout_s = timeout_ms / 1000
        try:
            outcomes = self._loop.run(self._publish(events, timeout_s), timeout_s=timeout_s + CONNECT_TIMEOUT_S)
        except BaseException:
            self.close()
            raise
        if any(outcome.verdict == "unanswered" for outcome in outcomes):
            # A channel that a protocol error closed stays closed, and a broker that was restarted has forgotten it.
            self.close()
        return outcomes

    def close(self) -> None:
        """Close the connection."""
        connection, self._connection, self._exchange = self._connection, None, None
        if connection is not None:
            # It is given up either way.
            with suppress(Exception):
                self._loop.run(connection.close(), timeout_s=CLOSE_S)
        self._loop.close()

    async def _publish(self, events: Sequence[Outgoing], timeout_s: float) -> list[Outcome]:
        import aio_pika
        from aio_pika.exceptions import DeliveryError

        exchange = self._exchange or await self._connected()

        async def publish(event: Outgoing) -> Outcome:
            message = aio_pika.Message(
                envelope(event),
                content_type="application/json",
                delivery_mode=aio_pika.DeliveryMode.PERSISTENT,
                message_id=event.event_id[:255],
                headers={"event_id": event.event_id, "ordering_key": event.ordering_key},
            )
            try:
                await exchange.publish(message, event.topic, mandatory=True, timeout=timeout_s)
            except DeliveryError as error:
                return rejected(f"no queue took it: {error!r}")
            except Exception as error:  # noqa: BLE001 - nobody has confirmed it
                return unanswered(error)
            return ACKNOWLEDGED

        return list(await asyncio.gather(*(publish(event) for event in events)))

    async def _connected(self) -> AbstractExchange:
        import aio_pika

        # Not the robust one: what it still had to send would come after the lane is another relay's.
        self._connection = await aio_pika.connect(self._url, timeout=CONNECT_TIMEOUT_S)
        channel = await self._connection.channel(publisher_confirms=True, on_return_raises=True)
        self._exchange = await channel.get_exchange(self._exchange_name)
        return self._exchange
