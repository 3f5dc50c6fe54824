"""
The blocking ledger: one line a method, on connections of its own or inside the transaction that a caller holds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, TypeVar, overload

from lastro.errors import Refusal
from lastro.ledger.adopting_blocking import Adopting, HeldAdopting
from lastro.ledger.asking import refuse_points
from lastro.ledger.betting_blocking import Betting, HeldBetting
from lastro.ledger.closed_periods import ClosesPeriods
from lastro.ledger.closings import ReadsThePast
from lastro.ledger.holds import HeldHolds, HoldTicks
from lastro.ledger.kinds import PostsByKind, RegistersKinds
from lastro.ledger.outbox import Emits, HeldOutbox, Outbox
from lastro.ledger.points_blocking import HeldPoints, Points
from lastro.ledger.reconciliation import Reconciles
from lastro.model.account import Account, Balance, Keeping
from lastro.model.statement import By
from lastro.model.transfer import Entry, Intent, Posted, Transfer
from lastro.plans.partitioning import Partition
from lastro.plans.ticking import AfterBatch, Consolidated, consolidate
from lastro.schema.migrate import migrate

if TYPE_CHECKING:
    from lastro.batching import Batcher
    from lastro.ledger.imports_blocking import HeldImports, Imports
    from lastro.ledger.matching_blocking import Matching

T = TypeVar("T")

ENTRIES_SHOWN = 100
ACCOUNTS_SHOWN = 100


class HeldLedger(HeldHolds, PostsByKind, Emits):
    """
    The operations that work inside one transaction. `Ledger.within()` returns one for the caller's transaction.

    Nothing here commits, and nothing is rolled back but what a refused operation itself wrote.
    """

    @property
    def betting(self) -> HeldBetting:
        """Markets, bets and results in this transaction."""
        return HeldBetting(self._engine, self._operations)

    @property
    def points(self) -> HeldPoints:
        """What members earn, spend and give in this transaction."""
        refuse_points(self._emission)
        return HeldPoints(self._engine, self._operations)

    @property
    def adopting(self) -> HeldAdopting:
        """In which phase an adoption is, for this transaction."""
        return HeldAdopting(self._engine, self._operations)

    @property
    def imports(self) -> HeldImports:
        """How files that were sent to be merged stand, for this transaction."""
        from lastro.ledger.imports_blocking import HeldImports

        return HeldImports(self._engine, self._operations)

    @property
    def matching(self) -> Matching:
        """Which lines of merged sheets are which transfers."""
        from lastro.ledger.matching_blocking import Matching

        return Matching(self._engine, self._operations)

    @property
    def outbox(self) -> HeldOutbox:
        """Events to publish, written in this transaction."""
        return HeldOutbox(self._engine, self._operations)

    def open_account(
        self,
        name: str,
        currency: str,
        *,
        keeping: Keeping = "direct",
        floor: int | None = 0,
        metadata: Mapping[str, Any] | None = None,
    ) -> Account:
        """
        Open an account: 1 … 340 characters of name, 1 … 32 of currency. On equal terms it may be opened again.

        `keeping`: "direct" (each posting updates the balance row), "hot" (postings only insert, a consolidator folds
        them in), "summed" (no balance row is written; a balance is the sum of the history). `floor`: minor units that
        debits may not go below; None for no floor. Raises AccountConflict, AccountClosed, InvalidInput.
        """
        return self._run(self._operations.open_account(name, currency, keeping=keeping, floor=floor, metadata=metadata))

    def account(self, name: str, currency: str) -> Account:
        """Return one account. Raises UnknownAccount, CurrencyMismatch. Locks nothing."""
        return self._run(self._operations.account(name, currency))

    def accounts(
        self, *, after: tuple[str, str] | None = None, limit: int = ACCOUNTS_SHOWN, prefix: str | None = None
    ) -> list[Account]:
        """Return up to `limit` (1 … 1,000) accounts in the order of (name, currency), those after `after`."""
        return self._run(self._operations.accounts(after=after, limit=limit, prefix=prefix))

    def post(
        self,
        *,
        key: str,
        kind: str,
        debit: str,
        credit: str,
        amount: int,
        currency: str,
        cause: str | None = None,
        source: str | None = None,
        actor: str | None = None,
        occurred_at: datetime | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> Posted:
        """
        Post one transfer of `amount` minor units, once: `debit` goes down, `credit` goes up.

        `key` (1 … 400 characters) names the intent and is the same for every attempt: the second time the first
        transfer comes back with `replayed=True`, and other content raises TransferConflict. `actor` and `metadata` may
        differ; what was stored first stays. `occurred_at` needs a time zone and is the moment of recording if left out.

        Locks: nothing that another posting waits for where neither account is kept direct and no floor guards the
        debit; else the base rows concerned, in account order, until the end of the transaction. In a transaction of
        your own post last, and several transfers by `post_many`: it takes all locks in one order.
        Raises InsufficientFunds, UnknownAccount, AccountClosed, CurrencyMismatch, AmountOutOfRange, KindNotAllowed,
        PeriodClosed, InvalidInput; LockTimeout after 3 s of waiting, SerializationLost.
        """
        return self._run(
            self._operations.post(
                key=key,
                kind=kind,
                debit=debit,
                credit=credit,
                amount=amount,
                currency=currency,
                cause=cause,
                source=source,
                actor=actor,
                occurred_at=occurred_at,
                metadata=metadata,
            )
        )

    @overload
    def post_many(
        self, transfers: Sequence[Mapping[str, Any] | Intent], *, partial: Literal[False] = False
    ) -> list[Posted]: ...

    @overload
    def post_many(
        self, transfers: Sequence[Mapping[str, Any] | Intent], *, partial: bool
    ) -> list[Posted | Refusal]: ...

    def post_many(
        self, transfers: Sequence[Mapping[str, Any] | Intent], *, partial: bool = False
    ) -> list[Posted] | list[Posted | Refusal]:
        """
        Post up to 10,000 transfers (each a mapping with the arguments of `post`) in one transaction, in their order.

        All or nothing: the first refusal is raised, with its position as `index`. With `partial=True` a refused
        transfer is refused alone: its Refusal stands in the answer where the others have their Posted.
        Locks: every base row concerned, in account order, then the keys in theirs.
        """
        return self._run(self._operations.post_many(transfers, partial=partial))

    def reverse(
        self,
        key: str,
        new_key: str,
        *,
        amount: int | None = None,
        kind: str | None = None,
        cause: str | None = None,
        source: str | None = None,
        actor: str | None = None,
        occurred_at: datetime | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> Posted:
        """
        Undo the transfer named `key` by a new one named `new_key`: all that is left of it, or `amount` minor units.

        It is written whatever balance it leaves, below a floor as well. `cause` is the original's if left out, and
        `kind` the one that undoes the original's: "reversal", unless its kind was registered with another.
        Locks both base rows. Raises UnknownTransfer, AlreadyReversed (with what is `left`), TransferConflict,
        AccountClosed, KindNotAllowed.
        """
        return self._run(
            self._operations.reverse(
                key,
                new_key,
                amount=amount,
                kind=kind,
                cause=cause,
                source=source,
                actor=actor,
                occurred_at=occurred_at,
                metadata=metadata,
            )
        )

    def transfer(self, key: str) -> Transfer | None:
        """Return the transfer that holds `key`, or None. Locks nothing."""
        return self._run(self._operations.transfer(key))

    def balance(self, name: str, currency: str, *, at: datetime | None = None, by: By = "recorded") -> Balance:
        """
        Return posted, held and available of an account in one snapshot, in minor units. Locks nothing.

        With `at` (time zone needed) what was posted by everything recorded up to then; with `by="occurred"` by what
        occurred up to then, whenever it was recorded. Holds are not counted there.
        """
        return self._run(self._operations.balance(name, currency, at=at, by=by))

    def entries(self, name: str, currency: str, *, after: int | None = None, limit: int = ENTRIES_SHOWN) -> list[Entry]:
        """
        Return up to `limit` (1 … 1,000) entries of an account, oldest first: those after the transfer id `after`.

        For the next page pass the last entry's `transfer_id`. A transfer that commits late may get an id below it.
        """
        return self._run(self._operations.entries(name, currency, after=after, limit=limit))

    def bump(self, counter: str, change: int = 1) -> None:
        """
        Add to a counter that is spread over 16 slices. Not keyed: bump in the transaction whose work you count.

        Locks one slice until the end of the transaction; several counters of one transaction in alphabetical order.
        """
        return self._run(self._operations.bump(counter, change))

    def count(self, counter: str) -> int:
        """Return a counter's value: the sum of its slices in one snapshot; 0 where it was never bumped."""
        return self._run(self._operations.count(counter))


class Ledger(HeldLedger, HoldTicks, RegistersKinds, ClosesPeriods, ReadsThePast, Reconciles):
    """
    A ledger on connections of its own: each call is one transaction. Made by `lastro.connect()`. Threads may share it.

    Lost connections and lost races are tried again within bounds; a lost answer is found out with the same key.
    """

    @property
    def betting(self) -> Betting:
        """Markets, bets and results."""
        return Betting(self._engine, self._operations)

    @property
    def points(self) -> Points:
        """What members earn, spend and give, each call a transaction of its own."""
        refuse_points(self._emission)
        return Points(self._engine, self._operations)

    @property
    def adopting(self) -> Adopting:
        """Taking over balances from a column of the application's own, with a way back."""
        return Adopting(self._engine, self._operations)

    @property
    def imports(self) -> Imports:
        """Spreadsheets: sent, merged side by side, each file in one transaction, and how they stand."""
        from lastro.ledger.imports_blocking import Imports

        return Imports(self._engine, self._operations)

    @property
    def outbox(self) -> Outbox:
        """Events to publish, what waits, and what relays are made of; each call a transaction of its own."""
        return Outbox(self._engine, self._operations)

    def within(self, connection: object) -> HeldLedger:
        """
        Return this ledger inside the transaction that the caller holds on `connection`.

        Takes a connection of the ledger's driver (psycopg, sqlite3), or a SQLAlchemy Connection or Session over it. Never
        commits, never retries, never rolls back more than itself. Postings lock until your transaction ends: post last.
        """
        return HeldLedger(self._engine.held(connection), self._operations, self._emission)

    def migrate(self) -> list[str]:
        """
        Bring the ledger's tables up to this release and its partitions ahead of need; return what was applied.

        Safe to run from several processes at once and beside traffic: it waits 2 s for a lock, then tries again.
        """
        applied: list[str] = self._walk(migrate(self._engine.dialect, self._operations.ledger), migrating=True)
        return applied

    def keep(self, name: str, currency: str, keeping: Keeping) -> Account:
        """
        Change how an account is kept while others post to it; no posting is refused or lost meanwhile.

        Waits up to 30 s for transactions that began before and may post without a lock; LockTimeout names the oldest
        one left, and postings go on. Call it again then.
        """
        course = self._operations.keep(name, currency, keeping)
        account: Account = self._walk(course)
        return account

    def close_account(self, name: str, currency: str) -> Account:
        """
        Close an account for good. Raises AccountNotEmpty where its balance isn't zero or something is held.
        """
        account: Account = self._walk(self._operations.close_account(name, currency))
        return account

    def consolidate(self, *, after_batch: AfterBatch | None = None) -> Consolidated:
        """
        Fold what is in the tail into the base rows: one round, as the consolidator does it every 500 ms.

        Each batch of at most 5,000 rows is a transaction of its own. `after_batch` is told the rows of each one as soon
        as it is committed; when it returns False the round ends there.
        """
        consolidated: Consolidated = self._walk(consolidate(now=self._operations.now(), after_batch=after_batch))
        return consolidated

    def partitions(self) -> list[Partition]:
        """Return the partitions of the history, oldest first."""
        return self._run(self._operations.partitions())

    def keep_partitions(self) -> int:
        """Make partitions ahead of need, as the partition keeper does; return how many were made."""
        return self._run(self._operations.keep_partitions())

    def retire_partition(self, name: str) -> Partition:
        """
        Take a full partition out of the history; its table stays, detached, for an archive. No balance changes.

        Its keys stay taken, and its entries no longer show. Locks the history for a moment; LockTimeout after 2 s.
        """
        return self._run(self._operations.retire_partition(name))

    def batching(self, *, max_wait_ms: int = 2, max_batch: int = 1_000) -> Batcher:
        """
        Return a batcher: many threads post through it one by one, and one commit carries many.
        """
        from lastro.batching import Batcher

        return Batcher(self, max_wait_ms=max_wait_ms, max_batch=max_batch)

    def close(self) -> None:
        """Close the connections."""
        self._engine.close()

    def __enter__(self) -> Ledger:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()
