"""
The batcher for threads: callers queue their transfers and sleep, one thread posts all that wait in one commit.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections import deque
from collections.abc import Mapping, Sequence
from datetime import datetime
from types import TracebackType
from typing import Any, Protocol

from lastro.batching.outcomes import Outcome, settle, unknown
from lastro.batching.terms import batch_terms, closed
from lastro.errors import Refusal
from lastro.model.limits import BATCHER_WAITING_MAX
from lastro.model.transfer import Intent, Posted, intent
from lastro.telemetry import measure

# The posting thread ends after this time without work and is started again by the next post, so that a batcher that
# was forgotten leaves nothing behind.
IDLE_S = 5.0


class PostsMany(Protocol):
    """What a batcher needs of a ledger."""

    def post_many(self, transfers: Sequence[Mapping[str, Any] | Intent], *, partial: bool) -> list[Posted | Refusal]:
        """Post many transfers in one transaction and return one outcome each."""
        ...


class _Call:
    """
    One caller that waits: what it wants, the lock it sleeps on, and what it will hear.
    """

    __slots__ = ("answered", "outcome", "wanted")

    def __init__(self, wanted: Intent) -> None:
        self.wanted = wanted
        self.outcome: Outcome | None = None
        # A bare lock, taken: its release by the posting thread is the lightest wake-up there is.
        self.answered = threading.Lock()
        self.answered.acquire()


class Batcher:
    """
    Posts for many threads on one connection. Made by `ledger.batching()`; a context manager, or close() it.

    A post that finds nothing under way goes out at once. What comes while a batch is under way makes the next one,
    and after a batch of several the next waits up to `max_wait_ms` for as many again: their callers are on their way.
    Each caller hears its own outcome. A fault (a lost connection, a lock not granted in time) strikes the whole batch;
    a refusal, or a row that the database won't take, its own transfer only.
    """

    def __init__(
        self,
        ledger: PostsMany,
        *,
        max_wait_ms: int = 2,
        max_batch: int = 1_000,
        waiting_max: int = BATCHER_WAITING_MAX,
    ) -> None:
        self._ledger = ledger
        self._terms = batch_terms(max_wait_ms=max_wait_ms, max_batch=max_batch, waiting_max=waiting_max)
        self._closed = False
        self._begin_anew()
        _batchers.add(self)

    def post(
        self,
        *,
        key: str,
        kind: str,
        debit: str,
        credit: str,
        amount: int,
        currency: str,
        cause: str | None = None,
        source: str | None = None,
        actor: str | None = None,
        occurred_at: datetime | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> Posted:
        """
        Post one transfer, once, in a commit that it shares; the arguments and the errors are those of `Ledger.post`.

        Blocks until it is committed. ServerUnavailable once the batcher is closed. An interrupted caller asks again.
        """
        wanted = intent(
            key=key,
            kind=kind,
            debit=debit,
            credit=credit,
            amount=amount,
            currency=currency,
            cause=cause,
            source=source,
            actor=actor,
            occurred_at=occurred_at,
            metadata=metadata,
        )
        call = _Call(wanted)
        with self._mutex:
            if self._closed or self._thread is None or len(self._waiting) >= self._terms.waiting_max:
                self._make_room()
            self._waiting.append(call)
            if len(self._waiting) >= self._awaited:
                self._arrived.notify()
        call.answered.acquire()
        outcome = call.outcome
        if isinstance(outcome, BaseException):
            try:
                raise outcome
            finally:
                # The error's traceback holds this frame: without this the two would keep each other.
                del call, outcome
        assert outcome is not None, "a caller is woken with its outcome"
        return outcome

    def close(self) -> None:
        """
        Take no more posts, post what was taken, and return when each of its callers has its outcome. May be repeated.
        """
        with self._mutex:
            self._closed = True
            self._arrived.notify()
            self._room.notify_all()
            thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join()

    def after_fork_in_child(self) -> None:
        """In a forked child: locks of its own, and none of the parent's callers. Called by the interpreter's hook."""
        self._begin_anew()

    def _begin_anew(self) -> None:
        self._mutex = threading.Lock()
        self._arrived = threading.Condition(self._mutex)
        self._room = threading.Condition(self._mutex)
        self._waiting: deque[_Call] = deque()
        self._awaited = 1
        self._expected = 1
        self._thread: threading.Thread | None = None

    def _make_room(self) -> None:
        """Wait until the queue takes another call, and see that somebody posts it; the mutex is held."""
        while not self._closed and len(self._waiting) >= self._terms.waiting_max:
            self._room.wait()
        if self._closed:
            raise closed()
        if self._thread is None:
            thread = threading.Thread(target=self._post_all, name="lastro-batcher", daemon=True)
            thread.start()
            self._thread = thread

    def _post_all(self) -> None:
        while batch := self._next_batch():
            outcomes = self._outcomes(batch)
            for call, outcome in zip(batch, outcomes, strict=True):
                call.outcome = outcome
                call.answered.release()
            measure("lastro_batch_transfers", len(batch))
            # An idle thread must not hold the last batch and its errors in memory.
            del batch, outcomes

    def _next_batch(self) -> list[_Call]:
        """Wait for calls and take them; an empty batch ends the thread."""
        waiting, terms = self._waiting, self._terms
        with self._mutex:
            if not self._gathered(1, IDLE_S):
                self._thread = None
                return []
            if self._expected > 1:
                self._gathered(self._expected, terms.max_wait_s)
            batch = [waiting.popleft() for _ in range(min(len(waiting), terms.max_batch))]
            self._expected = len(batch)
            self._room.notify_all()
            return batch

    def _gathered(self, calls: int, wait_s: float) -> bool:
        """Wait until so many calls wait, the batcher is closed or the time is over; say whether any call waits."""
        if len(self._waiting) < calls and not self._closed:
            self._awaited = calls
            self._arrived.wait(wait_s)
            self._awaited = self._terms.waiting_max + 1
        return bool(self._waiting)

    def _outcomes(self, batch: Sequence[_Call]) -> Sequence[Outcome]:
        settling = settle([call.wanted for call in batch])
        try:
            wanted = next(settling)
            while True:
                try:
                    outcomes = self._ledger.post_many(wanted, partial=True)
                except Exception as error:  # noqa: BLE001 - the settling says whose it is
                    wanted = settling.throw(error)
                else:
                    wanted = settling.send(outcomes)
        except StopIteration as settled:
            heard: list[Outcome] = settled.value
            return heard
        except BaseException as error:  # noqa: BLE001 - whatever ends this thread, no caller is left asleep
            return [unknown(error) for _ in batch]

    def __enter__(self) -> Batcher:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


_batchers: weakref.WeakSet[Batcher] = weakref.WeakSet()


def _after_fork_in_child() -> None:
    for batcher in list(_batchers):
        batcher.after_fork_in_child()


os.register_at_fork(after_in_child=_after_fork_in_child)
