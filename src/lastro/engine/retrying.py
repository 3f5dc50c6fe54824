"""
What may be tried again: the verdict on a fault in a transaction of our own, and how long to wait before the next try.
"""

from __future__ import annotations

import random

from psycopg_pool import PoolTimeout

from lastro.errors import (
    ConnectionLost,
    Fault,
    OutcomeUnknown,
    SerializationLost,
    ServerUnavailable,
)
from lastro.plans.plan import Effect

TRIES_MAX = 5
FIRST_PAUSE_MS = 20
PAUSE_MAX_MS = 1_000

_AGAIN = (SerializationLost, ConnectionLost, ServerUnavailable, OutcomeUnknown)


class Tries:
    """
    The tries of one call. Once a COMMIT went unanswered the call ends as done, refused or OutcomeUnknown, never as
    "nothing was stored": only the same key, asked again, can tell.
    """

    def __init__(self, effect: Effect) -> None:
        self._effect = effect
        self._failed = 0
        self._unanswered: OutcomeUnknown | None = None

    def pause_s(self, fault: Fault) -> float:
        """
        Return the seconds to wait before the next try, or raise what the caller has to hear.
        """
        self._failed += 1
        if isinstance(fault, OutcomeUnknown):
            if self._effect.reads:
                fault = ConnectionLost("the connection broke while reading; nothing was written").with_traceback(
                    fault.__traceback__
                )
            else:
                self._unanswered = fault
        once = isinstance(fault, OutcomeUnknown) and self._effect is Effect.ONCE
        # Whoever waited for the pool in vain has waited long enough; five times ten seconds would be an outage of its own.
        waited = isinstance(fault.__cause__, PoolTimeout | TimeoutError)
        glance = self._effect is Effect.GLANCE
        if once or waited or glance or self._failed >= TRIES_MAX or not isinstance(fault, _AGAIN):
            if self._unanswered is not None and fault is not self._unanswered:
                raise self._unanswered from fault
            raise fault
        pause_ms = min(FIRST_PAUSE_MS * 2 ** (self._failed - 1), PAUSE_MAX_MS)
        return float(pause_ms * random.uniform(0.5, 1.0) / 1000)  # noqa: S311 - jitter, no secret
