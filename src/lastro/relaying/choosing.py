"""
From the words of the environment or the terminal to targets: https://…, kafka://…, nats://…, amqp://….
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from urllib.parse import parse_qsl, urlsplit, urlunsplit

from lastro.errors import InvalidInput
from lastro.relaying.delivering import Target
from lastro.relaying.together import Together

# What stands in a URL's query and is ours.
EXCHANGE = "exchange"
PREFIX = "prefix"


def choose(
    urls: Sequence[str], *, secrets: Sequence[bytes] = (), others: Mapping[str, Callable[[str], Target]] | None = None
) -> Target:
    """
    Return the target that *urls* name; several become one that publishes to each.

    `https://host/path`: a webhook, signed with *secrets*. `kafka://host:9092[,host…]?prefix=…` with librdkafka's settings
    as further words of the query. `nats://host:4222?prefix=…`. `amqp://user:password@host/vhost?exchange=…`.
    *others* make targets of other schemes from the whole URL.
    """
    more = others or {}
    targets: list[Target] = []
    with ExitStack() as opened:
        for url in urls:
            scheme = urlsplit(url).scheme
            targets.append(more[scheme](url) if scheme in more else _one(url, secrets))
            opened.callback(targets[-1].close)
        opened.pop_all()
    if not targets:
        raise InvalidInput("a relay needs a target: https://…, kafka://…, nats://… or amqp://…", argument="target")
    return targets[0] if len(targets) == 1 else Together(targets)


def _one(url: str, secrets: Sequence[bytes]) -> Target:
    parts = urlsplit(url)
    words = dict(parse_qsl(parts.query, keep_blank_values=True))
    bare = urlunsplit(parts._replace(query=""))
    match parts.scheme:
        case "http" | "https":
            from lastro.relaying.webhook import Webhook

            return Webhook(url, secrets=secrets)
        case "kafka":
            from lastro.relaying.kafka import Kafka

            if "@" in parts.netloc:
                raise InvalidInput("Kafka's user and password are settings: ?sasl.username=…", argument="target")
            prefix = words.pop(PREFIX, "")
            return Kafka(words | {"bootstrap.servers": parts.netloc}, prefix=prefix)
        case "nats" | "tls":
            from lastro.relaying.nats import Nats

            return Nats(bare, prefix=words.get(PREFIX, ""))
        case "amqp" | "amqps":
            from lastro.relaying.rabbitmq import RabbitMQ

            if not words.get(EXCHANGE):
                raise InvalidInput("RabbitMQ needs an exchange: amqp://host/vhost?exchange=events", argument="target")
            return RabbitMQ(bare, exchange=words[EXCHANGE])
    raise InvalidInput(
        f"no target begins with {parts.scheme or url[:10]!r}; there is https://…, kafka://…, nats://… and amqp://…",
        argument="target",
    )
