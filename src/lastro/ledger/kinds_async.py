"""
Kinds and single-entry postings, awaiting: one line a method.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from lastro.ledger.running_async import AsyncRuns, AsyncWalks
from lastro.model.kind import Kind
from lastro.model.transfer import Posted


class AsyncPostsByKind(AsyncRuns):
    """
    Postings of one side against the world, and the kinds that rule them, in one transaction.
    """

    async def kinds(self) -> list[Kind]:
        """Return the registered kinds by name. Locks nothing."""
        return await self._run(self._operations.kinds())

    async def credit(
        self,
        account: str,
        currency: str,
        *,
        amount: int,
        key: str,
        kind: str = "credit",
        cause: str | None = None,
        source: str | None = None,
        actor: str | None = None,
        occurred_at: datetime | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> Posted:
        """
        Raise an account's balance by `amount` minor units, once, with the world on the other side.

        As `post` with debit="world": the same arguments, locks and errors.
        """
        return await self._run(
            self._operations.credit(
                account,
                currency,
                amount=amount,
                key=key,
                kind=kind,
                cause=cause,
                source=source,
                actor=actor,
                occurred_at=occurred_at,
                metadata=metadata,
            )
        )

    async def debit(
        self,
        account: str,
        currency: str,
        *,
        amount: int,
        key: str,
        kind: str = "debit",
        cause: str | None = None,
        source: str | None = None,
        actor: str | None = None,
        occurred_at: datetime | None = None,
        metadata: Mapping[str, Any] | None = None,
        overdraw: bool = False,
    ) -> Posted:
        """
        Lower an account's balance by `amount` minor units, once, with the world on the other side.

        As `post` with credit="world": the same arguments, locks and errors. With `overdraw=True` it is written whatever
        balance it leaves, below the floor as well.
        """
        return await self._run(
            self._operations.debit(
                account,
                currency,
                amount=amount,
                key=key,
                kind=kind,
                cause=cause,
                source=source,
                actor=actor,
                occurred_at=occurred_at,
                metadata=metadata,
                overdraw=overdraw,
            )
        )


class AsyncRegistersKinds(AsyncWalks):
    """
    Registering kinds, which takes transactions of the ledger's own.
    """

    async def register_kinds(self, kinds: Iterable[Kind]) -> list[str]:
        """
        Register kinds, `lastro.PREPAID` or your own, and return the names of those that are new or have new terms.

        From then on the database refuses a transfer of such a kind between accounts that it doesn't allow, whoever
        writes it; what was posted before stays. On equal terms a kind may be registered again; other terms raise
        KindConflict, with nothing registered, as soon as a transfer stands under it. Waits 2 s for the postings under
        way, then lets others go first and tries again; LockTimeout after 30 tries.
        """
        registered: list[str] = await self._walk(self._operations.register_kinds(kinds))
        return registered
