"""
What the database says about the bets after a rehearsal, read by plain SQL from the ledger's own tables.
"""

from __future__ import annotations

import json
from typing import Any, Final, NamedTuple

import psycopg

from lastro.rehearsal.football.expectation import Exposed, PricedLeg, Settled
from lastro.rehearsal.ledger_books import LedgerBooks, Reader, read_ledger
from lastro.rehearsal.stage import Stage

CURRENCY: Final = "GBP"

_ODDS = """
SELECT market.name, selection.name, selection.odds
FROM {ledger}.selection AS selection
INNER JOIN {ledger}.market AS market ON selection.market_id = market.id
WHERE market.currency = %(currency)s
"""

_STATES = "SELECT name, state FROM {ledger}.market WHERE currency = %(currency)s"

# Every version of every result, selections by their names.
_RESULTS = """
SELECT market.name, result.version, jsonb_object_agg(selection.name, result.outcomes ->> selection.id::text)::text
FROM {ledger}.market_result AS result
INNER JOIN {ledger}.market AS market ON result.market_id = market.id
INNER JOIN {ledger}.selection AS selection ON market.id = selection.market_id
GROUP BY market.name, result.version
ORDER BY market.name, result.version
"""

_BETS = """
SELECT bet.key, bet.id, account.name, bet.stake, bet.potential_return
FROM {ledger}.bet AS bet
INNER JOIN {ledger}.account AS account ON bet.account_id = account.id
"""

_LEGS = """
SELECT bet.key, market.name, selection.name, leg.odds
FROM {ledger}.bet_leg AS leg
INNER JOIN {ledger}.bet AS bet ON leg.bet_id = bet.id
INNER JOIN {ledger}.market AS market ON leg.market_id = market.id
INNER JOIN {ledger}.selection AS selection ON leg.selection_id = selection.id
ORDER BY leg.bet_id, leg.number
"""

_SETTLEMENTS = """
SELECT bet.key, settlement.version, settlement.returned, settlement.is_void, settlement.outcomes
FROM {ledger}.bet_settlement AS settlement
INNER JOIN {ledger}.bet AS bet ON settlement.bet_id = bet.id
ORDER BY settlement.bet_id, settlement.version
"""

_ANSWERS = """
SELECT coalesce(refused, 'accepted'), count(*)
FROM {ledger}.submission
GROUP BY refused
"""

_EXPOSURE = """
SELECT market.name, selection.name, sum(exposure.bets)::bigint, sum(exposure.stakes)::bigint, sum(exposure.returns)::bigint
FROM {ledger}.exposure AS exposure
INNER JOIN {ledger}.market AS market ON exposure.market_id = market.id
INNER JOIN {ledger}.selection AS selection ON exposure.selection_id = selection.id
GROUP BY market.name, selection.name
"""

_HOLDS = "SELECT key, account, amount, captured::bigint, released::bigint FROM {ledger}.hold_standing"

# What is still held, by the accounts and by the holds: both, so that neither hides the other.
_HELD = """
SELECT
    (SELECT coalesce(sum(held), 0)::bigint FROM {ledger}.balance),
    (SELECT coalesce(sum(left_over), 0)::bigint FROM {ledger}.open_hold)
"""

_LEFT = """
SELECT
    (SELECT count(*) FROM {ledger}.open_result),
    (SELECT count(*) FROM {ledger}.open_bet),
    (SELECT count(*) FROM {ledger}.stuck_bet),
    (SELECT count(*) FROM {ledger}.dead_letter)
"""


class BookedBet(NamedTuple):
    """A bet as it was recorded."""

    id: int
    account: str
    stake: int
    potential_return: int
    legs: tuple[PricedLeg, ...]


class Hold(NamedTuple):
    """The hold of a stake: whose, how much, and what became of it."""

    account: str
    amount: int
    captured: int
    released: int


class Held(NamedTuple):
    """What is still set aside: by the accounts, and by the holds."""

    on_accounts: int
    by_holds: int


class Left(NamedTuple):
    """What is left to do: results not settled through, legs not reached, bets put aside, messages that were none."""

    results: int
    legs: int
    stuck: int
    dead_letters: int


class Books(NamedTuple):
    """
    Everything the proofs judge, money in cents. `versions` of a market's results: selections to outcomes.
    """

    ledger: LedgerBooks
    odds: dict[tuple[str, str], int]
    states: dict[str, str]
    versions: dict[str, dict[int, dict[str, str]]]
    bets: dict[str, BookedBet]
    settlements: dict[str, list[Settled]]
    answers: dict[str, int]
    exposure: dict[tuple[str, str], Exposed]
    holds: dict[str, Hold]
    held: Held
    left: Left


def read_books(connection: psycopg.Connection[Any], stage: Stage) -> Books:
    """
    Read the stage's ledger; in one snapshot where the caller's transaction is one.
    """
    reader = Reader(connection, stage, CURRENCY)
    versions: dict[str, dict[int, dict[str, str]]] = {}
    for market, version, outcomes in reader.rows(_RESULTS):
        versions.setdefault(market, {})[version] = json.loads(outcomes)
    settlements: dict[str, list[Settled]] = {}
    for key, version, returned, is_void, outcomes in reader.rows(_SETTLEMENTS):
        settlements.setdefault(key, []).append(Settled(version, returned, is_void, tuple(outcomes.split(","))))
    return Books(
        ledger=read_ledger(reader),
        odds={(market, selection): odds for market, selection, odds in reader.rows(_ODDS)},
        states=dict(reader.rows(_STATES)),
        versions=versions,
        bets=_bets(reader),
        settlements=settlements,
        answers=dict(reader.rows(_ANSWERS)),
        exposure={(market, selection): Exposed(*sums) for market, selection, *sums in reader.rows(_EXPOSURE)},
        holds={key: Hold(*hold) for key, *hold in reader.rows(_HOLDS)},
        held=Held(*reader.row(_HELD)),
        left=Left(*reader.row(_LEFT)),
    )


def _bets(reader: Reader) -> dict[str, BookedBet]:
    legs: dict[str, list[PricedLeg]] = {}
    for key, market, selection, odds in reader.rows(_LEGS):
        legs.setdefault(key, []).append(PricedLeg(market, selection, odds))
    return {
        key: BookedBet(bet_id, account, stake, potential_return, tuple(legs.get(key, ())))
        for key, bet_id, account, stake, potential_return in reader.rows(_BETS)
    }
