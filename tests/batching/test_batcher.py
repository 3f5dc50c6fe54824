"""The batcher for threads, on a ledger that the test opens and shuts."""

from __future__ import annotations

import gc
import os
import threading
import traceback
import weakref
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from typing import Any

import pytest

from lastro import ConnectionLost, InvalidInput, OutcomeUnknown, Posted, Refusal, ServerUnavailable
from lastro.batching import Batcher
from lastro.model.transfer import Intent
from tests.batching.gated import WAIT_S, GatedLedger, all_posted, order
from tests.support.sessions import Background

LOOKS_MAX = 100_000


@contextmanager
def callers(count: int) -> Iterator[ThreadPoolExecutor]:
    """So many threads."""
    with ThreadPoolExecutor(count) as pool:
        yield pool


def until(met: Callable[[], bool]) -> None:
    """Let other threads run until *met*."""
    pause = threading.Event()
    for _ in range(LOOKS_MAX):
        if met():
            return
        pause.wait(0.0005)
    raise AssertionError("waited in vain")


def waits(batcher: Batcher, calls: int) -> bool:
    """Whether so many calls wait."""
    return len(batcher._waiting) == calls


def thread_ended(batcher: weakref.ref[Batcher]) -> bool:
    """Whether the batcher has no posting thread."""
    there = batcher()
    return there is not None and there._thread is None


def first_under_way(batcher: Batcher, ledger: GatedLedger, pool: ThreadPoolExecutor) -> Future[Posted]:
    """Post one transfer, and return once its batch is at the gate."""
    first = pool.submit(batcher.post, **order("first"))
    assert ledger.entered.acquire(timeout=WAIT_S)
    return first


def test_what_comes_meanwhile_makes_the_next_batch() -> None:
    """A post with nothing under way goes out alone and at once; those that come meanwhile share the next batch."""
    ledger = GatedLedger()
    with callers(9) as pool, Batcher(ledger) as batcher:
        first = first_under_way(batcher, ledger, pool)
        rest = [pool.submit(batcher.post, **order(str(number))) for number in range(8)]
        until(lambda: len(batcher._waiting) == 8)
        ledger.gate.set()
        assert first.result(WAIT_S).transfer.key == "first"
        assert [one.result(WAIT_S).transfer.key for one in rest] == [str(number) for number in range(8)]
    assert ledger.batches[0] == ["first"]
    assert sorted(ledger.batches[1]) == [str(number) for number in range(8)]


def test_a_batch_carries_max_batch_at_most() -> None:
    """More than `max_batch` waiting callers are spread over several batches, first come first served."""
    ledger = GatedLedger()
    with callers(8) as pool, Batcher(ledger, max_batch=3) as batcher:
        first_under_way(batcher, ledger, pool)
        for number in range(7):
            pool.submit(batcher.post, **order(str(number)))
            until(partial(waits, batcher, number + 1))
        ledger.gate.set()
    assert ledger.batches == [["first"], ["0", "1", "2"], ["3", "4", "5"], ["6"]]


def test_each_hears_its_own_outcome() -> None:
    """A refused transfer's caller gets its refusal; its neighbours in the batch get what was posted."""

    def answer(wanted: list[Intent]) -> list[Posted | Refusal]:
        return [
            Refusal(f"no {one.key}") if one.key.startswith("bad") else outcome
            for one, outcome in zip(wanted, all_posted(wanted), strict=True)
        ]

    ledger = GatedLedger(answer)
    with callers(5) as pool, Batcher(ledger) as batcher:
        first_under_way(batcher, ledger, pool)
        keys = ["a", "bad1", "b", "bad2"]
        calls = {key: pool.submit(batcher.post, **order(key)) for key in keys}
        until(lambda: len(batcher._waiting) == 4)
        ledger.gate.set()
        for key, call in calls.items():
            if key.startswith("bad"):
                with pytest.raises(Refusal, match=f"no {key}"):
                    call.result(WAIT_S)
            else:
                assert call.result(WAIT_S).transfer.key == key


def test_tracebacks_do_not_grow() -> None:
    """A fault raised by every caller of a batch shows each only its own frames."""

    def answer(wanted: list[Intent]) -> list[Posted | Refusal]:
        raise ConnectionLost("gone")

    ledger = GatedLedger(answer)
    ledger.gate.set()
    with callers(16) as pool, Batcher(ledger) as batcher:
        errors = [pool.submit(batcher.post, **order(str(number))).exception(WAIT_S) for number in range(200)]
    lengths = {len(traceback.extract_tb(error.__traceback__)) for error in errors if error is not None}
    assert len(errors) == 200
    assert all(isinstance(error, ConnectionLost) for error in errors)
    assert max(lengths) <= 4


@pytest.mark.parametrize("changed", [{"amount": 0}, {"amount": 1.5}, {"key": ""}, {"key": "\0"}, {"credit": "world"}])
def test_bad_input_never_reaches_a_batch(changed: dict[str, Any]) -> None:
    """Input is checked in the caller's thread."""
    ledger = GatedLedger()
    with Batcher(ledger) as batcher, pytest.raises(InvalidInput):
        batcher.post(**(order("x") | changed))
    assert ledger.batches == []


@pytest.mark.parametrize(
    "terms",
    [
        {"max_wait_ms": -1}, {"max_wait_ms": 1001}, {"max_wait_ms": 1.5}, {"max_wait_ms": True},
        {"max_batch": 0}, {"max_batch": 10_001}, {"waiting_max": 0}, {"waiting_max": 10_001},
    ],
)  # fmt: skip
def test_terms_that_cannot_be_are_refused(terms: dict[str, Any]) -> None:
    """A limit out of range is named in the refusal."""
    with pytest.raises(InvalidInput, match=next(iter(terms))):
        Batcher(GatedLedger(), **terms)


def test_close_posts_what_was_taken_then_refuses() -> None:
    """close() waits for every caller's outcome; a post after it says that the batcher is closed. It may be repeated."""
    ledger = GatedLedger()
    batcher = Batcher(ledger)
    with callers(4) as pool:
        calls = [first_under_way(batcher, ledger, pool)]
        calls += [pool.submit(batcher.post, **order(str(number))) for number in range(3)]
        until(lambda: len(batcher._waiting) == 3)
        closing = Background(batcher.close)
        until(lambda: batcher._closed)
        assert not closing.done
        ledger.gate.set()
        closing.result()
        assert all(call.done() or call.result(WAIT_S) for call in calls)
    batcher.close()
    with pytest.raises(ServerUnavailable, match="closed") as refused:
        batcher.post(**order("late"))
    assert refused.value.committed == "no"
    assert len(ledger.batches) == 2


def test_a_full_queue_makes_callers_wait_for_room() -> None:
    """No more than `waiting_max` callers wait in the queue; the next ones block until a batch was taken."""
    ledger = GatedLedger()
    with callers(6) as pool, Batcher(ledger, waiting_max=2) as batcher:
        first_under_way(batcher, ledger, pool)
        calls = [pool.submit(batcher.post, **order(str(number))) for number in range(5)]
        until(lambda: len(batcher._room._waiters) == 3)  # type: ignore[attr-defined]
        assert len(batcher._waiting) == 2
        ledger.gate.set()
        assert {call.result(WAIT_S).transfer.key for call in calls} == {"0", "1", "2", "3", "4"}
    assert max(map(len, ledger.batches)) <= 2


def test_who_waits_for_room_at_the_close_was_not_taken() -> None:
    """Closing refuses the callers that the queue had no room for, and posts those it had taken."""
    ledger = GatedLedger()
    batcher = Batcher(ledger, waiting_max=1)
    with callers(4) as pool:
        first_under_way(batcher, ledger, pool)
        taken = pool.submit(batcher.post, **order("taken"))
        until(lambda: len(batcher._waiting) == 1)
        outside = pool.submit(batcher.post, **order("outside"))
        until(lambda: len(batcher._room._waiters) == 1)  # type: ignore[attr-defined]
        closing = Background(batcher.close)
        with pytest.raises(ServerUnavailable):
            outside.result(WAIT_S)
        ledger.gate.set()
        closing.result()
        assert taken.result(WAIT_S).transfer.key == "taken"


def test_whatever_ends_the_posting_thread_wakes_its_callers() -> None:
    """Even an exit raised inside the posting leaves no caller asleep: its outcome is unknown."""

    def answer(wanted: list[Intent]) -> list[Posted | Refusal]:
        raise SystemExit(3)

    ledger = GatedLedger(answer)
    ledger.gate.set()
    with Batcher(ledger) as batcher, pytest.raises(OutcomeUnknown, match="SystemExit"):
        batcher.post(**order("x"))


def test_no_wake_up_is_lost() -> None:
    """Many threads that post again and again all come to their end, with every post answered once."""
    ledger = GatedLedger()
    ledger.gate.set()
    barrier = threading.Barrier(32)

    def post_repeatedly(caller: int) -> int:
        barrier.wait(WAIT_S)
        for number in range(100):
            key = f"{caller}:{number}"
            assert batcher.post(**order(key)).transfer.key == key
        return 100

    with callers(32) as pool, Batcher(ledger, max_batch=7, waiting_max=9, max_wait_ms=1) as batcher:
        assert sum(pool.map(post_repeatedly, range(32), timeout=4 * WAIT_S)) == 3_200
    posted = [key for batch in ledger.batches for key in batch]
    assert len(posted) == len(set(posted)) == 3_200


def test_an_idle_thread_ends_and_comes_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """A batcher without work keeps no thread, is not kept in memory by one, and posts again when asked."""
    monkeypatch.setattr("lastro.batching.blocking.IDLE_S", 0.01)
    ledger = GatedLedger()
    ledger.gate.set()
    batcher = Batcher(ledger)
    gone = weakref.ref(batcher)
    for key in ("1", "2"):
        batcher.post(**order(key))
        until(partial(thread_ended, gone))
    del batcher
    gc.collect()
    until(lambda: gone() is None)
    assert ledger.batches == [["1"], ["2"]]


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_forked_child_posts_on_its_own() -> None:
    """A child forked while a batch is under way has none of the parent's callers, and a working batcher."""
    ledger = GatedLedger()
    with callers(2) as pool, Batcher(ledger) as batcher:
        first = first_under_way(batcher, ledger, pool)
        second = pool.submit(batcher.post, **order("second"))
        until(lambda: len(batcher._waiting) == 1)
        child = os.fork()
        if child == 0:
            code = 1
            try:
                ledger.gate.set()
                key = batcher.post(**order("child")).transfer.key
                code = 0 if key == "child" and ledger.batches == [["first"], ["child"]] else 2
            finally:
                os._exit(code)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        ledger.gate.set()
        assert first.result(WAIT_S).transfer.key == "first"
        assert second.result(WAIT_S).transfer.key == "second"
    assert ledger.batches == [["first"], ["second"]]
