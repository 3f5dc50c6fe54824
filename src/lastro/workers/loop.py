"""
The loop of every worker: it alone owns time, stop, jitter and back-off; a worker is a tick, `run_once() -> facts`.
"""

from __future__ import annotations

import logging
import random
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple, Protocol

from lastro.errors import LastroError, SchemaOutdated
from lastro.telemetry import measure

# The pause after an error: the worker's own interval at first, then twice as long each time, up to this.
PAUSE_MAX_MS: Final = 10_000
# An error of the same kind is said again when it has come 2, 4, 8 … times; after a quiet spell it counts as new.
QUIET_AFTER_MS: Final = 600_000
ERROR_CODE_UNEXPECTED: Final = "unexpected"

_log = logging.getLogger("lastro.workers")


class Facts(NamedTuple):
    """
    What one tick did: figures by name. `more` says that work is left and the next tick should come at once.
    """

    figures: Mapping[str, int]
    more: bool = False


class Worker(Protocol):
    """
    A tick with a name. `interval_ms` is the time from one start to the next, `jitter` the share it varies by.
    """

    name: str
    interval_ms: int
    jitter: float

    def run_once(self) -> Facts:
        """Do a bounded piece of the work, effect and progress in one commit, and return what was done."""
        ...

    def close(self) -> None:
        """Let go of the connections; the next tick opens new ones."""
        ...


@dataclass
class Totals:
    """
    What a loop has done so far: ticks, errors, and the sums of the ticks' figures.
    """

    ticks: int = 0
    errors: int = 0
    figures: dict[str, int] = field(default_factory=dict)

    def add(self, facts: Facts) -> None:
        """Count one tick."""
        self.ticks += 1
        for name, value in facts.figures.items():
            self.figures[name] = self.figures.get(name, 0) + value


class Loop:
    """
    Repeats one worker's tick until *stop* is set; the tick in hand is always finished.

    An error of the worker's own is logged, counted and followed by a pause; the loop goes on. Two errors end it: an
    AssertionError, which is a bug in what the ledger believes of itself, and SchemaOutdated before the first tick that
    succeeds, for a ledger that isn't there, or is of another release, needs a person.
    """

    def __init__(
        self,
        worker: Worker,
        stop: threading.Event,
        *,
        monotonic: Callable[[], float] = time.monotonic,
        pause_max_ms: int = PAUSE_MAX_MS,
    ) -> None:
        self.worker = worker
        self.totals = Totals()
        self._stop = stop
        self._monotonic = monotonic
        self._pause_max_ms = pause_max_ms
        self._failures = 0
        self._said = _Said(monotonic)

    def run(self) -> Totals:
        """
        Run to the stop and return what was done. Waiting never delays a stop.
        """
        try:
            while not self._stop.is_set():
                self._stop.wait(self.tick())
        finally:
            self.worker.close()
        return self.totals

    def tick(self) -> float:
        """
        Run one tick and return the seconds to wait before the next.
        """
        began = self._monotonic()
        try:
            facts = self.worker.run_once()
        except AssertionError:
            raise
        except SchemaOutdated as error:
            # Later it is a migration under way, or one that this process outlived: whoever deploys ends it.
            if not self.totals.ticks:
                raise
            return self._after_error(error)
        except Exception as error:  # noqa: BLE001 - a worker outlives whatever one tick meets; the log has it
            return self._after_error(error)
        elapsed_s = self._monotonic() - began
        measure("lastro_worker_ticks", 1, worker=self.worker.name)
        measure("lastro_worker_tick_ms", elapsed_s * 1000, worker=self.worker.name)
        self.totals.add(facts)
        if self._failures:
            _log.info("%s goes on after %d failed ticks", self.worker.name, self._failures)
            self._failures = 0
        if facts.more:
            return 0.0
        return max(0.0, self._varied(self.worker.interval_ms / 1000) - elapsed_s)

    def _after_error(self, error: Exception) -> float:
        self._failures += 1
        self.totals.errors += 1
        code = error.code if isinstance(error, LastroError) else ERROR_CODE_UNEXPECTED
        measure("lastro_worker_errors", 1, worker=self.worker.name, code=code)
        pause_ms = self.worker.interval_ms
        for _ in range(self._failures - 1):
            if pause_ms >= self._pause_max_ms:
                break
            pause_ms *= 2
        pause_ms = max(self.worker.interval_ms, min(pause_ms, self._pause_max_ms))
        times = self._said.count(f"{type(error).__module__}.{type(error).__qualname__}")
        if times:
            _log.error(
                "%s failed (%s, %s): %s; it goes on in %.1f s",
                self.worker.name,
                code,
                "for the first time" if times == 1 else f"{times} times by now",
                error if isinstance(error, LastroError) else repr(error),
                pause_ms / 1000,
                # Our own errors say all there is to say; anything else needs its origin to be found.
                exc_info=None if isinstance(error, LastroError) else error,
            )
        self._let_go()
        return self._varied(pause_ms / 1000)

    def _let_go(self) -> None:
        # A pool that lost its server tries again at its own, ever longer intervals; a new one connects at once.
        try:
            self.worker.close()
        except Exception:  # noqa: BLE001 - as above
            _log.exception("%s could not close its connections", self.worker.name)

    def _varied(self, seconds: float) -> float:
        # So that workers started together don't go on ticking together.
        return seconds * random.uniform(1 - self.worker.jitter, 1 + self.worker.jitter)  # noqa: S311 - jitter, no secret


class _Said:
    """
    Which kinds of error were logged, so that an outage of an hour doesn't fill a disk.
    """

    def __init__(self, monotonic: Callable[[], float]) -> None:
        self._monotonic = monotonic
        self._seen: dict[str, tuple[int, float]] = {}

    def count(self, kind: str) -> int:
        """Return how often *kind* has come by now if it should be said, else 0."""
        now = self._monotonic()
        times, last_s = self._seen.get(kind, (0, now))
        times = 1 if (now - last_s) * 1000 > QUIET_AFTER_MS else times + 1
        self._seen[kind] = (times, now)
        return times if times & (times - 1) == 0 else 0
