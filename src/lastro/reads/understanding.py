"""
From events to what a read model keeps: the two entries of a transfer, what became of a bet, or nothing.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any, NamedTuple

from lastro.errors import InvalidInput
from lastro.model.account import WORLD
from lastro.model.transfer import Entry
from lastro.plans.reads import BetEvent, ReadEntry


class Understood(NamedTuple):
    """
    What an event comes to. Neither entries nor a bet: it is none of a read model's business.
    """

    entries: tuple[ReadEntry, ...]
    bet: BetEvent | None


def understand(event_id: str, payload: Mapping[str, Any], opened_at: datetime) -> Understood:
    """
    Return what an event comes to. Raises InvalidInput for one that looks like a transfer or a bet and isn't whole.
    """
    try:
        if {"debit", "credit", "transfer_id"} <= payload.keys():
            return Understood(_entries(payload), None)
        if {"bet", "event", "stake"} <= payload.keys():
            return Understood((), _bet(event_id, payload, opened_at))
    except (KeyError, TypeError, ValueError) as error:
        raise InvalidInput(f"event {event_id!r} can't be understood: {error!r}", argument="payload") from error
    return Understood((), None)


def entry_of(entry: Entry) -> ReadEntry:
    """
    Return an entry of a ledger's as a read model keeps it.
    """
    return ReadEntry(
        entry.key,
        entry.side,
        entry.account,
        entry.currency,
        entry.signed,
        entry.counter_account,
        entry.kind,
        entry.cause,
        entry.transfer_id,
        entry.occurred_at,
        entry.recorded_at,
    )


def _entries(payload: Mapping[str, Any]) -> tuple[ReadEntry, ...]:
    amount = _whole(payload["amount"])
    sides = (("debit", "credit", -amount), ("credit", "debit", amount))
    # The world's balance would be one row that every event changes, and no screen shows it.
    return tuple(
        ReadEntry(
            key=payload["key"],
            side=side,
            account=payload[side],
            currency=payload["currency"],
            amount=signed,
            counter_account=payload[other],
            kind=payload["kind"],
            cause=payload["cause"],
            transfer_id=_whole(payload["transfer_id"]),
            occurred_at=datetime.fromisoformat(payload["occurred_at"]),
            recorded_at=datetime.fromisoformat(payload["recorded_at"]),
        )
        for side, other, signed in sides
        if payload[side] != WORLD
    )


def _bet(event_id: str, payload: Mapping[str, Any], opened_at: datetime) -> BetEvent:
    placed_at, legs = payload.get("placed_at"), payload.get("legs")
    return BetEvent(
        event_id=event_id,
        bet=payload["bet"],
        event=payload["event"],
        version=int(payload.get("version") or 0),
        account=payload["account"],
        currency=payload["currency"],
        stake=_whole(payload["stake"]),
        potential_return=_optional(payload.get("potential_return")),
        returned=_optional(payload.get("returned")),
        legs=None if legs is None else json.dumps(legs),
        placed_at=None if placed_at is None else datetime.fromisoformat(placed_at),
        payload=json.dumps(dict(payload)),
        opened_at=opened_at,
    )


def _whole(digits: object) -> int:
    # Amounts are strings of digits: a JSON number above 2^53 was rounded on its way.
    if not isinstance(digits, str):
        raise TypeError(f"an amount is a string of digits; got {type(digits).__name__}")
    return int(digits)


def _optional(digits: object) -> int | None:
    return None if digits is None else _whole(digits)
