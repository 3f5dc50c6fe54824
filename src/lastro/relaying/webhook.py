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
    import httpx

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
        self._client: httpx.AsyncClient | None = None

    def publish(self, events: Sequence[Outgoing], *, timeout_ms: int) -> list[Outcome]:
        """Post each event; no request takes longer than *timeout_ms*, from its beginning to its answer."""
        timeout_s = timeout_ms / 1000
        return self._loop.run(self._post_all(events, timeout_s), timeout_s=timeout_s + CONNECT_TIMEOUT_S)

    def close(self) -> None:
        """Close the connections."""
        if self._client is not None:
            self._loop.run(self._client.aclose(), timeout_s=CONNECT_TIMEOUT_S)
            self._client = None
        self._loop.close()

    async def _post_all(self, events: Sequence[Outgoing], timeout_s: float) -> list[Outcome]:
        import httpx

        if self._client is None:
            self._client = httpx.AsyncClient(
                follow_redirects=False,
                timeout=httpx.Timeout(timeout_s, connect=CONNECT_TIMEOUT_S),
                limits=httpx.Limits(max_connections=REQUESTS_MAX),
                # Neither a proxy nor a password that the environment happens to name.
                trust_env=False,
            )
        give_up_s = asyncio.get_running_loop().time() + timeout_s
        places = asyncio.Semaphore(REQUESTS_MAX)

        async def post(event: Outgoing) -> Outcome:
            async with places:
                return await self._post(event, give_up_s)

        return list(await asyncio.gather(*(post(event) for event in events)))

    async def _post(self, event: Outgoing, give_up_s: float) -> Outcome:
        import httpx

        assert self._client is not None, "opened by the caller"
        body = envelope(event)
        headers = {"Content-Type": "application/json", "User-Agent": "lastro"} | signed(
            body, event_id=event.event_id, secrets=self._secrets, at_s=int(event.taken_at.timestamp())
        )
        try:
            # On the whole request: one that drips its answer byte by byte never exceeds a timeout between two bytes.
            async with (
                asyncio.timeout_at(give_up_s),
                self._client.stream("POST", self._url, content=body, headers=headers) as answer,
            ):
                return await _judged(answer)
        except TimeoutError:
            return unanswered("no answer in time")
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            return unanswered(error)


async def _judged(answer: httpx.Response) -> Outcome:
    status = answer.status_code
    if 200 <= status < 300:
        return ACKNOWLEDGED
    said = b""
    async for chunk in answer.aiter_raw():
        said += chunk
        if len(said) >= ANSWER_BYTES_MAX:
            break
    reason = f"HTTP {status}: {said[:ANSWER_BYTES_MAX].decode('utf-8', 'replace')}"
    if 300 <= status < 400:
        return rejected(f"HTTP {status}: redirects are refused; give the relay the URL they lead to")
    return impossible(reason) if status in IMPOSSIBLE else rejected(reason)
