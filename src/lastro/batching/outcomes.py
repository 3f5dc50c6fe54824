"""
What each caller of a batch hears: its own outcome, and never the trouble that a neighbour's transfer made.
"""

from __future__ import annotations

import copy
from collections.abc import Generator, Sequence
from typing import TypeAlias

from lastro.errors import Fault, LastroError, NotInTransaction, OutcomeUnknown, Refusal, SchemaOutdated
from lastro.model.transfer import Intent, Posted

Outcome: TypeAlias = Posted | BaseException
# Yields transfers to post together, receives their outcomes, or the error that struck them all.
Settling: TypeAlias = Generator[Sequence[Intent], Sequence[Posted | Refusal], list[Outcome]]


def settle(wanted: Sequence[Intent]) -> Settling:
    """
    Post *wanted* together and return one outcome each, in their order.

    A fault (lost connection, lock timeout, outcome unknown) is everybody's. An error that nobody foresaw is some one
    transfer's: nothing of the batch was stored then, so its halves are posted apart until that transfer stands alone.
    """
    try:
        return [_own(outcome) for outcome in (yield wanted)]
    except Exception as error:  # noqa: BLE001 - whatever it is, each caller must hear of it
        trouble = error
    if len(wanted) == 1 or _concerns_all(trouble):
        return [_own(trouble) for _ in wanted]
    middle = len(wanted) // 2
    first = yield from settle(wanted[:middle])
    second = yield from settle(wanted[middle:])
    return first + second


def unknown(error: BaseException) -> OutcomeUnknown:
    """
    Return the fault of a caller whose batch was broken off from outside (its task cancelled, its thread ended).
    """
    fault = OutcomeUnknown(
        f"the batch was broken off ({type(error).__name__}); the same call with the same key finds out"
    )
    fault.__cause__ = error
    return fault


def _concerns_all(error: Exception) -> bool:
    # A plain Refusal comes from the database's rights and logins, not from a transfer.
    return isinstance(error, Fault | SchemaOutdated | NotInTransaction) or type(error) is Refusal


def _own(outcome: Posted | Exception) -> Outcome:
    """
    Return the caller's own error: raised in several threads, one object would grow one traceback of them all.
    """
    if isinstance(outcome, LastroError):
        cause = outcome.__cause__
        outcome = copy.copy(outcome)
        outcome.__cause__ = cause
    return outcome
