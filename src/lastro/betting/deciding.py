"""
What results make of a bet: the outcome of each leg, and what comes back. No database, no clock.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import NamedTuple

from lastro.model.odds import VOID, bet_return, factor
from lastro.plans.plan import Row, Rows


class Leg(NamedTuple):
    """A leg as it was struck: odds in thousandths."""

    market_id: int
    selection_id: int
    odds: int


class Settled(NamedTuple):
    """How a bet was settled."""

    version: int
    returned: int
    is_void: bool
    outcomes: tuple[str, ...]


class LockedBet(NamedTuple):
    """
    A bet whose row this transaction holds. `is_open` says that the market in hand has not reached it yet; a person has
    voided it where there is a `void_reason`.
    """

    id: int
    key: str
    account_id: int
    account: str
    currency: str
    stake: int
    return_max: int
    placed_at: datetime
    legs: tuple[Leg, ...]
    is_open: bool
    settled: Settled | None
    hold_id: int | None
    void_reason: str | None


class Result(NamedTuple):
    """The newest result of a market: the outcome of each selection, by its id, and when it was decided."""

    outcomes: Mapping[str, str]
    decided_at: datetime


class Decision(NamedTuple):
    """What results make of a bet: the outcomes of its legs, what comes back, and whether all of it is void."""

    outcomes: tuple[str, ...]
    returned: int
    is_void: bool


def decide(bet: LockedBet, results: Mapping[int, Result]) -> Decision | None:
    """
    Return what the results make of a bet; None while a market of its legs has none, also where another leg is lost.

    A leg whose market was decided before the bet was placed is void: what was known by then could not be bet on. A bet of
    which all legs are void gives its stake back. So does one that a person has voided, whatever results there are.
    """
    if bet.void_reason is not None:
        return Decision((VOID,) * len(bet.legs), bet.stake, is_void=True)
    outcomes = []
    for leg in bet.legs:
        result = results.get(leg.market_id)
        if result is None:
            return None
        too_late = bet.placed_at > result.decided_at
        outcomes.append(VOID if too_late else result.outcomes[str(leg.selection_id)])
    if all(outcome == VOID for outcome in outcomes):
        return Decision(tuple(outcomes), bet.stake, is_void=True)
    factors = (factor(leg.odds, outcome) for leg, outcome in zip(bet.legs, outcomes, strict=True))
    return Decision(tuple(outcomes), bet_return(bet.stake, factors, return_max=bet.return_max), is_void=False)


def read_bets(rows: Rows) -> list[LockedBet]:
    """
    Return the bets of a batch, from a row a leg in order.
    """
    legs: dict[int, list[Row]] = {}
    for row in rows:
        legs.setdefault(row["bet_id"], []).append(row)
    return [_read_bet(of_bet) for of_bet in legs.values()]


def read_results(rows: Rows) -> dict[int, Result]:
    """
    Return the newest results by market.
    """
    return {row["market_id"]: Result(json.loads(row["outcomes"]), row["decided_at"].astimezone(UTC)) for row in rows}


def _read_bet(rows: list[Row]) -> LockedBet:
    row = rows[0]
    settled = None
    if row["version"] is not None:
        outcomes = tuple(row["outcomes"].split(","))
        settled = Settled(row["version"], row["returned"], bool(row["is_void"]), outcomes)
    return LockedBet(
        id=row["bet_id"],
        key=row["key"],
        account_id=row["account_id"],
        account=row["account"],
        currency=row["currency"],
        stake=row["stake"],
        return_max=row["return_max"],
        placed_at=row["placed_at"].astimezone(UTC),
        legs=tuple(Leg(one["market_id"], one["selection_id"], one["odds"]) for one in rows),
        is_open=bool(row["is_open"]),
        settled=settled,
        hold_id=row["hold_id"],
        void_reason=row["void_reason"],
    )
