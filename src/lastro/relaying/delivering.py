"""
What a target is to a relay: it is handed events, at most one of a key at a time, and says of each what became of it.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Final, Literal, NamedTuple, Protocol, TypeAlias

from lastro.plans.relaying import Outgoing

Verdict: TypeAlias = Literal["acknowledged", "rejected", "impossible", "unanswered"]
REASON_CHARACTERS_MAX: Final = 500


class Outcome(NamedTuple):
    """
    What became of one event: "acknowledged" (received and kept), "rejected" (answered, not taken this time),
    "impossible" (it never will be, as it is), or "unanswered" (nobody knows, or nobody was there).
    """

    verdict: Verdict
    reason: str = ""


ACKNOWLEDGED: Final = Outcome("acknowledged")


class Target(Protocol):
    """
    Somewhere to publish to. `failures_max`: batches in a row of which nothing is taken before relays leave it alone.
    """

    name: str
    failures_max: int | None

    def publish(self, events: Sequence[Outgoing], *, timeout_ms: int) -> list[Outcome]:
        """
        Publish *events*, all of different keys, within *timeout_ms*; return an outcome each, in their order.

        An event is acknowledged only where the other side said so. What raises counts as unanswered.
        """
        ...

    def close(self) -> None:
        """Let go of connections; the next call opens new ones."""
        ...


def envelope(event: Outgoing) -> bytes:
    """
    Return an event as every target sends it: JSON with the event's id, topic, ordering key, moment and payload.
    """
    body: dict[str, Any] = {
        "event_id": event.event_id,
        "topic": event.topic,
        "ordering_key": event.ordering_key,
        "opened_at": event.opened_at.isoformat(),
        "payload": json.loads(event.payload),
    }
    return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()


def rejected(reason: str) -> Outcome:
    """
    Return that an event was answered and not taken; another attempt may go otherwise.
    """
    return Outcome("rejected", shortened(reason))


def impossible(reason: str) -> Outcome:
    """
    Return that an event can't be taken as it is, whatever else is.
    """
    return Outcome("impossible", shortened(reason))


def unanswered(reason: str | BaseException) -> Outcome:
    """
    Return that there was no answer.
    """
    text = reason if isinstance(reason, str) else f"{type(reason).__name__}: {reason}"
    return Outcome("unanswered", shortened(text))


def shortened(reason: str) -> str:
    """
    Return *reason* as it may be stored: printable, and not too long.
    """
    kept = "".join(character if character.isprintable() else " " for character in reason)
    return kept.encode("utf-8", "replace").decode()[:REASON_CHARACTERS_MAX].strip() or "no reason given"
