"""
What Django hands to within(): which of its objects hold a transaction, and how an atomic block learns of a fault.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, TypeVar

from lastro.engine.sqlalchemy_handles import unknown
from lastro.errors import ConnectionLost, InvalidInput, LastroError, NotInTransaction, Refusal
from lastro.plans.plan import Effect, MakePlan

T = TypeVar("T")

DJANGOS_MODULES = ("django.db.backends.", "django.utils.connection")
EXPECTED = "a Django connection (django.db.connection, django.db.connections[alias])"


class HoldsDriver(Protocol):
    """What runs plans on a driver's connection."""

    dialect: str

    def run(self, make: MakePlan[T], effect: Effect) -> T:
        """Run a plan to its result."""
        ...


def comes_from_django(handle: object) -> bool:
    """
    Say whether *handle* is a connection of Django's, or its proxy for this thread's, without importing Django.
    """
    return any(kind.__module__.startswith(DJANGOS_MODULES) for kind in type(handle).__mro__)


class HeldDjango:
    """
    Runs plans inside the transaction that Django holds on a connection: on its driver's connection, by *hold*.

    Never commits and never rolls back; after a fault the atomic block is marked for rollback, as Django marks it after
    an error of its own statements: else its end would COMMIT a transaction that has failed, which stores nothing and
    says nothing.
    """

    def __init__(self, handle: object, dialect: str, *, vendor: str, hold: Callable[[object], HoldsDriver]) -> None:
        if not hasattr(handle, "in_atomic_block"):
            raise unknown(handle, EXPECTED)
        self.dialect = dialect
        self._handle: Any = handle
        self._vendor = vendor
        self._hold = hold

    def run(self, make: MakePlan[T], effect: Effect) -> T:
        """
        Run a plan to its result inside the atomic block. A fault leaves that block with nothing but its rollback.
        """
        # Django's own guard: its connections block, and an event loop must not.
        from django.utils.asyncio import async_unsafe

        guarded: Callable[[MakePlan[T], Effect], T] = async_unsafe(self._run)
        return guarded(make, effect)

    def _run(self, make: MakePlan[T], effect: Effect) -> T:
        wrapper = self._handle
        self._check(wrapper)
        try:
            return self._hold(wrapper.connection).run(make, effect)
        except Refusal as refusal:
            # One that the driver's error became may have failed the transaction; one of ours has written nothing.
            if _comes_from_the_driver(refusal):
                _mark_for_rollback(wrapper, refusal)
            raise
        except BaseException as error:
            _mark_for_rollback(wrapper, error)
            raise

    def _check(self, wrapper: Any) -> None:
        if wrapper.vendor != self._vendor:
            raise InvalidInput(
                f"this Django connection ({wrapper.alias!r}) speaks to {wrapper.display_name} and the ledger lives on "
                f"{self._vendor}: hand over the connection of the ledger's own database",
                argument="connection",
            )
        _check_thread(wrapper)
        check_in_transaction(wrapper)


def _check_thread(wrapper: Any) -> None:
    from django.db import DatabaseError

    try:
        wrapper.validate_thread_sharing()
    except DatabaseError as error:
        raise InvalidInput(
            f"the Django connection {wrapper.alias!r} belongs to another thread; take django.db.connections"
            f"[{wrapper.alias!r}] in the thread that posts",
            argument="connection",
        ) from error


def check_in_transaction(wrapper: Any) -> None:
    """
    Raise when what would be written on Django's connection could not be committed together with the caller's own work.
    """
    if wrapper.closed_in_transaction or (wrapper.in_atomic_block and wrapper.connection is None):
        raise ConnectionLost(f"the Django connection {wrapper.alias!r} was closed inside its atomic block")
    if wrapper.in_atomic_block and wrapper.needs_rollback:
        raise NotInTransaction(
            "this atomic block is marked for rollback after an earlier error; nothing was written: "
            "leave it, then post in a new transaction.atomic()"
        )
    if not wrapper.in_atomic_block and autocommits(wrapper):
        raise NotInTransaction(
            "Django is in autocommit mode here and no transaction is open, so each statement would stand alone; "
            f"post inside `with transaction.atomic(using={wrapper.alias!r}):`"
        )


def autocommits(wrapper: Any) -> bool:
    """
    Say whether each statement outside an atomic block is its own transaction: so it is, unless AUTOCOMMIT is off.
    """
    if wrapper.connection is None and wrapper.settings_dict["AUTOCOMMIT"]:
        return True
    # Connects where nobody has yet: with AUTOCOMMIT off a transaction begins by itself.
    found: bool = wrapper.get_autocommit()
    return found


def _comes_from_the_driver(refusal: Refusal) -> bool:
    cause: BaseException | None = refusal
    while isinstance(cause, LastroError):
        cause = cause.__cause__
    return cause is not None


def _mark_for_rollback(wrapper: Any, error: BaseException) -> None:
    # Else Django would keep a connection that broke here for the next request.
    wrapper.errors_occurred = True
    if wrapper.in_atomic_block:
        wrapper.needs_rollback = True
        # Django names it as the cause when somebody goes on in the block.
        wrapper.rollback_exc = error
