"""
What becomes of open holds: the events that are noted, and the live rows and base rows that follow them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import NamedTuple

from lastro.model.hold import HoldEventKind
from lastro.plans.plan import Plan, Row, step
from lastro.plans.stored import whole


class Notes(NamedTuple):
    """
    What for, whence and by whom a hold was captured or released.
    """

    cause: str | None = None
    source: str | None = None
    actor: str | None = None


class Event(NamedTuple):
    """
    One thing that becomes of a hold: `taken` of it, from `left_before`; see the table `hold_event`.
    """

    hold_id: int
    account_id: int
    number: int
    kind: HoldEventKind
    amount: int
    taken: int
    left_before: int
    transfer_id: int | None
    key: str | None
    notes: Notes


@dataclass(slots=True)
class OpenHold:
    """
    An open hold whose account's base row this transaction holds. It moves on with every event that is made of it.
    """

    id: int
    account_id: int
    left: int
    captured: int
    released: int
    events: int
    listed: bool
    due_at: datetime

    def becomes(
        self,
        kind: HoldEventKind,
        amount: int,
        *,
        transfer_id: int | None = None,
        key: str | None = None,
        notes: Notes,
    ) -> Event:
        """
        Return the event in which *amount* of the hold is captured, released or expires, and move on.

        Of a capture of more than is left, what is left is taken.
        """
        left_before, taken = self.left, min(amount, self.left)
        self.left -= taken
        self.captured += amount if kind == "captured" else 0
        self.released += amount if kind == "released" else 0
        self.events += 1
        return Event(self.id, self.account_id, self.events, kind, amount, taken, left_before, transfer_id, key, notes)


def open_holds(hold_ids: Iterable[int]) -> Plan[dict[int, OpenHold]]:
    """
    Lock and return those of the holds that are still open, by id. The base rows of their accounts are ours.
    """
    rows = yield step("holds.open", hold_ids=sorted(hold_ids))
    return {row["hold_id"]: _open_hold(row) for row in rows}


def _open_hold(row: Row) -> OpenHold:
    return OpenHold(
        row["hold_id"],
        row["account_id"],
        whole(row, "left_over"),
        whole(row, "captured"),
        whole(row, "released"),
        row["events"],
        bool(row["listed"]),
        row["due_at"].astimezone(UTC),
    )


def note(events: Sequence[Event], holds: Iterable[OpenHold], *, now: datetime | None) -> Plan[bool]:
    """
    Note *events* and bring *holds*, of which they were made, to where they stand; False where a key of theirs is taken.

    Then nothing was settled, but an event with another key may be noted: return to a savepoint.
    """
    rows = yield step(
        "ending.note",
        hold_ids=[event.hold_id for event in events],
        numbers=[event.number for event in events],
        kinds=[event.kind for event in events],
        amounts=[event.amount for event in events],
        takens=[event.taken for event in events],
        lefts_before=[event.left_before for event in events],
        lefts_after=[event.left_before - event.taken for event in events],
        transfer_ids=[event.transfer_id for event in events],
        keys=[event.key for event in events],
        causes=[event.notes.cause for event in events],
        sources=[event.notes.source for event in events],
        actors=[event.notes.actor for event in events],
        now=now,
    )
    if len(rows) < len(events):
        return False
    moved = list(holds)
    given_back = _by_account(events)
    yield step(
        "ending.settle",
        open_ids=[hold.id for hold in moved],
        lefts_over=[hold.left for hold in moved],
        captureds=[hold.captured for hold in moved],
        releaseds=[hold.released for hold in moved],
        event_counts=[hold.events for hold in moved],
        account_ids=list(given_back),
        given_back=list(given_back.values()),
        now=now,
    )
    return True


def _by_account(events: Iterable[Event]) -> dict[int, int]:
    sums: dict[int, int] = {}
    for event in events:
        sums[event.account_id] = sums.get(event.account_id, 0) + event.taken
    return sums
