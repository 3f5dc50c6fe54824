"""
NATS JetStream: events go to the subject of their topic, with their id as `Nats-Msg-Id`; the stream's answer acknowledges.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final
from urllib.parse import quote, urlsplit

from lastro.plans.relaying import Outgoing
from lastro.relaying.delivering import ACKNOWLEDGED, Outcome, envelope, impossible, rejected, unanswered
from lastro.relaying.looping import LoopThread

if TYPE_CHECKING:
    from nats.aio.client import Client

CONNECT_TIMEOUT_S: Final = 5.0
CLOSE_S: Final = 5.0


class Nats:
    """
    Publishes to a stream that must be there: a subject that no stream stores isn't acknowledged.

    A topic gets `prefix` before it. Within the stream's duplicate window a second delivery is dropped by its id.
    Headers `Nats-Msg-Id` (percent-encoded) and `Lastro-Ordering-Key` (the same).
    """

    failures_max: int | None = None

    def __init__(self, url: str, *, prefix: str = "") -> None:
        parts = urlsplit(url)
        self._url, self._prefix = url, prefix
        self.name = f"nats:{parts.hostname}:{parts.port or 4222}"
        self._loop = LoopThread("nats")
        self._client: Client | None = None

    def publish(self, events: Sequence[Outgoing], *, timeout_ms: int) -> list[Outcome]:
        """Publish all and wait for the stream's answers."""
        timeout_s = timeout_ms / 1000
        return self._loop.run(self._publish(events, timeout_s), timeout_s=timeout_s + CONNECT_TIMEOUT_S)

    def close(self) -> None:
        """Close the connection."""
        client, self._client = self._client, None
        if client is not None and not client.is_closed:
            self._loop.run(client.close(), timeout_s=CLOSE_S)
        self._loop.close()

    async def _publish(self, events: Sequence[Outgoing], timeout_s: float) -> list[Outcome]:
        import nats
        from nats.errors import MaxPayloadError
        from nats.js.errors import APIError, NoStreamResponseError

        if self._client is None or self._client.is_closed:
            # It must not go on by itself: what it still had to send would come after the lane is another relay's. And it
            # tries a server that isn't there for ever, unless it is told how often, with no wait in between.
            self._client = await nats.connect(
                self._url,
                connect_timeout=int(CONNECT_TIMEOUT_S),
                allow_reconnect=False,
                max_reconnect_attempts=1,
                reconnect_time_wait=0,
                error_cb=_silent,
            )
        stream = self._client.jetstream(timeout=timeout_s)

        async def publish(event: Outgoing) -> Outcome:
            headers = {"Nats-Msg-Id": quote(event.event_id), "Lastro-Ordering-Key": quote(event.ordering_key)}
            try:
                await stream.publish(f"{self._prefix}{event.topic}", envelope(event), headers=headers)
            except MaxPayloadError as error:
                return impossible(repr(error))
            except (APIError, NoStreamResponseError) as error:
                return rejected(repr(error))
            except Exception as error:  # noqa: BLE001 - nobody has acknowledged it
                return unanswered(error)
            return ACKNOWLEDGED

        return list(await asyncio.gather(*(publish(event) for event in events)))


async def _silent(error: Exception) -> None:
    del error  # what matters of it, the publishing that failed says
