"""
Relaying: a relay claims a lane, takes a batch of its events, and records what became of each, if the lane is still its.

Nothing is locked while events are on their way: the lane is leased, and its token is the fence. What a relay published
after it lost its lane isn't recorded, so another one publishes it again, under the same event id.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from lastro.model.limits import (
    RELAY_ATTEMPTS_MAX,
    RELAY_EVENTS_MAX,
    RELAY_KEYS_MAX,
    RELAY_LEASE_MS,
    RELAY_PAUSE_MAX_MS,
    RELAY_PAUSE_MS,
    RELAY_TARGET_PAUSE_MAX_MS,
)
from lastro.plans.plan import TOGETHER, Plan, Rows, step
from lastro.plans.waiting import patiently

# Beyond these the longest pause is reached anyway.
DOUBLINGS_MAX = 20
# A target's row is written so often at most while all goes well; relays of all lanes share it.
NOTED_EVERY_MS = 1_000
NEVER = 2**31 - 1
# Failures of one target within so long count as one: relays of many lanes meet the same outage.
FAILURES_APART_MS = 10_000


class RelayTerms(NamedTuple):
    """
    How relays of one ledger work; all of them by the same.

    `others_go_on`: once an event was set aside, do the later ones of its key go on, or (the default) wait for a person?
    `failures_max`: batches in a row of which the target takes nothing before it is switched off; None for never.
    """

    lease_ms: int = RELAY_LEASE_MS
    events_max: int = RELAY_EVENTS_MAX
    attempts_max: int = RELAY_ATTEMPTS_MAX
    pause_ms: int = RELAY_PAUSE_MS
    pause_max_ms: int = RELAY_PAUSE_MAX_MS
    target_pause_max_ms: int = RELAY_TARGET_PAUSE_MAX_MS
    others_go_on: bool = False
    failures_max: int | None = None
    failures_apart_ms: int = FAILURES_APART_MS
    noted_every_ms: int = NOTED_EVERY_MS


class Claimed(NamedTuple):
    """
    A lane that is ours until its lease is over.
    """

    lane: int
    token: int
    holder: str


class Outgoing(NamedTuple):
    """
    An event as it is published, and when it was taken from the outbox to be.
    """

    id: int
    event_id: str
    topic: str
    ordering_key: str
    payload: str
    opened_at: datetime
    taken_at: datetime


class Batch(NamedTuple):
    """
    What a relay has taken from a lane: events to publish in their order, events to be parked because their key waits,
    and the keys whose wait was over.
    """

    events: list[Outgoing]
    waiting: list[int]
    due_keys: list[str]


class Failure(NamedTuple):
    """
    An event that the target answered and didn't take. `hopeless`: it never will, whatever else it takes. `share` is the
    part of the pause that chance has left (jitter).
    """

    event: Outgoing
    reason: str
    hopeless: bool
    share: float


class Done(NamedTuple):
    """
    What became of a batch: published, failed, and behind those that failed; why the target didn't answer, if so.
    """

    published: list[int]
    failed: list[Failure]
    behind: list[int]
    unanswered: str | None


class Recorded(NamedTuple):
    """
    What recording came to: the events that were set aside, and whether the target is switched off by now.
    """

    set_aside: int
    disabled: bool


class TargetState(NamedTuple):
    """
    Whether a target may be tried now.
    """

    pausing: bool
    disabled_because: str | None


def target_state(target: str) -> Plan[TargetState]:
    """
    Return whether *target* may be tried now.
    """
    rows = yield step("relaying.target", target=target)
    if not rows:
        return TargetState(pausing=False, disabled_because=None)
    row = rows[0]
    because = None if row["disabled_at"] is None else row["reason"] or "switched off"
    return TargetState(row["pausing"], because)


def age_ms() -> Plan[int]:
    """
    Return the age of the oldest event; 0 where none waits.
    """
    rows = yield step("relaying.age")
    return rows[0]["age_ms"] if rows else 0


def claim(holder: str, terms: RelayTerms) -> Plan[Claimed | None]:
    """
    Claim a lane with something to do that nobody else holds; None where there is none.
    """
    rows = yield step("relaying.claim", holder=holder, lease_ms=terms.lease_ms)
    return Claimed(rows[0]["lane"], rows[0]["token"], holder) if rows else None


def give_back(claimed: Claimed) -> Plan[None]:
    """
    Let go of a lane.
    """
    yield step("relaying.give_back", lane=claimed.lane, token=claimed.token)


def take(claimed: Claimed, terms: RelayTerms, *, lock_timeout_ms: int) -> Plan[Batch | None]:
    """
    Take the next batch of a lane and renew its lease; None where the lane isn't ours any more.
    """
    return (yield from patiently(_take(claimed, terms), lock_timeout_ms))


def record(
    claimed: Claimed, batch: Batch, done: Done, target: str, terms: RelayTerms, *, lock_timeout_ms: int
) -> Plan[Recorded | None]:
    """
    Record what became of a batch, all of it in one transaction; None, with nothing recorded, where the lane was lost.
    """
    return (yield from patiently(_record(claimed, batch, done, target, terms), lock_timeout_ms))


def _take(claimed: Claimed, terms: RelayTerms) -> Plan[Batch | None]:
    ours = yield step("relaying.hold", lane=claimed.lane, token=claimed.token, lease_ms=terms.lease_ms)
    if not ours:
        return None
    keys = yield step("relaying.due_keys", lane=claimed.lane, keys_max=RELAY_KEYS_MAX)
    due_keys: list[str] = [row["ordering_key"] for row in keys]
    parked: Rows = []
    if due_keys:
        parked = yield step("relaying.take_parked", ordering_keys=due_keys, rows_max=terms.events_max)
    ready = yield step("relaying.take_ready", lane=claimed.lane, rows_max=terms.events_max)
    rows = [*parked, *ready]
    return Batch(
        events=[
            Outgoing(
                row["id"],
                row["event_id"],
                row["topic"],
                row["ordering_key"],
                row["payload"],
                row["opened_at"].astimezone(UTC),
                row["taken_at"].astimezone(UTC),
            )
            for row in rows
            if not row["waits"]
        ],
        waiting=[row["id"] for row in rows if row["waits"]],
        due_keys=due_keys,
    )


def _record(claimed: Claimed, batch: Batch, done: Done, target: str, terms: RelayTerms) -> Plan[Recorded | None]:
    yield TOGETHER
    ours = yield step(
        "relaying.fence",
        lane=claimed.lane,
        token=claimed.token,
        published=len(done.published),
        lease_ms=terms.lease_ms,
    )
    if not ours:
        return None
    if done.published:
        yield step("relaying.publish", ids=done.published)
    aside = 0
    if done.failed:
        aside = yield from _note_failures(claimed, done, target, terms)
    to_park = [*batch.waiting, *done.behind, *(failure.event.id for failure in done.failed)]
    if to_park:
        yield step("relaying.park", ids=to_park)
    if batch.due_keys:
        # After the parking, so that what a key still has is seen.
        yield step("relaying.let_go", ordering_keys=batch.due_keys)
    disabled = yield from _note_target(done, target, terms)
    return Recorded(aside, disabled)


def _note_failures(claimed: Claimed, done: Done, target: str, terms: RelayTerms) -> Plan[int]:
    failed: Sequence[Failure] = done.failed
    keys = [failure.event.ordering_key for failure in failed]
    yield step(
        "relaying.note_failures",
        lane=claimed.lane,
        ordering_keys=keys,
        event_ids=[failure.event.event_id for failure in failed],
        reasons=[failure.reason for failure in failed],
        shares=[failure.share for failure in failed],
        pause_ms=terms.pause_ms,
        pause_max_ms=terms.pause_max_ms,
        doublings_max=DOUBLINGS_MAX,
    )
    rows = yield step(
        "relaying.set_aside",
        ordering_keys=keys,
        hopeless=[failure.hopeless for failure in failed],
        attempts_max=terms.attempts_max,
        others_taken=bool(done.published),
        others_go_on=terms.others_go_on,
        target=target,
        holder=claimed.holder,
    )
    return len(rows)


def _note_target(done: Done, target: str, terms: RelayTerms) -> Plan[bool]:
    if done.published:
        yield step("relaying.note_taken", target=target, every_ms=terms.noted_every_ms)
        return False
    reason = done.unanswered or (done.failed[0].reason if done.failed else None)
    if reason is None:
        return False
    rows = yield step(
        "relaying.note_failed",
        target=target,
        reason=reason,
        pausing=done.unanswered is not None,
        pause_ms=terms.pause_ms,
        pause_max_ms=terms.target_pause_max_ms,
        doublings_max=DOUBLINGS_MAX,
        failures_max=terms.failures_max or NEVER,
        apart_ms=terms.failures_apart_ms,
    )
    if rows[0]["disabled_at"] is None:
        return False
    if not rows[0]["now_disabled"]:
        # Switched off already; this batch was on its way.
        return True
    yield step("outbox.note", action="disabled", about=target, reason=reason, actor="relay", event=None, now=None)
    return True
