"""
A ledger bound to one of Django's databases: inside an atomic block it joins that, outside each call is a block of its own.
"""

from __future__ import annotations

import time
from contextlib import ExitStack, closing
from functools import lru_cache
from typing import Any, NoReturn, TypeVar

from django.db import Error, connections, transaction

from lastro.django.configuration import DEFAULT, SETTING, Configured, configured, in_test_database
from lastro.engine.django_held import HoldsDriver, autocommits
from lastro.engine.django_stores import store_of
from lastro.engine.retrying import Tries
from lastro.engine.settings import EngineSettings
from lastro.errors import ConnectionLost, Fault, InvalidInput, OutcomeUnknown
from lastro.ledger import Ledger
from lastro.ledger.asking import refuse_points
from lastro.ledger.betting_blocking import Betting, HeldBetting
from lastro.ledger.operations import Operations
from lastro.ledger.points_blocking import Points
from lastro.ledger.running import Engine
from lastro.model.bet import PlacedBet
from lastro.model.outbox import Emission
from lastro.plans.course import Course
from lastro.plans.partitioning import Partition
from lastro.plans.plan import TOGETHER, Effect, MakePlan, Plan, Step
from lastro.schema.migrations import removal

T = TypeVar("T")


class DjangoEngine:
    """
    Runs plans on Django's connection of the calling thread. There is no other connection and no pool.
    """

    def __init__(self, terms: Configured) -> None:
        self._alias = terms.database
        self._store = store_of(terms.vendor)
        # No URL: nothing here ever connects by itself.
        self._settings = EngineSettings("", terms.ledger, lock_timeout_ms=terms.lock_timeout_ms)
        self.dialect = self._store.dialect

    @property
    def in_transaction(self) -> bool:
        """Whether the thread is inside a transaction that Django or the project began and will end."""
        connection = connections[self._alias]
        return bool(connection.in_atomic_block) or not autocommits(connection)

    def run(self, make: MakePlan[T], effect: Effect) -> T:
        """
        Run a plan to its result: inside the open atomic block, or in one of its own, tried again within bounds.
        """
        if self.in_transaction:
            return self.held(connections[self._alias]).run(make, effect)
        tries = Tries(effect)
        while True:
            try:
                return self._run_once(make, effect)
            except Fault as fault:
                pause_s = tries.pause_s(fault)
                if isinstance(fault, ConnectionLost | OutcomeUnknown):
                    # Django connects again when it is next asked.
                    connections[self._alias].close()
                time.sleep(pause_s)

    def held(self, connection: object) -> HoldsDriver:
        """
        Return an engine for the transaction that the caller holds on *connection*.
        """
        return self._store.hold(connection, self._settings)

    def beside(self) -> Engine | None:
        """
        Return an engine on a connection beside Django's, to be closed, where what needs transactions of its own can't
        run on Django's: on MySQL and MariaDB.
        """
        make = self._store.engine_beside
        return None if make is None else make(connections[self._alias].settings_dict, self._settings)

    def close(self) -> None:
        """
        Close nothing: the connection is Django's, which closes it at the end of the request.
        """

    def _run_once(self, make: MakePlan[T], effect: Effect) -> T:
        connection = connections[self._alias]
        committing = False
        try:
            with ExitStack() as stack:
                with self._store.beginning(connection):
                    stack.enter_context(transaction.atomic(using=self._alias))
                result = self._store.hold_own(connection, self._settings).run(make, effect)
                committing = True
        except Error as error:
            # Django's own, from connecting, BEGIN or COMMIT, with the driver's as its cause.
            cause = error.__cause__ if isinstance(error.__cause__, Exception) else error
            raise self._store.translated(cause, ambiguous=committing) from error
        return result


class DjangoLedger(Ledger):
    """
    A ledger on Django's own connection. Made by `lastro.django.ledger()`; threads may share it.

    Inside `transaction.atomic()` each call joins that block, as Django's own queries do; a refusal leaves the block
    usable. Outside, each call is an atomic block of its own, and lost races are tried again. What needs transactions of
    its own (migrate, keep, close_account, consolidate, partitions) is refused inside a block, and so is a batcher.
    """

    def __init__(self, engine: DjangoEngine, operations: Operations, emission: Emission | None = None) -> None:
        super().__init__(engine, operations, emission)
        self._django = engine

    @property
    def points(self) -> Points:
        """What members earn, spend and give; `rebuild` and `expire` need transactions of their own."""
        refuse_points(self._emission)
        return _DjangoPoints(self)

    @property
    def betting(self) -> Betting:
        """Markets, bets and results; `settle` needs transactions of its own."""
        return _DjangoBetting(self)

    def keep_partitions(self) -> int:
        """Make partitions ahead of need, as the partition keeper does; return how many were made."""
        self._refuse_inside_a_block()
        return super().keep_partitions()

    def retire_partition(self, name: str) -> Partition:
        """Take a full partition out of the history; its table stays, detached, for an archive. No balance changes."""
        self._refuse_inside_a_block()
        return super().retire_partition(name)

    def batching(self, *, max_wait_ms: int = 2, max_batch: int = 1_000) -> NoReturn:
        """Refuse: a batcher posts from a thread of its own, whose Django connection nobody would close."""
        raise InvalidInput(
            "a batcher commits for many threads on a connection of its own, which Django hasn't; "
            "use lastro.connect(url).batching()",
            argument="using",
        )

    def _walk(self, course: Course[T], *, migrating: bool = False) -> T:
        self._refuse_inside_a_block()
        beside = self._django.beside()
        if beside is None:
            return super()._walk(course, migrating=migrating)
        with Ledger(beside, self._operations) as ledger:
            return ledger._walk(course, migrating=migrating)  # noqa: SLF001  (the same method, elsewhere)

    def _refuse_inside_a_block(self) -> None:
        if self._django.in_transaction:
            raise InvalidInput(
                "this needs transactions of its own: call it outside transaction.atomic() "
                "(in a test: TransactionTestCase, not TestCase)",
                argument="using",
            )


def drop_earlier_tests_ledger(using: str) -> None:
    """
    Drop what an earlier test run left of a ledger, where Django drops its test database and not the ledger beside it: on
    MySQL and MariaDB. Does nothing outside a test database of Django's, whose name is part of the ledger's then.
    """
    terms = configured(using)
    if not in_test_database(terms.database):
        return
    beside = DjangoEngine(terms).beside()
    if beside is not None:
        with closing(beside):
            beside.run(lambda: _removed(beside.dialect, terms.ledger), Effect.KEYED)


def _removed(dialect: str, name: str) -> Plan[None]:
    yield TOGETHER
    yield Step("script", {}, script=removal(dialect, name))


def ledger(using: str = DEFAULT) -> DjangoLedger:
    """
    Return the ledger called *using* in the setting LASTRO, on Django's own connection.

    Cheap to call again: what a process knows of the accounts is kept. Raises ImproperlyConfigured.
    """
    return _bound(configured(using))


@lru_cache
def _bound(terms: Configured) -> DjangoLedger:
    return DjangoLedger(DjangoEngine(terms), Operations(terms.ledger, lock_timeout_ms=terms.lock_timeout_ms))


def forget(*, setting: str, **_: Any) -> None:
    """
    Forget the ledgers when a test changes the settings.
    """
    if setting in {SETTING, "DATABASES"}:
        _bound.cache_clear()


class _DjangoPoints(Points):
    """The points of a ledger on Django's connection, which walk as that ledger does."""

    def __init__(self, ledger: DjangoLedger) -> None:
        super().__init__(ledger._engine, ledger._operations)  # noqa: SLF001  (a part of that ledger)
        self._ledger = ledger

    def _walk(self, course: Course[T], *, migrating: bool = False) -> T:
        return self._ledger._walk(course, migrating=migrating)  # noqa: SLF001  (the same method, elsewhere)


class _DjangoBetting(Betting):
    """The sportsbook of a ledger on Django's connection: inside a block a bet is placed in that block's transaction."""

    def __init__(self, ledger: DjangoLedger) -> None:
        super().__init__(ledger._engine, ledger._operations)  # noqa: SLF001  (a part of that ledger)
        self._ledger = ledger

    def place(self, **said: Any) -> PlacedBet:
        """Place a bet, as `Betting.place` or, inside a block, as `HeldBetting.place` does."""
        if self._ledger._django.in_transaction:  # noqa: SLF001  (as above)
            return HeldBetting.place(self, **said)
        return super().place(**said)

    def _walk(self, course: Course[T], *, migrating: bool = False) -> T:
        return self._ledger._walk(course, migrating=migrating)  # noqa: SLF001  (the same method, elsewhere)
