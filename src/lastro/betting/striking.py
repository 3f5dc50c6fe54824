"""
Judging a bet by what was looked at: is the market open, are the odds on offer, the stake and the liability within limits.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from lastro.betting.reading import unknown_market
from lastro.errors import (
    AccountBarred,
    CurrencyMismatch,
    LiabilityExceeded,
    MarketClosed,
    OddsChanged,
    StakeOutOfRange,
)
from lastro.model.bet import AskedLeg, BetIntent
from lastro.model.limits import BET_RETURN_MAX, SETTLEMENT_DUE_MS, SETTLEMENT_DUE_OPEN_END_MS
from lastro.model.odds import potential_return, shown_odds
from lastro.plans.plan import Row, Rows


class Struck(NamedTuple):
    """A bet that may be taken: its market rows, its moment, what it may bring back, and by when it must be settled."""

    rows: Rows
    placed_at: datetime
    potential_return: int
    settle_by: datetime


def strike(wanted: BetIntent, rows: Rows) -> Struck:
    """
    Judge what was looked at, and return the bet as it may be taken.
    """
    now: datetime = rows[0]["looked_at"].astimezone(UTC)
    for leg, row in zip(wanted.legs, rows, strict=True):
        _refuse_market(leg, row, now)
        _refuse_terms(wanted, leg, row)
    most = potential_return(wanted.stake, (row["odds"] for row in rows), return_max=BET_RETURN_MAX)
    for leg, row in zip(wanted.legs, rows, strict=True):
        _refuse_liability(leg, row, most - wanted.stake)
    if rows[0]["is_barred"]:
        raise AccountBarred(f"account {wanted.account!r} may not bet", account=wanted.account)
    return Struck(rows, now, most, max(_settle_by(row, now) for row in rows))


def _refuse_market(leg: AskedLeg, row: Row, now: datetime) -> None:
    if row["market_id"] is None:
        raise unknown_market(leg.market)
    if row["selection_id"] is None:
        raise unknown_market(leg.market, leg.selection)
    closes_at = row["closes_at"]
    is_over = closes_at is not None and closes_at <= now
    if row["state"] != "open" or is_over or row["selection_state"] != "open":
        state = "closed" if is_over and row["state"] == "open" else row["state"]
        if state == "open":
            state = row["selection_state"]
        raise MarketClosed(
            f"market {leg.market!r} takes no bets on {leg.selection!r}: it is {state}"
            + ("" if closes_at is None else f" (it closes at {closes_at.astimezone(UTC).isoformat()})"),
            market=leg.market,
            selection=leg.selection,
            state=state,
            closes_at=None if closes_at is None else closes_at.astimezone(UTC),
        )


def _refuse_terms(wanted: BetIntent, leg: AskedLeg, row: Row) -> None:
    if row["currency"] != wanted.currency:
        raise CurrencyMismatch(
            f"market {leg.market!r} is in {row['currency']}, and the bet in {wanted.currency}",
            account=wanted.account,
            currency=wanted.currency,
            currencies=[row["currency"]],
        )
    if row["odds"] < leg.odds - wanted.tolerance:
        raise OddsChanged(
            f"{leg.selection!r} of market {leg.market!r} is on offer at {shown_odds(row['odds'])}, "
            f"and {shown_odds(leg.odds)} was asked for; ask again at the new odds, under a new key",
            market=leg.market,
            selection=leg.selection,
            asked=shown_odds(leg.odds),
            offered=shown_odds(row["odds"]),
        )
    if not row["stake_min"] <= wanted.stake <= row["stake_max"]:
        raise StakeOutOfRange(
            f"market {leg.market!r} takes stakes of {row['stake_min']} … {row['stake_max']} minor units; "
            f"this is {wanted.stake}",
            market=leg.market,
            stake=wanted.stake,
            stake_min=row["stake_min"],
            stake_max=row["stake_max"],
        )


def _refuse_liability(leg: AskedLeg, row: Row, win: int) -> None:
    limit = row["liability_max"]
    if limit is None:
        return
    liability = int(row["liability"] or 0)
    if liability + win > limit:
        raise LiabilityExceeded(
            f"the bets on {leg.selection!r} of market {leg.market!r} may win {liability} minor units, this one "
            f"{win} more, and the limit is {limit}: ask for a smaller stake, under a new key",
            market=leg.market,
            selection=leg.selection,
            limit=limit,
            liability=liability,
            win=win,
        )


def _settle_by(row: Row, now: datetime) -> datetime:
    if row["settle_by"] is not None:
        due: datetime = row["settle_by"].astimezone(UTC)
    elif row["closes_at"] is not None:
        due = row["closes_at"].astimezone(UTC) + timedelta(milliseconds=SETTLEMENT_DUE_MS)
    else:
        due = now + timedelta(milliseconds=SETTLEMENT_DUE_OPEN_END_MS)
    # The deadline of a hold lies ahead, whatever the market's terms say.
    return due if due > now else now + timedelta(milliseconds=SETTLEMENT_DUE_MS)
