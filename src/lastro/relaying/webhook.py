"""
A webhook: each event is posted to a URL, signed; only an answer of 2xx acknowledges it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from lastro.errors import InvalidInput
from lastro.plans.relaying import Outgoing
from lastro.relaying.delivering import ACKNOWLEDGED, Outcome, envelope, impossible, rejected, unanswered
from lastro.relaying.looping import LoopThread
from lastro.relaying.signing import checked_secrets, signed

if TYPE_CHECKING:
    import aiohttp

# Requests under way at a time.
REQUESTS_MAX: Final = 16
CONNECT_TIMEOUT_S: Final = 5.0
# Of an answer that isn't 2xx so much is read, for the reason; of one that is, nothing.
ANSWER_BYTES_MAX: Final = 1_024
# Batches in a row of which nothing was taken: they count as apart when 10 s lie between them.
FAILURES_MAX: Final = 40
# Answers that say that this event, as it is, will never be taken.
IMPOSSIBLE: Final = frozenset({400, 413, 415, 422})
LOCAL: Final = frozenset({"localhost", "127.0.0.1", "::1"})


class Webhook:
    """
    Posts events to one URL. Redirects are refused, since a signed body belongs to the URL it was made for.

    Answers of 400, 413, 415 and 422 say that the event itself won't do; any other answer but 2xx may go otherwise the next
    time. `secrets`: the newest first. Plain HTTP only to this machine, unless `plain_http` allows it.
    """

    def __init__(
        self,
        url: str,
        *,
        secrets: Sequence[bytes],
        failures_max: int | None = FAILURES_MAX,
        plain_http: bool = False,
    ) -> None:
        parts = urlsplit(url)
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            raise InvalidInput(f"a webhook's URL begins with https://; got {parts.scheme}://…", argument="url")
        if parts.username is not None or parts.password is not None:
            raise InvalidInput("a webhook's URL holds no password: the signature says who sends", argument="url")
        if parts.scheme == "http" and parts.hostname not in LOCAL and not plain_http:
            raise InvalidInput("plain HTTP would show every event to the network: use https://", argument="url")
        self._url, self._secrets = url, checked_secrets(secrets)
        # Without its query, which may hold a token.
        self.name = f"{parts.scheme}://{parts.netloc}{parts.path}"[:255]
        self.failures_max = failures_max
        self._loop = LoopThread("webhook")
        self._session: aiohttp.ClientSession | None = None

    def publish(self, events: Sequence[Outgoing], *, timeout_ms: int) -> list[Outcome]:
        """Post each event; no request takes longer than *timeout_ms*, from its beginning to its answer."""
        timeout_s = timeout_ms / 1000
        return self._loop.run(self._post_all(events, timeout_s), timeout_s=timeout_s + CONNECT_TIMEOUT_S)

    def close(self) -> None:
        """Close the connections."""
        session, self._session = self._session, None
        if session is not None:
            self._loop.run(session.close(), timeout_s=CONNECT_TIMEOUT_S)
        self._loop.close()

    async def _post_all(self, events: Sequence[Outgoing], timeout_s: float) -> list[Outcome]:
        import aiohttp

        if self._session is None:
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=REQUESTS_MAX),
                # The limit on the whole of a request is ours; what a receiver would have us remember is forgotten.
                timeout=aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_TIMEOUT_S),
                cookie_jar=aiohttp.DummyCookieJar(),
                auto_decompress=False,
            )
        session, give_up_s = self._session, asyncio.get_running_loop().time() + timeout_s
        return list(await asyncio.gather(*(self._post(session, event, give_up_s) for event in events)))

    async def _post(self, session: aiohttp.ClientSession, event: Outgoing, give_up_s: float) -> Outcome:
        import aiohttp

        body = envelope(event)
        headers = {"Content-Type": "application/json", "User-Agent": "lastro"} | signed(
            body, event_id=event.event_id, secrets=self._secrets, at_s=int(event.taken_at.timestamp())
        )
        try:
            # On the whole request: one that drips its answer byte by byte never exceeds a timeout between two bytes.
            async with (
                asyncio.timeout_at(give_up_s),
                session.post(self._url, data=body, headers=headers, allow_redirects=False) as answer,
            ):
                return await _judged(answer)
        except TimeoutError:
            return unanswered("no answer in time")
        except aiohttp.ClientError as error:
            return unanswered(error)


async def _judged(answer: aiohttp.ClientResponse) -> Outcome:
    status = answer.status
    if 200 <= status < 300:
        return ACKNOWLEDGED
    if 300 <= status < 400:
        return rejected(f"HTTP {status}: redirects are refused; give the relay the URL they lead to")
    said = await answer.content.read(ANSWER_BYTES_MAX)
    reason = f"HTTP {status}: {said.decode('utf-8', 'replace')}"
    return impossible(reason) if status in IMPOSSIBLE else rejected(reason)
