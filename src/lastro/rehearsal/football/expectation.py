"""
What the books must say when all is settled, worked out from the file's rows and the wagers without the library.

Whole numbers and dictionaries on purpose: this is the second opinion, and shares no code with what it judges.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from math import prod
from typing import NamedTuple

from lastro.rehearsal.football.match_rows import MatchRow, Season
from lastro.rehearsal.football.script import Script, Wager
from lastro.rehearsal.ledger_books import Booked

ONE = 1_000
HOUSE = "betting:house"
WORLD = "world"


class PricedLeg(NamedTuple):
    """A leg with its odds in thousandths."""

    market: str
    selection: str
    odds: int


class DueBet(NamedTuple):
    """
    A bet that must have been accepted, and how it must stand at the end: its legs' outcomes, and what came back.
    """

    account: str
    stake: int
    legs: tuple[PricedLeg, ...]
    potential_return: int
    outcomes: tuple[str, ...]
    returned: int


class Exposed(NamedTuple):
    """What the bets on one selection come to: their number, their stakes, and what they bring back if they win."""

    bets: int
    stakes: int
    returns: int


class Expectation(NamedTuple):
    """
    All that must be so, money in cents. `results`: the newest version of each market, and its winner.

    `reported`: every winner that a market's results ever named (None: void). `answers`: how many first answers of each
    kind; `house`: what the house won a season; `balances`: every account's.
    """

    odds: dict[tuple[str, str], int]
    results: dict[str, tuple[int, str]]
    reported: dict[str, set[str | None]]
    bets: dict[str, DueBet]
    answers: dict[str, int]
    exposure: dict[tuple[str, str], Exposed]
    deposits: dict[str, int]
    balances: dict[str, int]
    house: dict[str, int]


class Settled(NamedTuple):
    """One version of a bet's settlement, as it stands in the history."""

    version: int
    returned: int
    is_void: bool
    outcomes: tuple[str, ...]


def expectation_of(script: Script) -> Expectation:
    """Work out what the seasons' rows and the wagers must lead to."""
    rows = {
        match.market: row for season in script.seasons for match, row in zip(season.matches, season.rows, strict=True)
    }
    reported: dict[str, set[str | None]] = defaultdict(set)
    versions: Counter[str] = Counter()
    for report in script.reports:
        reported[report.market].add(report.winner)
        versions[report.market] = max(versions[report.market], report.version)
    results = {market: (versions[market], _winner(row)) for market, row in rows.items()}
    odds = {
        (market, selection): thousandths(text)
        for market, row in rows.items()
        for selection, text in (("home", row.home_odds), ("draw", row.draw_odds), ("away", row.away_odds))
    }
    bets = {wager.key: _due(wager, odds, results) for wager in script.wagers if wager.refusal is None}
    deposits = {account: amount for account, amount in script.deposits.items() if amount}
    return Expectation(
        odds=odds,
        results=results,
        reported=dict(reported),
        bets=bets,
        answers=dict(Counter(wager.refusal or "accepted" for wager in script.wagers)),
        exposure=_exposure(odds, bets),
        deposits=deposits,
        balances=_balances(script.deposits, bets),
        house=_house(script.seasons, bets),
    )


def settled_transfers(bet_id: int, bet: DueBet, versions: Sequence[Settled]) -> dict[str, Booked]:
    """
    Return every transfer of a bet by its key, given how it was settled: once for each kind of entry and each version.

    A version that isn't void takes the stake and gives the return; the one after it undoes both before anything else.
    """
    transfers: dict[str, Booked] = {}
    before: tuple[int, int] | None = None
    for settled in versions:
        version = settled.version
        if before is not None:
            staked, returned = before
            transfers[f"bet:{bet_id}:stake_reversed:{version}"] = Booked("reversal", HOUSE, bet.account, staked)
            if returned:
                transfers[f"bet:{bet_id}:return_reversed:{version}"] = Booked("reversal", bet.account, HOUSE, returned)
        before = None
        if any(outcome != "void" for outcome in settled.outcomes):
            before = bet.stake, returned_of(bet, settled.outcomes)
            transfers[f"bet:{bet_id}:stake:{version}"] = Booked("bet_stake", bet.account, HOUSE, bet.stake)
            if before[1]:
                transfers[f"bet:{bet_id}:return:{version}"] = Booked("bet_return", HOUSE, bet.account, before[1])
    return transfers


def returned_of(bet: DueBet, outcomes: Sequence[str]) -> int:
    """
    Return what comes back in cents: the stake times the odds of the legs that won, nothing where one lost; rounded down.
    """
    if "lost" in outcomes:
        return 0
    won = [leg.odds for leg, outcome in zip(bet.legs, outcomes, strict=True) if outcome == "won"]
    return int(bet.stake * prod(won) // ONE ** len(won))


def thousandths(odds: str) -> int:
    """
    Return decimal odds in thousandths.
    """
    whole, _, part = odds.partition(".")
    return int(whole) * ONE + int(part.ljust(3, "0"))


def _winner(row: MatchRow) -> str:
    ahead = int(row.home_goals) - int(row.away_goals)
    return "home" if ahead > 0 else "away" if ahead < 0 else "draw"


def _due(wager: Wager, odds: dict[tuple[str, str], int], results: dict[str, tuple[int, str]]) -> DueBet:
    legs = tuple(PricedLeg(market, selection, odds[market, selection]) for market, selection, _ in wager.legs)
    outcomes = tuple("won" if results[leg.market][1] == leg.selection else "lost" for leg in legs)
    bet = DueBet(wager.account, wager.stake, legs, 0, outcomes, 0)
    return bet._replace(potential_return=returned_of(bet, ["won"] * len(legs)), returned=returned_of(bet, outcomes))


def _exposure(odds: dict[tuple[str, str], int], bets: dict[str, DueBet]) -> dict[tuple[str, str], Exposed]:
    exposure = dict.fromkeys(odds, Exposed(0, 0, 0))
    for bet in bets.values():
        for leg in bet.legs:
            on = exposure[leg.market, leg.selection]
            exposure[leg.market, leg.selection] = Exposed(
                on.bets + 1, on.stakes + bet.stake, on.returns + bet.potential_return
            )
    return exposure


def _balances(deposits: dict[str, int], bets: dict[str, DueBet]) -> dict[str, int]:
    balances = {**deposits, HOUSE: 0, WORLD: -sum(deposits.values())}
    for bet in bets.values():
        balances[bet.account] += bet.returned - bet.stake
        balances[HOUSE] += bet.stake - bet.returned
    return balances


def _house(seasons: Sequence[Season], bets: dict[str, DueBet]) -> dict[str, int]:
    house = {season.name: 0 for season in seasons}
    for key, bet in bets.items():
        house[key.rpartition(":")[0]] += bet.stake - bet.returned
    return house
