"""
Writing events to the outbox, in the transaction of what they tell.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from lastro.plans.plan import Plan, step


class Event(NamedTuple):
    """
    What is to be published: `event_id` names it for good, and events of one `ordering_key` are published in order.
    """

    event_id: str
    topic: str
    ordering_key: str
    payload: Mapping[str, Any]


def emit(events: Sequence[Event], *, now: datetime | None) -> Plan[None]:
    """
    Write *events*; nothing where there are none.
    """
    if events:
        yield step(
            "outbox.emit",
            event_ids=[event.event_id for event in events],
            topics=[event.topic for event in events],
            ordering_keys=[event.ordering_key for event in events],
            payloads=[json.dumps(event.payload, separators=(",", ":"), sort_keys=True) for event in events],
            now=now,
        )
