"""
What members of an awaiting ledger do with their points, lot by lot: one line a method.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from lastro.ledger.lot_asks import LotAsks
from lastro.ledger.operations import Operations
from lastro.ledger.running_async import AsyncHeldEngine, AsyncRuns, AsyncWalks
from lastro.model.transfer import Posted
from lastro.points.erasing import Erased
from lastro.points.expiring import AfterBatch, Expired
from lastro.points.lots import Lot, Policy

LOTS_SHOWN = 100


class AsyncHeldLots(AsyncRuns):
    """
    Spending, giving, refunding and erasing inside one transaction; a part of `AsyncHeldPoints`.
    """

    def __init__(self, engine: AsyncHeldEngine, operations: Operations) -> None:
        super().__init__(engine, operations)
        self._lot_asks = LotAsks(operations)

    async def spend(
        self,
        *,
        key: str,
        member: str,
        amount: int,
        currency: str,
        reward: str,
        policy: Policy = "soonest",
        cause: str | None = None,
        source: str | None = None,
        actor: str | None = None,
        occurred_at: datetime | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> Posted:
        """
        Spend `amount` points of a member on a `reward`, which is an account like any other; once a `key`, as in `post`.

        `policy` says which lots go first: "soonest" to expire (what never expires last, of equals the oldest), "oldest"
        or "newest" by when they were earned. Points past their expiry can't be spent, whether the expirer came by or not.
        Never below zero. Costs as many rows as the account has lots open. Locks the member's base row, and the reward's
        where it is kept direct. Raises InsufficientFunds (with what is `due`), KindNotAllowed where the reward is a
        member, and what `post` raises.
        """
        return await self._run(
            self._lot_asks.spend(
                key=key,
                member=member,
                amount=amount,
                currency=currency,
                reward=reward,
                policy=policy,
                cause=cause,
                source=source,
                actor=actor,
                occurred_at=occurred_at,
                metadata=metadata,
            )
        )

    async def give(
        self,
        *,
        key: str,
        giver: str,
        receiver: str,
        amount: int,
        currency: str,
        policy: Policy = "soonest",
        cause: str | None = None,
        source: str | None = None,
        actor: str | None = None,
        occurred_at: datetime | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> Posted:
        """
        Give `amount` points of one member to another, once a `key`. They keep their age and expiry, lot by lot.

        `policy` as in `spend`; never below zero. What the receiver owes is paid out of the gift first. Locks both base
        rows, in account order. Raises InsufficientFunds (with what is `due`), AccountConflict where the receiver's name
        is that of an account with a balance which is no member's, and what `post` raises.
        """
        return await self._run(
            self._lot_asks.give(
                key=key,
                giver=giver,
                receiver=receiver,
                amount=amount,
                currency=currency,
                policy=policy,
                cause=cause,
                source=source,
                actor=actor,
                occurred_at=occurred_at,
                metadata=metadata,
            )
        )

    async def refund(
        self,
        *,
        key: str,
        spend: str,
        amount: int | None = None,
        cause: str | None = None,
        source: str | None = None,
        actor: str | None = None,
        occurred_at: datetime | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> Posted:
        """
        Undo the spend named `spend`: all that is left of it, or `amount` points; once a `key`.

        The points go back into the lots they came from, last taken first, with the expiry those always had: what has
        expired by now goes with the expirer's next tick. What the member owes is paid out of them first. Locks both base
        rows. Raises UnknownTransfer (also for a key that is no spend's), AlreadyReversed (with what is `left`).
        """
        return await self._run(
            self._lot_asks.refund(
                key=key,
                spend=spend,
                amount=amount,
                cause=cause,
                source=source,
                actor=actor,
                occurred_at=occurred_at,
                metadata=metadata,
            )
        )

    async def erase(self, member: str) -> Erased:
        """
        Erase a member, once and for good: a random pseudonym stands for the name on all accounts of that name.

        Their metadata and open lots go, and nothing is posted to them any more; balances and sums stay. A later member
        of the same name is another. What was written into keys, causes, actors and metadata of transfers is history and
        stays: put no names there. Locks the member's row and the accounts' base rows. Raises UnknownMember; and
        OutcomeUnknown where the answer was lost, for a second call finds nobody.
        """
        return await self._run(self._lot_asks.erase(member))

    async def lots(self, member: str, currency: str, *, after: Lot | None = None, limit: int = LOTS_SHOWN) -> list[Lot]:
        """
        Return up to `limit` (1 … 1,000) of a member's open lots as they expire, soonest first: those after `after`.
        """
        return await self._run(self._lot_asks.lots(member, currency, after=after, limit=limit))


class AsyncLots(AsyncHeldLots, AsyncWalks):
    """
    The same on connections of its own, and expiry; a part of `AsyncPoints`.
    """

    async def expire(self, *, after_batch: AfterBatch | None = None) -> Expired:
        """
        Expire what is left of lots past their expiry: one round, as the expirer does it every minute.

        Each batch of at most 500 lots is a transaction of its own, with one movement an account to `points:expired`; it
        waits for nobody, and whoever spends waits for one batch at most. `after_batch` is told the lots of each one as
        soon as it is committed; when it returns False the round ends there.
        """
        expired: Expired = await self._walk(self._lot_asks.expire(after_batch=after_batch))
        return expired
