"""
Holds, as users of an awaiting ledger reach them: placing, capturing, releasing, listing, guarding, expiring.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from lastro.ledger.running_async import AsyncRuns, AsyncWalks
from lastro.model.hold import Captured, Hold, HoldEvent, Overdue, Placed, Released
from lastro.plans.expiring import AfterBatch, HoldsExpired

HOLDS_SHOWN = 100


class AsyncHeldHolds(AsyncRuns):
    """
    What can be done with holds inside one transaction.
    """

    async def place_hold(
        self,
        *,
        key: str,
        account: str,
        currency: str,
        amount: int,
        owner: str,
        expires_at: datetime,
        group: str | None = None,
        capture_max: int | None = None,
        overdue: Overdue = "expire",
        cause: str | None = None,
        source: str | None = None,
        actor: str | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> Placed:
        """
        Set `amount` minor units of an account aside, once, if so much is available above its floor.

        `key` (1 … 400 characters) names the hold; keys of holds and keys of transfers are two namespaces. The second
        time the hold comes back as it stands by then, with `replayed=True`; other content (the deadline is content: work
        it out once) raises HoldConflict. `owner` (255) answers for the hold. Past `expires_at`, which needs a time zone
        and must lie ahead, the expirer gives back what is left; with `overdue="list"` it stands in `overdue_holds`
        instead. `group` (400) names holds that end as one. `capture_max` lets captures take more than `amount`, up to
        so much in all, where the funds cover it.

        Locks the account's base row until the end of the transaction: one statement on PostgreSQL for an account kept
        direct. Raises HoldConflict, InsufficientFunds, UnknownAccount, AccountClosed, CurrencyMismatch,
        AmountOutOfRange, InvalidInput; LockTimeout, SerializationLost.
        """
        return await self._run(
            self._operations.place_hold(
                key=key,
                account=account,
                currency=currency,
                amount=amount,
                owner=owner,
                expires_at=expires_at,
                group=group,
                capture_max=capture_max,
                overdue=overdue,
                cause=cause,
                source=source,
                actor=actor,
                metadata=metadata,
            )
        )

    async def capture(
        self,
        *,
        key: str,
        hold: str,
        credit: str,
        kind: str,
        amount: int | None = None,
        final: bool = True,
        cause: str | None = None,
        source: str | None = None,
        actor: str | None = None,
        occurred_at: datetime | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> Captured:
        """
        Transfer money of a hold to `credit`, once: `amount` minor units, or all that is left.

        `key` is the key of the transfer. What remains of the hold is given back at once; `final=False` keeps it, with
        the deadline it has, for further captures. More than is left is taken only within the hold's `capture_max`, and
        where the funds cover it. What was held is captured whatever the balance has become. `cause` is the hold's if
        left out. A hold past its deadline can be captured until the expirer has ended it.

        Locks the hold's account, and `credit` as a posting does. Raises UnknownHold, HoldClosed (how and when it ended,
        `expired_at`, `captured_by`), HoldExceeded, TransferConflict, InsufficientFunds, and what a posting raises.
        """
        return await self._run(
            self._operations.capture(
                key=key,
                hold=hold,
                credit=credit,
                kind=kind,
                amount=amount,
                final=final,
                cause=cause,
                source=source,
                actor=actor,
                occurred_at=occurred_at,
                metadata=metadata,
            )
        )

    async def release(
        self,
        *,
        key: str,
        hold: str,
        amount: int | None = None,
        cause: str | None = None,
        source: str | None = None,
        actor: str | None = None,
    ) -> Released:
        """
        Give back what is left of a hold, or `amount` minor units of it, once. `key` names the release.

        Of a hold that was released or has expired nothing is left, and `amount` is 0 in the answer. Locks the hold's
        account. Raises UnknownHold, HoldClosed where it was captured (or a part was named of one that has ended),
        HoldExceeded, HoldConflict.
        """
        return await self._run(
            self._operations.release(key=key, hold=hold, amount=amount, cause=cause, source=source, actor=actor)
        )

    async def capture_group(
        self,
        *,
        key: str,
        group: str,
        credit: str,
        kind: str,
        cause: str | None = None,
        source: str | None = None,
        actor: str | None = None,
        occurred_at: datetime | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> list[Captured]:
        """
        Capture all that is left of every open hold of a group (100 at most) as one: all of them or none.

        The first transfer has the key, the others have `<key>:2`, `<key>:3` … in the order of placing. Locks every
        account concerned, in account order. Raises UnknownHold, HoldClosed where none is open, and what a capture raises.
        """
        return await self._run(
            self._operations.capture_group(
                key=key,
                group=group,
                credit=credit,
                kind=kind,
                cause=cause,
                source=source,
                actor=actor,
                occurred_at=occurred_at,
                metadata=metadata,
            )
        )

    async def release_group(
        self,
        *,
        key: str,
        group: str,
        cause: str | None = None,
        source: str | None = None,
        actor: str | None = None,
    ) -> list[Released]:
        """
        Release all that is left of every open hold of a group (100 at most) as one; an empty list where none was open.

        Locks every account concerned, in account order. Raises UnknownHold, HoldConflict.
        """
        return await self._run(
            self._operations.release_group(key=key, group=group, cause=cause, source=source, actor=actor)
        )

    async def hold(self, key: str) -> Hold:
        """Return a hold as it stands, in one snapshot. Raises UnknownHold. Locks nothing."""
        return await self._run(self._operations.hold(key))

    async def hold_events(self, key: str) -> list[HoldEvent]:
        """Return what became of a hold, in its order: captures, releases, its expiry. Raises UnknownHold."""
        return await self._run(self._operations.hold_events(key))

    async def holds(
        self, name: str, currency: str, *, after: str | None = None, limit: int = HOLDS_SHOWN
    ) -> list[Hold]:
        """
        Return up to `limit` (1 … 1,000) open holds of an account, in the order of placing: those after the key `after`.
        """
        return await self._run(self._operations.holds(name, currency, after=after, limit=limit))

    async def overdue_holds(
        self, *, owner: str | None = None, after: str | None = None, limit: int = HOLDS_SHOWN
    ) -> list[Hold]:
        """
        Return up to `limit` (1 … 1,000) open holds past their deadline that were placed with `overdue="list"`.

        The longest overdue first, of one owner or of all, without those that are guarded: what nobody has settled.
        """
        return await self._run(self._operations.overdue_holds(owner=owner, after=after, limit=limit))

    async def guard_hold(self, key: str, until: datetime | None) -> Hold:
        """
        Keep an open hold from expiring before the moment `until`, while work that will end it is still queued.

        None takes the guard away: the deadline counts again. Guard it in the transaction that queues the work; the
        capture or release ends the guard with the hold. Locks the hold's account. Raises UnknownHold, HoldClosed.
        """
        return await self._run(self._operations.guard_hold(key, until=until))


class AsyncHoldTicks(AsyncWalks):
    """
    What is done about holds in transactions of its own.
    """

    async def expire_holds(self, *, after_batch: AfterBatch | None = None) -> HoldsExpired:
        """
        Expire the open holds past their deadline: one round, as the worker `expire` does it every second.

        Each batch of at most 500 is a transaction of its own, the longest due first; guarded holds aren't due, and listed
        ones never expire. Accounts that somebody works on are passed over and counted as `blocked`. `after_batch` is
        told the holds of each batch as soon as it is committed; when it returns False the round ends there.
        """
        expired: HoldsExpired = await self._walk(self._operations.expire_holds(after_batch=after_batch))
        return expired
