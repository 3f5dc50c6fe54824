"""
Markets, bets and results as JSON documents with stable keys: amounts are strings of minor units, odds decimal text.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from lastro.betting.rounds import Settlement
from lastro.model.bet import Bet, BetEvent, DeadLetter, Exposure, Market, ResultTaken, StuckBet


def market_document(market: Market) -> dict[str, Any]:
    """
    Return a market with its selections.
    """
    return {
        "name": market.name,
        "currency": market.currency,
        "state": market.state,
        "closes_at": _moment(market.closes_at),
        "settle_by": _moment(market.settle_by),
        "stake_min": str(market.stake_min),
        "stake_max": str(market.stake_max),
        "liability_max": None if market.liability_max is None else str(market.liability_max),
        "selections": [selection._asdict() for selection in market.selections],
        "opened_at": market.opened_at.isoformat(),
        "result_version": market.result_version,
    }


def exposure_document(exposure: Exposure) -> dict[str, Any]:
    """
    Return what the bets on a selection come to.
    """
    return {
        "selection": exposure.selection,
        "odds": exposure.odds,
        "bets": exposure.bets,
        "stakes": str(exposure.stakes),
        "returns": str(exposure.returns),
        "liability": str(exposure.liability),
    }


def bet_document(bet: Bet) -> dict[str, Any]:
    """
    Return a bet as it stands.
    """
    return {
        "key": bet.key,
        "account": bet.account,
        "currency": bet.currency,
        "stake": str(bet.stake),
        "potential_return": str(bet.potential_return),
        "legs": [leg._asdict() for leg in bet.legs],
        "state": bet.state,
        "version": bet.version,
        "returned": None if bet.returned is None else str(bet.returned),
        "placed_at": bet.placed_at.isoformat(),
        "settle_by": bet.settle_by.isoformat(),
        "settled_at": _moment(bet.settled_at),
        "actor": bet.actor,
        "metadata": bet.metadata,
    }


def bet_event_document(event: BetEvent) -> dict[str, Any]:
    """
    Return one thing that became of a bet.
    """
    return {
        "number": event.number,
        "kind": event.kind,
        "version": event.version,
        "shortfall": None if event.shortfall is None else str(event.shortfall),
        "reason": event.reason,
        "recorded_at": event.recorded_at.isoformat(),
    }


def stuck_document(stuck: StuckBet) -> dict[str, Any]:
    """
    Return a bet that couldn't be settled.
    """
    return stuck._asdict() | {"since": stuck.since.isoformat()}


def letter_document(letter: DeadLetter) -> dict[str, Any]:
    """
    Return a message that was no result; what of it isn't text is escaped.
    """
    return {
        "id": str(letter.id),
        "topic": letter.topic,
        "code": letter.code,
        "reason": letter.reason,
        "message": letter.message.decode("utf-8", "backslashreplace"),
        "received_at": letter.received_at.isoformat(),
    }


def result_document(taken: ResultTaken) -> dict[str, Any]:
    """
    Return what became of a result.
    """
    return taken._asdict()


def settlement_document(done: Settlement) -> dict[str, Any]:
    """
    Return what a round of settlement did.
    """
    return done._asdict()


def _moment(moment: datetime | None) -> str | None:
    return None if moment is None else moment.isoformat()
