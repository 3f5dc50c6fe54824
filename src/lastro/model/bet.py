"""
Markets, bets and results as values: what is asked for, and how it stands.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

from lastro.errors import InvalidInput
from lastro.model.account import account_name, currency_code
from lastro.model.limits import (
    ACTOR_CHARACTERS_MAX,
    BET_STAKE_MAX,
    LEGS_MAX,
    MARKET_CHARACTERS_MAX,
    RESULT_VERSION_MAX,
    SELECTION_CHARACTERS_MAX,
    SELECTIONS_MAX,
    SUBMISSION_CHARACTERS_MAX,
)
from lastro.model.moment import optional_utc
from lastro.model.odds import odds_thousandths, shown_odds, tolerance_thousandths
from lastro.model.text import metadata_json, optional_text, shown, text
from lastro.model.transfer import transfer_amount

MarketState: TypeAlias = Literal["open", "suspended", "closed", "settled", "void"]
BetState: TypeAlias = Literal["open", "settled", "void", "stuck"]
MARKET_STATES: tuple[MarketState, ...] = get_args(MarketState)
BET_STATES: tuple[BetState, ...] = get_args(BetState)


class Selection(NamedTuple):
    """
    What can be bet on in a market, at which odds; no bet is taken on it while it is suspended.
    """

    name: str
    odds: str
    state: Literal["open", "suspended"]


class Market(NamedTuple):
    """
    A market and its terms. Limits in minor units of its currency; moments in UTC.

    No bet is taken from `closes_at` on, by the database's clock. `liability_max` bounds what the bets on one selection
    may win. `result_version` is that of its newest result, or None.
    """

    name: str
    currency: str
    state: MarketState
    closes_at: datetime | None
    settle_by: datetime | None
    stake_min: int
    stake_max: int
    liability_max: int | None
    selections: tuple[Selection, ...]
    opened_at: datetime
    result_version: int | None


class BetLeg(NamedTuple):
    """
    One leg of a bet, at the odds it was struck at. `outcome` is by what the bet was settled last, or None.
    """

    market: str
    selection: str
    odds: str
    outcome: str | None


class Bet(NamedTuple):
    """
    A bet and how it stands. Amounts in minor units; moments in UTC.

    `state`: "open" until it is settled or "void", "stuck" where that couldn't be done. `version` counts its settlements:
    0 before the first, more than 1 after a correction. `returned` is what the newest one gave back, the stake included.
    """

    key: str
    account: str
    currency: str
    stake: int
    potential_return: int
    legs: tuple[BetLeg, ...]
    state: BetState
    version: int
    returned: int | None
    placed_at: datetime
    settle_by: datetime
    settled_at: datetime | None
    actor: str | None
    metadata: dict[str, Any] | None
    id: int


class PlacedBet(NamedTuple):
    """
    The outcome of a placement: the bet as it stands now, and whether it was there already (`replayed`).
    """

    bet: Bet
    replayed: bool


class VoidedBet(NamedTuple):
    """
    The outcome of voiding a bet by hand: the bet as it stands now, and whether it was voided so before (`replayed`).
    """

    bet: Bet
    replayed: bool


class BetEvent(NamedTuple):
    """
    What became of a bet, one step: settled, voided, corrected, overdue or stuck.

    `shortfall` is how far the account was below its floor after a correction, `reason` why it is stuck or was voided by
    hand.
    """

    number: int
    kind: str
    version: int | None
    shortfall: int | None
    reason: str | None
    recorded_at: datetime


class StuckBet(NamedTuple):
    """
    A bet that couldn't be settled: the code and message of what refused it, and since when.
    """

    key: str
    market: str
    code: str
    message: str
    since: datetime


class Exposure(NamedTuple):
    """
    What the bets on one selection come to: their number, their stakes, and what they bring back if it wins.

    `liability` is what the house loses on these bets then, whatever it keeps of others. A multiple counts whole on each
    of its legs. Bets stay counted when they are settled.
    """

    selection: str
    odds: str
    bets: int
    stakes: int
    returns: int

    @property
    def liability(self) -> int:
        """What these bets win: their returns without the stakes."""
        return self.returns - self.stakes


class ResultTaken(NamedTuple):
    """
    What became of a result: "recorded" (its settlement is due), "duplicate" (it was there), "outdated" (a newer version
    was there, and nothing was done).
    """

    outcome: Literal["recorded", "duplicate", "outdated"]
    market: str
    version: int
    newest: int


class DeadLetter(NamedTuple):
    """
    A message that could not be taken as a result, with the reason.
    """

    id: int
    topic: str
    code: str
    reason: str
    message: bytes
    received_at: datetime


class AskedLeg(NamedTuple):
    """A leg that somebody wants; odds in thousandths."""

    market: str
    selection: str
    odds: int


class BetIntent(NamedTuple):
    """
    A bet that somebody wants placed, checked. Build it with `bet_intent`. `metadata` is JSON text.
    """

    key: str
    account: str
    currency: str
    stake: int
    legs: tuple[AskedLeg, ...]
    tolerance: int
    actor: str | None
    metadata: str | None

    def asked(self) -> dict[str, Any]:
        """Return what makes it this bet and no other, as it is stored with the answer."""
        return {
            "account": self.account,
            "currency": self.currency,
            "stake": self.stake,
            "legs": [[leg.market, leg.selection, shown_odds(leg.odds)] for leg in self.legs],
            "tolerance": shown_odds(self.tolerance),
        }


class MarketIntent(NamedTuple):
    """
    A market that somebody wants opened, checked. Odds in thousandths by selection.
    """

    name: str
    currency: str
    odds: dict[str, int]
    closes_at: datetime | None
    settle_by: datetime | None
    stake_min: int
    stake_max: int
    liability_max: int | None


def bet_intent(
    *,
    key: object,
    account: object,
    currency: object,
    stake: object,
    legs: object,
    tolerance: object,
    actor: object,
    metadata: object,
) -> BetIntent:
    """
    Check a bet that a caller wants placed; InvalidInput or AmountOutOfRange say what is wrong.
    """
    amount = transfer_amount(stake, argument="stake")
    if amount > BET_STAKE_MAX:
        raise InvalidInput(f"stake may be {BET_STAKE_MAX} minor units; got {amount}", argument="stake")
    return BetIntent(
        submission_key(key),
        account_name(account),
        currency_code(currency),
        amount,
        _legs(legs),
        tolerance_thousandths(tolerance),
        optional_text(actor, argument="actor", characters_max=ACTOR_CHARACTERS_MAX),
        metadata_json(metadata),
    )


def market_intent(
    *,
    name: object,
    currency: object,
    odds: object,
    closes_at: object,
    settle_by: object,
    stake_min: object,
    stake_max: object,
    liability_max: object,
) -> MarketIntent:
    """
    Check a market that a caller wants opened.
    """
    least, most = transfer_amount(stake_min, argument="stake_min"), transfer_amount(stake_max, argument="stake_max")
    if not least <= most <= BET_STAKE_MAX:
        raise InvalidInput(
            f"stake_min … stake_max must lie within 1 … {BET_STAKE_MAX}, in that order; got {least} … {most}",
            argument="stake_max",
        )
    return MarketIntent(
        market_name(name),
        currency_code(currency),
        odds_by_selection(odds),
        optional_utc(closes_at, argument="closes_at"),
        optional_utc(settle_by, argument="settle_by"),
        least,
        most,
        None if liability_max is None else transfer_amount(liability_max, argument="liability_max"),
    )


def submission_key(key: object) -> str:
    """
    Return *key* if it can name a submission: 1 … 396 characters, the same for every attempt.
    """
    return text(key, argument="key", characters_max=SUBMISSION_CHARACTERS_MAX)


def market_name(name: object, *, argument: str = "market") -> str:
    """
    Return *name* if a market may be called so.
    """
    return text(name, argument=argument, characters_max=MARKET_CHARACTERS_MAX)


def selection_name(name: object, *, argument: str = "selection") -> str:
    """
    Return *name* if a selection may be called so.
    """
    return text(name, argument=argument, characters_max=SELECTION_CHARACTERS_MAX)


def market_state(state: object) -> MarketState:
    """
    Return *state* if it is one that a market can be in.
    """
    for known in MARKET_STATES:
        if state == known:
            return known
    raise InvalidInput(f"a market's state is one of {', '.join(MARKET_STATES)}; got {shown(state)}", argument="state")


def odds_by_selection(odds: object) -> dict[str, int]:
    """
    Return odds in thousandths by selection, from a mapping of odds as people write them.
    """
    if not isinstance(odds, Mapping) or not 1 <= len(odds) <= SELECTIONS_MAX:
        raise InvalidInput(
            f"odds is a mapping of 1 … {SELECTIONS_MAX} selections to their odds, as in {{'home': '2.05'}}; "
            f"got {shown(odds)}",
            argument="odds",
        )
    return {selection_name(name): odds_thousandths(value) for name, value in odds.items()}


def result_version(version: object) -> int:
    """
    Return *version* if a result may have it: 1, 2, 3 …
    """
    if isinstance(version, bool) or not isinstance(version, int) or not 1 <= version <= RESULT_VERSION_MAX:
        raise InvalidInput(
            f"version must be a whole number from 1 to {RESULT_VERSION_MAX}; got {shown(version)}", argument="version"
        )
    return version


def _legs(legs: object) -> tuple[AskedLeg, ...]:
    if not isinstance(legs, Sequence) or isinstance(legs, str | bytes) or not 1 <= len(legs) <= LEGS_MAX:
        raise InvalidInput(f"legs are 1 … {LEGS_MAX} of (market, selection, odds); got {shown(legs)}", argument="legs")
    checked = []
    for leg in legs:
        if not isinstance(leg, Sequence) or isinstance(leg, str | bytes) or len(leg) != 3:
            raise InvalidInput(f"a leg is (market, selection, odds); got {shown(leg)}", argument="legs")
        market, selection, odds = leg
        checked.append(AskedLeg(market_name(market), selection_name(selection), odds_thousandths(odds)))
    if len({leg.market for leg in checked}) < len(checked):
        raise InvalidInput("the legs of a bet are on different markets; two of these are on one", argument="legs")
    return tuple(checked)
