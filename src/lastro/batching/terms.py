"""
The terms of a batcher, checked: how long it gathers, how much one commit carries, how many may wait.
"""

from __future__ import annotations

from typing import NamedTuple

from lastro.errors import InvalidInput, ServerUnavailable
from lastro.model.limits import BATCH_TRANSFERS_MAX, BATCHER_WAIT_MS_MAX, BATCHER_WAITING_MAX


class BatchTerms(NamedTuple):
    """
    What holds for every batch of one batcher.
    """

    max_wait_s: float
    max_batch: int
    waiting_max: int


def batch_terms(*, max_wait_ms: object, max_batch: object, waiting_max: object) -> BatchTerms:
    """
    Return the terms, or InvalidInput that names the one that can't be.
    """
    return BatchTerms(
        _within(max_wait_ms, "max_wait_ms", 0, BATCHER_WAIT_MS_MAX) / 1000,
        _within(max_batch, "max_batch", 1, BATCH_TRANSFERS_MAX),
        _within(waiting_max, "waiting_max", 1, BATCHER_WAITING_MAX),
    )


def closed() -> ServerUnavailable:
    """
    The fault of a post that a closed batcher did not take.
    """
    return ServerUnavailable(
        "this batcher is closed and takes no more posts; nothing was written: "
        "post through the ledger itself, or make a new batcher (ledger.batching())"
    )


def _within(number: object, argument: str, least: int, most: int) -> int:
    if isinstance(number, bool) or not isinstance(number, int) or not least <= number <= most:
        raise InvalidInput(f"{argument} must be a whole number, {least} … {most}; got {number!r}", argument=argument)
    return number
