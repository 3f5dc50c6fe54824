"""
The sportsbook of an awaiting ledger: one line a method.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any

from lastro.betting.intake import Taken
from lastro.betting.reading import AfterBatch, Backlog
from lastro.betting.rounds import Settlement
from lastro.ledger.betting import BettingAsks
from lastro.ledger.operations import Operations
from lastro.ledger.running_async import AsyncHeldEngine, AsyncRuns, AsyncWalks
from lastro.model.bet import (
    Bet,
    BetEvent,
    DeadLetter,
    Exposure,
    Market,
    MarketState,
    PlacedBet,
    ResultTaken,
    StuckBet,
    VoidedBet,
)
from lastro.model.limits import BET_STAKE_MAX, BETS_SETTLED_MAX

SHOWN = 100


class AsyncHeldBetting(AsyncRuns):
    """
    Markets, bets and results inside one transaction: `ledger.within(connection).betting`.

    A bet is a hold of its stake on the account of whoever bets; the other side of every bet is the account
    `betting:house`. Odds are decimal text ("2.05"), stakes and returns whole minor units.
    """

    def __init__(self, engine: AsyncHeldEngine, operations: Operations) -> None:
        super().__init__(engine, operations)
        self._asks = BettingAsks(operations)

    async def open_market(
        self,
        name: str,
        currency: str,
        *,
        odds: Mapping[str, str | Decimal],
        closes_at: datetime | None = None,
        settle_by: datetime | None = None,
        stake_min: int = 1,
        stake_max: int = BET_STAKE_MAX,
        liability_max: int | None = None,
    ) -> Market:
        """
        Open a market (1 … 200 characters of name) with its selections and their odds. On equal terms it may be opened again.

        No bet is taken from `closes_at` on, by the database's clock. Past `settle_by` (a day after `closes_at` if left out)
        its bets are overdue. Stakes lie within `stake_min … stake_max` minor units. `liability_max`: what the bets on one
        selection may win in all; placements at the same moment don't see each other, so it may be passed by what they win.
        Opens the house's account of the currency. Raises MarketConflict, InvalidInput.
        """
        return await self._run(
            self._asks.open_market(
                name=name,
                currency=currency,
                odds=odds,
                closes_at=closes_at,
                settle_by=settle_by,
                stake_min=stake_min,
                stake_max=stake_max,
                liability_max=liability_max,
            )
        )

    async def offer(self, market: str, odds: Mapping[str, str | Decimal]) -> Market:
        """
        Offer new odds on selections of a market, or new selections. Bets that are placed keep theirs.

        Locks the market's row, which no placement waits for. Raises UnknownMarket, MarketClosed, InvalidInput.
        """
        return await self._run(self._asks.offer(market, odds))

    async def withdraw(self, market: str, selection: str) -> Market:
        """Take no more bets on a selection until odds are offered on it again. Raises UnknownMarket, MarketClosed."""
        return await self._run(self._asks.withdraw(market, selection))

    async def suspend(self, market: str) -> Market:
        """Take no bets on a market until it is resumed. Raises UnknownMarket, MarketClosed."""
        return await self._run(self._asks.change_state(market, "suspended"))

    async def resume(self, market: str) -> Market:
        """Take bets on a suspended market again. Raises UnknownMarket, MarketClosed."""
        return await self._run(self._asks.change_state(market, "open"))

    async def close(self, market: str) -> Market:
        """Take no more bets on a market, for good. Raises UnknownMarket, MarketClosed where it is settled."""
        return await self._run(self._asks.change_state(market, "closed"))

    async def market(self, name: str) -> Market:
        """Return a market with its selections. Raises UnknownMarket. Locks nothing."""
        return await self._run(self._asks.market(name))

    async def markets(
        self, *, state: MarketState | None = None, after: str | None = None, limit: int = SHOWN
    ) -> list[Market]:
        """Return up to `limit` (1 … 1,000) markets in the order of their names, those after `after`, in one `state`."""
        return await self._run(self._asks.markets(state=state, after=after, limit=limit))

    async def exposure(self, market: str) -> list[Exposure]:
        """Return what the bets on each selection of a market come to. Raises UnknownMarket. Locks nothing."""
        return await self._run(self._asks.exposure(market))

    async def bar(self, account: str, *, reason: str | None = None, actor: str | None = None) -> None:
        """Let an account place no more bets, in any currency; what it has placed is settled all the same."""
        return await self._run(self._asks.bar(account, reason=reason, actor=actor))

    async def let_in(self, account: str) -> bool:
        """Let a barred account bet again; False where it wasn't barred."""
        return await self._run(self._asks.let_in(account))

    async def place(
        self,
        *,
        key: str,
        account: str,
        currency: str,
        stake: int,
        market: str | None = None,
        selection: str | None = None,
        odds: str | Decimal | None = None,
        legs: Sequence[tuple[str, str, str | Decimal]] | None = None,
        tolerance: str | Decimal = "0",
        actor: str | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> PlacedBet:
        """
        Place a bet of `stake` minor units, once: on one `selection` of a `market` at `odds`, or on 2 … 20 `legs` of
        (market, selection, odds) of which all must win.

        `key` (1 … 396 characters) names the submission and is the same for every attempt: the first answer, accepted or
        refused, is stored and given again (`replayed=True`); another bet under it raises BetConflict. The bet is struck at
        the odds on offer, which may be lower than asked by the `tolerance`. What it may return is the stake times the odds,
        rounded down once.

        Checks first, without a lock; last the stake is set aside, which locks the account's base row until the end of the
        transaction: in a transaction of your own place last, and one bet. Raises MarketClosed, UnknownMarket, OddsChanged,
        StakeOutOfRange, LiabilityExceeded, AccountBarred, InsufficientFunds, UnknownAccount, AccountClosed,
        CurrencyMismatch, BetConflict, InvalidInput; LockTimeout, BetInProgress while the same key is being placed.
        """
        return await self._run(
            self._asks.place_within(
                key=key,
                account=account,
                currency=currency,
                stake=stake,
                market=market,
                selection=selection,
                odds=odds,
                legs=legs,
                tolerance=tolerance,
                actor=actor,
                metadata=metadata,
            )
        )

    async def bet(self, key: str) -> Bet:
        """Return a bet by its submission's key, as it stands. Raises UnknownBet. Locks nothing."""
        return await self._run(self._asks.bet(key))

    async def bet_events(self, key: str) -> list[BetEvent]:
        """Return what became of a bet, in its order: settled, voided, corrected, overdue, stuck. Raises UnknownBet."""
        return await self._run(self._asks.bet_events(key))

    async def open_bets(
        self,
        account: str | None = None,
        currency: str | None = None,
        *,
        market: str | None = None,
        after: str | None = None,
        limit: int = SHOWN,
    ) -> list[Bet]:
        """
        Return up to `limit` (1 … 1,000) open bets of an account, or on a `market`, in the order of placing.

        Those after the key `after`. Raises UnknownMarket, UnknownBet. Locks nothing.
        """
        return await self._run(self._asks.open_bets(account, currency, market=market, after=after, limit=limit))

    async def overdue(self, *, limit: int = SHOWN) -> list[Bet]:
        """Return up to `limit` (1 … 1,000) bets past their deadline that nobody has settled, the longest overdue first."""
        return await self._run(self._asks.overdue(limit=limit))

    async def stuck(self, *, limit: int = SHOWN) -> list[StuckBet]:
        """Return up to `limit` (1 … 1,000) bets that couldn't be settled, each with its reason, the longest stuck first."""
        return await self._run(self._asks.stuck(limit=limit))

    async def try_again(self, key: str | None = None) -> int:
        """Give a stuck bet, or up to 1,000 of all, back to the settler; return how many."""
        return await self._run(self._asks.try_again(key))

    async def backlog(self) -> Backlog:
        """Return how many results are not settled through, and for how long the oldest of them has waited."""
        return await self._run(self._asks.backlog())

    async def result(
        self,
        market: str,
        outcomes: Mapping[str, str],
        *,
        version: int | None = None,
        others: str | None = None,
        decided_at: datetime | None = None,
        source: str | None = None,
        actor: str | None = None,
    ) -> ResultTaken:
        """
        Take a market's result, once a `version`; the settler does the rest. A higher version corrects what was settled.

        `outcomes` says of each selection won, lost, void, half_won, half_lost or dead_heat:a/b, and `others` of those that it
        leaves out. Bets placed after `decided_at` (now if left out) are void. Without a `version` it is the one after the
        newest. The same again is a "duplicate", an older version "outdated", and neither changes anything. Locks the
        market's row, which no placement waits for. Raises UnknownMarket, ResultConflict, InvalidInput.
        """
        return await self._run(
            self._asks.result(
                market=market,
                version=version,
                outcomes=outcomes,
                others=others,
                decided_at=decided_at,
                source=source,
                actor=actor,
            )
        )

    async def void(
        self, market: str, *, version: int | None = None, source: str | None = None, actor: str | None = None
    ) -> ResultTaken:
        """
        Void a market: every leg on it counts as odds of 1, and a single bet gives its stake back. A result like any other.

        Raises UnknownMarket, ResultConflict.
        """
        return await self._run(self._asks.void(market=market, version=version, source=source, actor=actor))

    async def void_bet(self, key: str, *, reason: str, actor: str) -> VoidedBet:
        """
        Void one bet by hand, for good: its stake is given back, and no result of its markets changes that any more.

        A settlement like any other: its next version, with reversals where it was settled before, written whatever balance
        they leave. Once: voided again, nothing is done, and the first reason stands (`replayed`). Locks the bet's row, then
        its account's. Raises UnknownBet, InvalidInput; AccountClosed, AlreadyReversed or PeriodClosed where the money can't be moved.
        """
        return await self._run(self._asks.void_bet(key, reason=reason, actor=actor))

    async def take(
        self,
        message: bytes | str | Mapping[str, Any],
        *,
        market: bytes | str | None = None,
        topic: str = "results",
        delivery: str | None = None,
    ) -> Taken:
        """
        Take a message of a queue as a result: JSON with market, version, and outcomes (and others, decided_at) or void.

        `market` is the message's key, where it has one. Each message has one outcome: recorded, duplicate, outdated, or, kept
        as a dead letter with its reason, conflict, unknown_market, poison. `delivery` (up to 400 characters) names where it
        came from: what is delivered again is kept as a dead letter once. Only faults raise: have it delivered again.
        """
        return await self._run(self._asks.take(message, market=market, topic=topic, delivery=delivery))

    async def dead_letters(self, *, limit: int = SHOWN) -> list[DeadLetter]:
        """Return up to `limit` (1 … 1,000) messages that could not be taken as results, the newest first."""
        return await self._run(self._asks.dead_letters(limit=limit))


class AsyncBetting(AsyncHeldBetting, AsyncWalks):
    """
    Markets, bets and results, each call a transaction of its own: `ledger.betting`.
    """

    async def place(
        self,
        *,
        key: str,
        account: str,
        currency: str,
        stake: int,
        market: str | None = None,
        selection: str | None = None,
        odds: str | Decimal | None = None,
        legs: Sequence[tuple[str, str, str | Decimal]] | None = None,
        tolerance: str | Decimal = "0",
        actor: str | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> PlacedBet:
        """
        Place a bet in a transaction of its own, as `AsyncHeldBetting.place` says.

        What is refused is stored as the answer in a following transaction. A lock that isn't granted in time, and a
        submission that is being placed elsewhere, are tried again under the same key, 3 times in all.
        """
        placed: PlacedBet = await self._walk(
            self._asks.place(
                key=key,
                account=account,
                currency=currency,
                stake=stake,
                market=market,
                selection=selection,
                odds=odds,
                legs=legs,
                tolerance=tolerance,
                actor=actor,
                metadata=metadata,
            )
        )
        return placed

    async def settle(self, *, bets_max: int = BETS_SETTLED_MAX, after_batch: AfterBatch | None = None) -> Settlement:
        """
        Settle what is due: one round, as the worker `settle` does it. Several at once share the work.

        Each batch of at most `bets_max` (1 … 500) bets of one market is a transaction of its own. A bet that can't be settled
        is put aside with its reason (`stuck`), a market passed over for a fault is counted as `blocked`. `after_batch` is told
        the bets of each batch as soon as it is committed; when it returns False the round ends there.
        """
        done: Settlement = await self._walk(self._asks.settle(bets_max=bets_max, after_batch=after_batch))
        return done
