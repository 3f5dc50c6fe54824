"""
Reading bets and markets as values: one, the open ones, the overdue and the stuck, and what became of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from lastro.errors import UnknownBet, UnknownMarket
from lastro.model.bet import Bet, BetEvent, BetLeg, Exposure, Market, Selection, StuckBet
from lastro.model.odds import shown_odds
from lastro.model.text import read_metadata
from lastro.plans.plan import Plan, Row, Rows, step
from lastro.plans.stored import whole


class Backlog(NamedTuple):
    """
    What is still to be settled: how many results, and for how many milliseconds the oldest of them has waited.
    """

    results: int
    oldest_at: datetime | None
    age_ms: int


def find_bet(key: str) -> Plan[Bet | None]:
    """
    Return a bet as it stands, or None where no submission of this key was accepted.
    """
    rows = yield step("betting_reading.find", key=key)
    bets = yield from _bets(rows)
    return bets[0] if bets else None


def get_bet(key: str) -> Plan[Bet]:
    """
    Return a bet as it stands. Raises UnknownBet.
    """
    bet = yield from find_bet(key)
    if bet is None:
        raise UnknownBet(f"no bet was placed by a submission {key!r}", key=key)
    return bet


def bet_events(key: str) -> Plan[list[BetEvent]]:
    """
    Return what became of a bet, in its order. Raises UnknownBet.
    """
    bet = yield from get_bet(key)
    rows = yield step("betting_reading.events", bet_id=bet.id)
    return [
        BetEvent(
            row["number"], row["kind"], row["version"], row["shortfall"], row["reason"], _moment(row, "recorded_at")
        )
        for row in rows
    ]


def open_bets_of(account: str, currency: str, *, after: str | None, limit: int) -> Plan[list[Bet]]:
    """
    Return a page of an account's bets whose stake is still set aside.
    """
    after_id = yield from _place_of(after)
    rows = yield step(
        "betting_reading.open_of_account", account=account, currency=currency, after_id=after_id, rows_max=limit
    )
    return (yield from _bets(rows))


def open_bets_on(market: str, *, after: str | None, limit: int) -> Plan[list[Bet]]:
    """
    Return a page of the bets that wait for a market's result. Raises UnknownMarket.
    """
    found, after_id = (yield from market_row(market)), (yield from _place_of(after))
    rows = yield step("betting_reading.open_of_market", market_id=found["id"], after_id=after_id, rows_max=limit)
    return (yield from _bets(rows))


def overdue_bets(*, limit: int, now: datetime | None) -> Plan[list[Bet]]:
    """
    Return a page of the bets past their deadline whose stake is still set aside, the longest overdue first.
    """
    rows = yield step("betting_reading.overdue", rows_max=limit, now=now)
    return (yield from _bets(rows))


def stuck_bets(*, limit: int) -> Plan[list[StuckBet]]:
    """
    Return a page of the bets that couldn't be settled, the longest stuck first.
    """
    rows = yield step("betting_reading.stuck", rows_max=limit)
    return [StuckBet(row["key"], row["market"], row["code"], row["message"], _moment(row, "opened_at")) for row in rows]


def backlog(*, now: datetime | None) -> Plan[Backlog]:
    """
    Return how much is still to be settled, and since when.
    """
    (row,) = yield step("betting_reading.backlog", now=now)
    if row["oldest_at"] is None:
        return Backlog(0, None, 0)
    oldest = _moment(row, "oldest_at")
    age_s = (_moment(row, "now") - oldest).total_seconds()
    return Backlog(row["results"], oldest, max(0, round(age_s * 1_000)))


def market_row(name: str) -> Plan[Row]:
    """
    Return a market's row. Raises UnknownMarket.
    """
    rows = yield step("betting_markets.read", market=name)
    if not rows:
        raise unknown_market(name)
    return rows[0]


def get_market(name: str) -> Plan[Market]:
    """
    Return a market with its selections. Raises UnknownMarket.
    """
    row = yield from market_row(name)
    return (yield from _markets([row]))[0]


def list_markets(*, state: str | None, after: str | None, limit: int) -> Plan[list[Market]]:
    """
    Return a page of markets in the order of their names.
    """
    rows = yield step("betting_markets.list", state=state, after=after or "", rows_max=limit)
    return (yield from _markets(rows))


def exposure(name: str) -> Plan[list[Exposure]]:
    """
    Return what the bets on each selection of a market come to. Raises UnknownMarket.
    """
    row = yield from market_row(name)
    rows = yield step("betting_markets.exposure", market_id=row["id"])
    return [
        Exposure(row["selection"], shown_odds(row["odds"]), row["bets"], whole(row, "stakes"), whole(row, "returns"))
        for row in rows
    ]


def unknown_market(market: str, selection: str | None = None) -> UnknownMarket:
    """
    Return the refusal of a name that no market has, or no selection of it.
    """
    what = (
        f"there is no market {market!r}" if selection is None else f"market {market!r} has no selection {selection!r}"
    )
    return UnknownMarket(f"{what}; `ledger.betting.markets()` lists what there is", market=market, selection=selection)


def _markets(rows: Rows) -> Plan[list[Market]]:
    selections: dict[int, list[Selection]] = {row["id"]: [] for row in rows}
    if rows:
        for row in (yield step("betting_markets.selections", market_ids=list(selections))):
            selections[row["market_id"]].append(Selection(row["name"], shown_odds(row["odds"]), row["state"]))
    return [
        Market(
            row["name"],
            row["currency"],
            row["state"],
            _optional_moment(row, "closes_at"),
            _optional_moment(row, "settle_by"),
            row["stake_min"],
            row["stake_max"],
            row["liability_max"],
            tuple(selections[row["id"]]),
            _moment(row, "opened_at"),
            row["result_version"],
        )
        for row in rows
    ]


def _place_of(after: str | None) -> Plan[int]:
    if after is None:
        return 0
    return (yield from get_bet(after)).id


def _bets(rows: Rows) -> Plan[list[Bet]]:
    if not rows:
        return []
    legs: dict[int, list[Row]] = {row["bet_id"]: [] for row in rows}
    for leg in (yield step("betting_reading.legs", bet_ids=list(legs))):
        legs[leg["bet_id"]].append(leg)
    return [_bet(row, legs[row["bet_id"]]) for row in rows]


def _bet(row: Row, legs: Sequence[Row]) -> Bet:
    outcomes = [None] * len(legs) if row["outcomes"] is None else row["outcomes"].split(",")
    return Bet(
        key=row["key"],
        account=row["account"],
        currency=row["currency"],
        stake=row["stake"],
        potential_return=row["potential_return"],
        legs=tuple(
            BetLeg(leg["market"], leg["selection"], shown_odds(leg["odds"]), outcome)
            for leg, outcome in zip(legs, outcomes, strict=True)
        ),
        state=row["state"],
        version=row["version"],
        returned=row["returned"],
        placed_at=_moment(row, "placed_at"),
        settle_by=_moment(row, "settle_by"),
        settled_at=_optional_moment(row, "settled_at"),
        actor=row["actor"],
        metadata=read_metadata(row["metadata"]),
        id=row["bet_id"],
    )


def _moment(row: Row, column: str) -> datetime:
    moment: datetime = row[column]
    return moment.astimezone(UTC)


def _optional_moment(row: Row, column: str) -> datetime | None:
    return None if row[column] is None else _moment(row, column)


# Told the bets of each batch as soon as it is committed; False ends the round there.
AfterBatch = Callable[[int], bool]
