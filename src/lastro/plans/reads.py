"""
The read model: events are applied once each, and screens read what they come to.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

from lastro.plans.plan import TOGETHER, Plan, step
from lastro.plans.stored import whole

LOCK_TIMEOUT_MS = 3_000


class ReadEntry(NamedTuple):
    """
    One side of a transfer as screens show it: `amount` is what it does to the account, in minor units.
    """

    key: str
    side: str
    account: str
    currency: str
    amount: int
    counter_account: str
    kind: str
    cause: str | None
    transfer_id: int
    occurred_at: datetime
    recorded_at: datetime


class ReadBalance(NamedTuple):
    """
    What is posted on an account, in minor units, by `entries` entries of which the newest was recorded at `newest_at`.
    """

    account: str
    currency: str
    posted: int
    entries: int
    newest_at: datetime | None


class BetEvent(NamedTuple):
    """
    What became of a bet, and what is known of the bet by it.
    """

    event_id: str
    bet: str
    event: str
    version: int
    account: str
    currency: str
    stake: int
    potential_return: int | None
    returned: int | None
    legs: str | None
    placed_at: datetime | None
    payload: str
    opened_at: datetime


class ReadBet(NamedTuple):
    """
    A bet as screens show it; `state` is what the newest version that came says: placed, settled, voided, corrected.
    """

    bet: str
    account: str
    currency: str
    state: str
    version: int
    stake: int
    potential_return: int | None
    returned: int | None
    legs: list[dict[str, Any]]
    placed_at: datetime | None
    changed_at: datetime


class ReadStanding(NamedTuple):
    """
    How far a read model came. `delay_ms`: how long the newest event had waited when it was applied.
    """

    events: int
    newest_opened_at: datetime | None
    applied_at: datetime | None
    delay_ms: int | None


def apply_entries(
    entries: Sequence[ReadEntry], bets: Sequence[BetEvent], *, events: int, newest_opened_at: datetime | None
) -> Plan[int]:
    """
    Apply what events came to, all of it in one transaction; return how many entries and bet events were new.
    """
    yield TOGETHER
    yield step("session.limit_lock_wait", lock_timeout=f"{LOCK_TIMEOUT_MS}ms")
    new = 0
    if entries:
        rows = yield step(
            "reads.apply_entries",
            keys=[entry.key for entry in entries],
            sides=[entry.side for entry in entries],
            accounts=[entry.account for entry in entries],
            currencies=[entry.currency for entry in entries],
            amounts=[entry.amount for entry in entries],
            counter_accounts=[entry.counter_account for entry in entries],
            kinds=[entry.kind for entry in entries],
            causes=[entry.cause for entry in entries],
            transfer_ids=[entry.transfer_id for entry in entries],
            occurred_ats=[entry.occurred_at for entry in entries],
            recorded_ats=[entry.recorded_at for entry in entries],
        )
        new += rows[0]["added"]
    for bet in sorted(bets, key=lambda each: (each.bet, each.version)):
        rows = yield step("reads.apply_bet", **bet._asdict())
        new += rows[0]["added"]
    if events:
        yield step("reads.note_progress", events=events, newest_opened_at=newest_opened_at)
    return new


def standing() -> Plan[ReadStanding]:
    """
    Return how far it came.
    """
    row = (yield step("reads.standing"))[0]
    return ReadStanding(
        whole(row, "events"), _moment(row["newest_opened_at"]), _moment(row["applied_at"]), row["delay_ms"]
    )


def balance(account: str, currency: str) -> Plan[ReadBalance]:
    """
    Return what is posted; nothing, by no entries, for an account that no event has spoken of.
    """
    rows = yield step("reads.balance", account=account, currency=currency)
    if not rows:
        return ReadBalance(account, currency, 0, 0, None)
    row = rows[0]
    return ReadBalance(account, currency, row["posted"], row["entries"], _moment(row["newest_at"]))


def entries(account: str, currency: str, *, before_id: int | None, limit: int) -> Plan[list[ReadEntry]]:
    """
    Return entries, the newest first.
    """
    rows = yield step("reads.entries", account=account, currency=currency, before_id=before_id, rows_max=limit)
    return [
        ReadEntry(**{
            **row,
            "occurred_at": row["occurred_at"].astimezone(UTC),
            "recorded_at": row["recorded_at"].astimezone(UTC),
        })
        for row in rows
    ]  # fmt: skip


def bets(account: str, *, open_only: bool, limit: int) -> Plan[list[ReadBet]]:
    """
    Return bets, the newest first.
    """
    rows = yield step("reads.bets", account=account, open_only=open_only, rows_max=limit)
    return [
        ReadBet(**{
            **row,
            "legs": json.loads(row["legs"] or "[]"),
            "placed_at": _moment(row["placed_at"]),
            "changed_at": row["changed_at"].astimezone(UTC),
        })
        for row in rows
    ]  # fmt: skip


def clear() -> Plan[None]:
    """
    Empty what can be filled again from a ledger's history.
    """
    yield TOGETHER
    yield step("session.limit_lock_wait", lock_timeout=f"{LOCK_TIMEOUT_MS}ms")
    yield step("reads.clear")


def _moment(value: datetime | None) -> datetime | None:
    return None if value is None else value.astimezone(UTC)
