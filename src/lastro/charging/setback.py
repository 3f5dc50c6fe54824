"""
Stepping back: jobs that weren't charged when it was tried are tried again behind all others. No clock and no database.
"""

from __future__ import annotations

from typing import Final

# Jobs that may fail in one tick, and those that step back at most. Each claim is told the ones to skip.
FAILED_A_TICK_MAX: Final = 100
STEPPED_BACK_MAX: Final = 2_000


class SetBack:
    """
    The jobs that failed when they were tried last, the longest ago first, over all ticks of one charger.

    A tick tries the others first. When none of those is left it lets back as many as may still fail in it, so that each
    comes up again in its turn, however many there are.
    """

    def __init__(self) -> None:
        self._failed: dict[str, None] = {}
        # In this tick: those that failed, and those of earlier ones that wait until no other is due.
        self._now: set[str] = set()
        self._waiting: frozenset[str] = frozenset()

    def begin(self) -> None:
        """Begin a tick."""
        self._now.clear()
        self._waiting = frozenset(self._failed)

    @property
    def skipped(self) -> frozenset[str]:
        """The jobs not to claim: those that failed in this tick, and those of earlier ones that still wait."""
        return self._waiting | self._now

    @property
    def is_full(self) -> bool:
        """Whether no more may fail in this tick."""
        return len(self._now) >= FAILED_A_TICK_MAX

    def let_back(self) -> bool:
        """Let those be tried that failed the longest ago, and forget that they did; return whether there were any."""
        room = FAILED_A_TICK_MAX - len(self._now)
        back = [job_id for job_id in self._failed if job_id in self._waiting][:room]
        for job_id in back:
            del self._failed[job_id]
        self._waiting -= frozenset(back)
        return bool(back)

    def failed(self, job_id: str) -> None:
        """Note that a job wasn't charged. Of more than 2,000 such jobs those of the longest ago are forgotten."""
        self._now.add(job_id)
        self._failed[job_id] = None
        while len(self._failed) > STEPPED_BACK_MAX:
            del self._failed[next(iter(self._failed))]
