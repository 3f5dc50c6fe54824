"""
Whose turn it is to write: a fair queue inside the process, and a patient, even knock at the lock between processes.

SQLite's own busy wait sleeps longer and longer, so whoever has waited longest comes last: with eight writers single
waits take seconds. Here the writers of one process queue, and only the first of them knocks at the file, at even
intervals, so that no process falls behind another.
"""

from __future__ import annotations

import os
import random
import sqlite3
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from lastro.engine.sqlite_errors import is_busy
from lastro.errors import LockTimeout

T = TypeVar("T")

KNOCK_EVERY_MS = 1.0


class Patience:
    """
    What is left of one call's wait for the write lock.
    """

    def __init__(self, limit_ms: int) -> None:
        self._limit_ms = limit_ms
        self._deadline_s = time.monotonic() + limit_ms / 1000

    def left_s(self) -> float:
        """Return the seconds left, never less than none."""
        return max(0.0, self._deadline_s - time.monotonic())

    def pause_s(self, error: sqlite3.Error) -> float:
        """Return the seconds until the next knock; raise *error* where waiting is over or doesn't help."""
        if not is_busy(error) or not self.left_s():
            raise error
        return min(self.left_s(), KNOCK_EVERY_MS * random.uniform(0.5, 1.5) / 1000)  # noqa: S311 - jitter, no secret

    def spent(self) -> LockTimeout:
        """Return the fault of a wait that was too long."""
        return LockTimeout(
            f"the write lock was not granted within {self._limit_ms} ms: other writers of this process were first; "
            "retry with the same key"
        )


def knock(call: Callable[[], T], patience: Patience) -> T:
    """
    Make *call* until nobody is in its way.
    """
    while True:
        try:
            return call()
        except sqlite3.OperationalError as error:
            time.sleep(patience.pause_s(error))


class Queue:
    """
    The writers of this process on one database file, first come, first served.
    """

    def __init__(self) -> None:
        self._mutex = threading.Lock()
        self._taken = False
        self._waiting: deque[threading.Lock] = deque()

    @contextmanager
    def turn(self, patience: Patience) -> Iterator[None]:
        """Wait for one's turn and keep it for the block. Raises LockTimeout."""
        if not self._come(patience):
            raise patience.spent()
        try:
            yield
        finally:
            self._go()

    def _come(self, patience: Patience) -> bool:
        with self._mutex:
            if not self._taken:
                self._taken = True
                return True
            called = threading.Lock()
            called.acquire()
            self._waiting.append(called)
        if called.acquire(timeout=patience.left_s()):
            return True
        with self._mutex:
            if called not in self._waiting:
                # Called at the last moment: the turn is ours, and would be lost to everybody if we left.
                return True
            self._waiting.remove(called)
            return False

    def _go(self) -> None:
        with self._mutex:
            if self._waiting:
                self._waiting.popleft().release()
            else:
                self._taken = False


_QUEUES: dict[Path, Queue] = {}
# A child has none of the threads that wait or write in its parent.
os.register_at_fork(after_in_child=_QUEUES.clear)


def queue_of(path: Path) -> Queue:
    """
    Return the queue of a database file, the same one for all engines of the process.
    """
    return _QUEUES.setdefault(path, Queue())
