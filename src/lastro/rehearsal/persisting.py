"""
Trying again under the same key when the server is gone: what an application does through a crash or a failover.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import lastro
from lastro.rehearsal.open_loop import Visit

PAUSE_S = 0.1
# How long after the last arrival somebody still tries.
PATIENCE_S = 30.0

# What says that no answer came. Only the key tells then whether something was stored, so only a keyed call is repeated.
UNANSWERED = (lastro.ConnectionLost, lastro.OutcomeUnknown, lastro.ServerUnavailable)


def persistently(call: Callable[[int], int], *, seconds: float, patience_s: float = PATIENCE_S) -> Visit:
    """
    Return *call* as a visit that is repeated until it is answered; each repetition counts as a lost try.

    Not for ever: from *seconds* and *patience_s* after now on nothing is tried again.
    """
    give_up_at = time.monotonic() + seconds + patience_s

    def visit(number: int) -> int:
        tries = 0
        while True:
            try:
                return call(number) + tries
            except UNANSWERED:
                if time.monotonic() > give_up_at:
                    raise
                tries += 1
                time.sleep(PAUSE_S)

    return visit
