"""
What can be asked of a ledger's sportsbook: input checked, and the plan to run for it. Blocking and awaiting share it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from lastro.betting import intake, markets, placing, reading, results, rounds, voiding
from lastro.betting.reading import AfterBatch, Backlog
from lastro.betting.results import ResultIntent
from lastro.betting.rounds import Settlement
from lastro.errors import InvalidInput
from lastro.ledger.asking import Ask, Asks, limit_within
from lastro.model.account import account_name, currency_code
from lastro.model.bet import (
    Bet,
    BetEvent,
    BetIntent,
    DeadLetter,
    Exposure,
    Market,
    MarketState,
    PlacedBet,
    ResultTaken,
    StuckBet,
    VoidedBet,
    bet_intent,
    market_intent,
    market_name,
    market_state,
    odds_by_selection,
    selection_name,
    submission_key,
)
from lastro.model.limits import (
    ACTOR_CHARACTERS_MAX,
    BETS_LISTED_MAX,
    BETS_SETTLED_MAX,
    DELIVERY_CHARACTERS_MAX,
    MARKETS_LISTED_MAX,
    REASON_CHARACTERS_MAX,
    SOURCE_CHARACTERS_MAX,
)
from lastro.model.text import optional_text, text
from lastro.plans.course import Course
from lastro.plans.plan import Effect, Plan
from lastro.plans.transfers import Terms
from lastro.plans.waiting import patiently, undone_when_refused

T = TypeVar("T")


class BettingAsks:
    """
    The requests about bets, under the terms of one ledger.
    """

    def __init__(self, asks: Asks) -> None:
        self._asks = asks

    def open_market(self, **said: object) -> Ask[Market]:
        """Ask to open a market."""
        wanted = market_intent(**said)
        return self._changing(lambda terms: markets.open_market(wanted, terms))

    def offer(self, market: object, odds: object) -> Ask[Market]:
        """Ask to change odds, or to add selections."""
        name, checked = market_name(market), odds_by_selection(odds)
        return self._changing(lambda terms: markets.offer(name, checked, terms))

    def withdraw(self, market: object, selection: object) -> Ask[Market]:
        """Ask to take no more bets on a selection."""
        name, checked = market_name(market), selection_name(selection)
        return self._changing(lambda terms: markets.withdraw(name, checked, terms))

    def change_state(self, market: object, state: MarketState) -> Ask[Market]:
        """Ask to suspend, resume or close a market."""
        name = market_name(market)
        return self._changing(lambda terms: markets.change_state(name, state, terms))

    def market(self, name: object) -> Ask[Market]:
        """Ask for a market."""
        checked = market_name(name)
        return Ask(lambda: reading.get_market(checked), Effect.READ)

    def markets(self, *, state: object, after: object, limit: object) -> Ask[list[Market]]:
        """Ask for a page of markets."""
        checked_state = None if state is None else market_state(state)
        checked_after = None if after is None else market_name(after, argument="after")
        checked_limit = limit_within(limit, MARKETS_LISTED_MAX)
        return Ask(
            lambda: reading.list_markets(state=checked_state, after=checked_after, limit=checked_limit), Effect.READ
        )

    def exposure(self, market: object) -> Ask[list[Exposure]]:
        """Ask what the bets on a market come to."""
        name = market_name(market)
        return Ask(lambda: reading.exposure(name), Effect.READ)

    def bar(self, account: object, *, reason: object, actor: object) -> Ask[None]:
        """Ask to let an account bet no more."""
        name, now = account_name(account), self._asks.now()
        why = optional_text(reason, argument="reason", characters_max=REASON_CHARACTERS_MAX)
        who = optional_text(actor, argument="actor", characters_max=ACTOR_CHARACTERS_MAX)
        return Ask(lambda: markets.bar(name, reason=why, actor=who, now=now), Effect.KEYED)

    def let_in(self, account: object) -> Ask[bool]:
        """Ask to let an account bet again."""
        name = account_name(account)
        return Ask(lambda: markets.let_in(name), Effect.KEYED)

    def place(self, **said: object) -> Course[PlacedBet]:
        """Ask to place a bet in a transaction of its own."""
        return placing.place(_bet(**said), self._asks.terms())

    def place_within(self, **said: object) -> Ask[PlacedBet]:
        """Ask to place a bet in the caller's transaction."""
        wanted, terms = _bet(**said), self._asks.terms()
        return Ask(lambda: placing.place_within(wanted, terms), Effect.KEYED)

    def bet(self, key: object) -> Ask[Bet]:
        """Ask for a bet."""
        checked = submission_key(key)
        return Ask(lambda: reading.get_bet(checked), Effect.READ)

    def bet_events(self, key: object) -> Ask[list[BetEvent]]:
        """Ask what became of a bet."""
        checked = submission_key(key)
        return Ask(lambda: reading.bet_events(checked), Effect.READ)

    def open_bets(
        self, account: object, currency: object, *, market: object, after: object, limit: object
    ) -> Ask[list[Bet]]:
        """Ask for a page of open bets, of an account or on a market."""
        checked_after, checked_limit = _after(after), limit_within(limit, BETS_LISTED_MAX)
        if (market is None) == (account is None) or (account is None) != (currency is None):
            raise InvalidInput("give an account and its currency, or a market", argument="account")
        if market is not None:
            on = market_name(market)
            return Ask(lambda: reading.open_bets_on(on, after=checked_after, limit=checked_limit), Effect.READ)
        name, code = account_name(account), currency_code(currency)
        return Ask(lambda: reading.open_bets_of(name, code, after=checked_after, limit=checked_limit), Effect.READ)

    def overdue(self, *, limit: object) -> Ask[list[Bet]]:
        """Ask for a page of the bets past their deadline."""
        checked, now = limit_within(limit, BETS_LISTED_MAX), self._asks.now()
        return Ask(lambda: reading.overdue_bets(limit=checked, now=now), Effect.READ)

    def stuck(self, *, limit: object) -> Ask[list[StuckBet]]:
        """Ask for a page of the bets that couldn't be settled."""
        checked = limit_within(limit, BETS_LISTED_MAX)
        return Ask(lambda: reading.stuck_bets(limit=checked), Effect.READ)

    def try_again(self, key: object) -> Ask[int]:
        """Ask to give stuck bets back to the settler."""
        checked = None if key is None else submission_key(key)
        return self._changing(lambda terms: rounds.try_again(checked, terms))

    def backlog(self) -> Ask[Backlog]:
        """Ask how much is still to be settled."""
        now = self._asks.now()
        return Ask(lambda: reading.backlog(now=now), Effect.READ)

    def result(self, **said: Any) -> Ask[ResultTaken]:
        """Ask to take a result."""
        return self._result(results.result_intent(**said))

    def void(self, **said: Any) -> Ask[ResultTaken]:
        """Ask to void a market."""
        return self._result(results.void_intent(**said))

    def void_bet(self, key: object, *, reason: object, actor: object) -> Ask[VoidedBet]:
        """Ask to void a bet."""
        checked = submission_key(key)
        why = text(reason, argument="reason", characters_max=REASON_CHARACTERS_MAX)
        who = text(actor, argument="actor", characters_max=ACTOR_CHARACTERS_MAX)
        return self._changing(lambda terms: voiding.void_bet(checked, reason=why, actor=who, terms=terms))

    def take(self, message: object, *, market: object, topic: object, delivery: object) -> Ask[intake.Taken]:
        """Ask to take a message as a result."""
        named = text(topic, argument="topic", characters_max=SOURCE_CHARACTERS_MAX)
        came = optional_text(delivery, argument="delivery", characters_max=DELIVERY_CHARACTERS_MAX)
        said = intake.message_of(message, market=market, topic=named, delivery=came)
        terms = self._asks.terms()
        return Ask(lambda: intake.take(said, terms), Effect.KEYED)

    def dead_letters(self, *, limit: object) -> Ask[list[DeadLetter]]:
        """Ask for a page of the messages that were no results."""
        checked = limit_within(limit, BETS_LISTED_MAX)
        return Ask(lambda: intake.dead_letters(limit=checked), Effect.READ)

    def settle(self, *, bets_max: object, after_batch: AfterBatch | None) -> Course[Settlement]:
        """Ask to settle what is due."""
        checked = limit_within(bets_max, BETS_SETTLED_MAX)
        return rounds.settle(self._asks.terms(), bets_max=checked, after_batch=after_batch)

    def _result(self, wanted: ResultIntent) -> Ask[ResultTaken]:
        # Without a version a second run would be a correction of the first.
        effect = Effect.ONCE if wanted.version is None else Effect.KEYED
        return self._changing(lambda terms: results.take_result(wanted, terms))._replace(effect=effect)

    def _changing(self, make: Callable[[Terms], Plan[T]]) -> Ask[T]:
        terms = self._asks.terms()
        return Ask(lambda: patiently(undone_when_refused(make(terms)), terms.lock_timeout_ms), Effect.KEYED)


def _bet(*, legs: object, market: object, selection: object, odds: object, **said: object) -> BetIntent:
    """A bet on one selection is a bet of one leg."""
    if legs is None:
        legs = [(market, selection, odds)]
    elif not market is selection is odds is None:
        raise InvalidInput("give market, selection and odds, or legs of several of them", argument="legs")
    return bet_intent(legs=legs, **said)


def _after(after: object) -> str | None:
    return None if after is None else submission_key(after)
