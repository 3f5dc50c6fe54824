"""
Trying a whole transaction again when a rival made it fail: what an application does around its own transactions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import psycopg

import lastro

T = TypeVar("T")
TRIES_MAX = 5

# Faults of the ledger's statements, and the same conditions met by the application's own.
LOST_TO_A_RIVAL = (
    lastro.BetInProgress,
    lastro.LockTimeout,
    lastro.SerializationLost,
    psycopg.errors.DeadlockDetected,
    psycopg.errors.LockNotAvailable,
    psycopg.errors.SerializationFailure,
)


def until_through(transaction: Callable[[], T]) -> tuple[T, int]:
    """
    Run a transaction until it is through, 5 times at most; return its result and how many tries were lost.

    The keys make repeating it safe. Raises what the last try met.
    """
    lost = 0
    while True:
        try:
            return transaction(), lost
        except LOST_TO_A_RIVAL:
            lost += 1
            if lost == TRIES_MAX:
                raise
