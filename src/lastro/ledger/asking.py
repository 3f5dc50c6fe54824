"""
What every request of a ledger is made of: the plan to run, the ledger's terms, and the checks of plain arguments.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Generic, NamedTuple, TypeVar

from lastro.errors import InvalidInput, KindNotAllowed, PeriodClosed
from lastro.model.directory import Directory
from lastro.model.kind import Registry
from lastro.model.limits import BALANCE_MAX, BALANCE_MIN, LOCK_TIMEOUT_MS
from lastro.model.moment import utc
from lastro.model.outbox import Emission
from lastro.plans import outbox
from lastro.plans.plan import Effect, MakePlan
from lastro.plans.transfers import Terms

T = TypeVar("T")
Clock = Callable[[], datetime]


class Ask(NamedTuple, Generic[T]):
    """
    A checked request: the plan to run, and what running it again would do.
    """

    make: MakePlan[T]
    effect: Effect


def called(make: Callable[[], object]) -> str:
    """
    Return the name under which a request's time is measured: that of the method which made it (post, place_hold, …).
    """
    name = getattr(make, "__qualname__", None) or getattr(getattr(make, "func", None), "__qualname__", "other")
    return str(name).partition(".<locals>")[0].rpartition(".")[2]


class Asks:
    """
    What one ledger works under. Holds what this process believes of its accounts and its kinds, shared by all who use it.
    """

    def __init__(
        self,
        ledger: str,
        *,
        lock_timeout_ms: int = LOCK_TIMEOUT_MS,
        clock: Clock | None = None,
    ) -> None:
        self.ledger = ledger
        self.directory = Directory()
        self.kinds_known = Registry()
        self.schema_checked = False
        self.lock_timeout_ms = positive(lock_timeout_ms, "lock_timeout_ms")
        self._clock = clock

    def now(self) -> datetime | None:
        """Return the moment of the clock that a test has set; None in production, where the database says it."""
        return None if self._clock is None else utc(self._clock(), argument="clock")

    def emitting(self, ask: Ask[T], emission: Emission | None) -> Ask[T]:
        """Return *ask* with an event for each transfer that it will make, where there are to be some."""
        if emission is None or ask.effect.reads:
            return ask
        now = self.now()
        return Ask(lambda: outbox.emitting(ask.make, emission, now=now), ask.effect)

    def terms(self) -> Terms:
        """Return the terms that the plans of this ledger work under."""
        return Terms(self.directory, self.kinds_known, self.lock_timeout_ms, self.now())


def refuse_points(emission: Emission | None) -> None:
    """
    Raise where movements of points would be expected to become events.
    """
    if emission is not None:
        raise InvalidInput(
            "points don't become events: use the points of a ledger without emitting(), and outbox.emit() beside them",
            argument="topic",
        )


def was_news(refusal: KindNotAllowed | PeriodClosed) -> bool:
    """
    Say whether the database refused what this process would have let pass: its own refusals say more.

    A batch of many callers' postings is refused as a whole then, and asked once more by what is known by now.
    """
    return refusal.details.keys().isdisjoint({"kind", "closed_until"})


def limit_within(limit: object, limit_max: int) -> int:
    """
    Return *limit* if it is a whole number of 1 … *limit_max*.
    """
    if isinstance(limit, bool) or not isinstance(limit, int) or not 1 <= limit <= limit_max:
        raise InvalidInput(f"limit must be 1 … {limit_max}; got {limit!r}", argument="limit")
    return limit


def whole_number(number: object, argument: str) -> int:
    """
    Return *number* if it is a whole number of 64 bits.
    """
    if isinstance(number, bool) or not isinstance(number, int) or not BALANCE_MIN <= number <= BALANCE_MAX:
        raise InvalidInput(f"{argument} must be a whole number of 64 bits; got {number!r}", argument=argument)
    return number


def positive(number: object, argument: str) -> int:
    """
    Return *number* if it is a positive whole number.
    """
    if isinstance(number, bool) or not isinstance(number, int) or number < 1:
        raise InvalidInput(f"{argument} must be a positive whole number; got {number!r}", argument=argument)
    return number
