"""The batcher for asyncio, on a ledger that the test opens and shuts."""

from __future__ import annotations

import asyncio
import traceback

import pytest

from lastro import ConnectionLost, InvalidInput, Posted, Refusal, ServerUnavailable
from lastro.batching import AsyncBatcher
from lastro.model.transfer import Intent
from tests.batching.gated import AsyncGatedLedger, all_posted, order

TURNS_MAX = 10_000


async def until_waiting(batcher: AsyncBatcher, calls: int) -> None:
    """Let the other tasks run until so many calls wait."""
    for _ in range(TURNS_MAX):
        if len(batcher._waiting) == calls:
            return
        await asyncio.sleep(0)
    raise AssertionError("waited in vain")


async def first_under_way(batcher: AsyncBatcher, ledger: AsyncGatedLedger) -> asyncio.Task[Posted]:
    """Post one transfer, and return once its batch is at the gate."""
    first = asyncio.create_task(batcher.post(**order("first")))
    await ledger.entered.acquire()
    return first


async def test_what_comes_meanwhile_makes_the_next_batch() -> None:
    """A post with nothing under way goes out alone; those that come meanwhile share the next batch."""
    ledger = AsyncGatedLedger()
    async with AsyncBatcher(ledger) as batcher:
        first = await first_under_way(batcher, ledger)
        rest = [asyncio.create_task(batcher.post(**order(str(number)))) for number in range(8)]
        await until_waiting(batcher, 8)
        ledger.gate.set()
        assert (await first).transfer.key == "first"
        assert [(await one).transfer.key for one in rest] == [str(number) for number in range(8)]
    assert ledger.batches == [["first"], [str(number) for number in range(8)]]


async def test_tasks_made_ready_together_share_a_batch() -> None:
    """Even with nothing under way, what is asked for in one turn of the loop goes out in one batch."""
    ledger = AsyncGatedLedger()
    ledger.gate.set()
    async with AsyncBatcher(ledger, max_batch=50) as batcher:
        await asyncio.gather(*(batcher.post(**order(str(number))) for number in range(80)))
    assert [len(batch) for batch in ledger.batches] == [50, 30]


async def test_each_hears_its_own_outcome_and_tracebacks_do_not_grow() -> None:
    """Refusals go to their callers, faults to all, and no error carries another caller's frames."""

    def answer(wanted: list[Intent]) -> list[Posted | Refusal]:
        if any(one.key.startswith("lost") for one in wanted):
            raise ConnectionLost("gone")
        return [
            Refusal("no") if one.key.startswith("bad") else outcome
            for one, outcome in zip(wanted, all_posted(wanted), strict=True)
        ]

    ledger = AsyncGatedLedger(answer)
    ledger.gate.set()
    async with AsyncBatcher(ledger) as batcher:
        mixed = await asyncio.gather(*(batcher.post(**order(key)) for key in ("a", "bad", "b")), return_exceptions=True)
        assert [type(outcome) for outcome in mixed] == [Posted, Refusal, Posted]
        lost = await asyncio.gather(
            *(batcher.post(**order(f"lost{number}")) for number in range(100)), return_exceptions=True
        )
    assert all(isinstance(error, ConnectionLost) for error in lost)
    lengths = {len(traceback.extract_tb(e.__traceback__)) for e in lost if isinstance(e, BaseException)}
    assert max(lengths) <= 3


async def test_a_cancelled_caller_leaves_its_neighbours_unharmed() -> None:
    """Who is cancelled before its turn posts nothing; who is cancelled under way harms nobody; both hear of it."""
    ledger = AsyncGatedLedger()
    async with AsyncBatcher(ledger) as batcher:
        under_way = await first_under_way(batcher, ledger)
        tasks = [asyncio.create_task(batcher.post(**order(str(number)))) for number in range(3)]
        await until_waiting(batcher, 3)
        under_way.cancel()
        tasks[1].cancel()
        await asyncio.sleep(0)
        ledger.gate.set()
        outcomes = await asyncio.gather(under_way, *tasks, return_exceptions=True)
    assert isinstance(outcomes[0], asyncio.CancelledError)
    assert isinstance(outcomes[2], asyncio.CancelledError)
    assert isinstance(outcomes[1], Posted)
    assert isinstance(outcomes[3], Posted)
    assert ledger.batches == [["first"], ["0", "2"]]


async def test_when_all_that_wait_are_cancelled_the_next_post_still_goes_out() -> None:
    """A queue of cancelled calls neither makes an empty batch nor keeps a later caller waiting."""
    ledger = AsyncGatedLedger()
    async with AsyncBatcher(ledger) as batcher:
        first = await first_under_way(batcher, ledger)
        task = asyncio.create_task(batcher.post(**order("gone")))
        await until_waiting(batcher, 1)
        task.cancel()
        await asyncio.sleep(0)
        ledger.gate.set()
        await first
        assert (await batcher.post(**order("later"))).transfer.key == "later"
    assert ledger.batches == [["first"], ["later"]]


async def test_close_posts_what_was_taken_then_refuses() -> None:
    """close() waits for every caller's outcome; a post after it says that the batcher is closed. It may be repeated."""
    ledger = AsyncGatedLedger()
    batcher = AsyncBatcher(ledger)
    first = await first_under_way(batcher, ledger)
    second = asyncio.create_task(batcher.post(**order("second")))
    await until_waiting(batcher, 1)
    closing = asyncio.create_task(batcher.close())
    await asyncio.sleep(0)
    assert not closing.done()
    ledger.gate.set()
    await closing
    assert (await first).transfer.key == "first"
    assert (await second).transfer.key == "second"
    await batcher.close()
    with pytest.raises(ServerUnavailable, match="closed"):
        await batcher.post(**order("late"))


async def test_a_full_queue_makes_callers_wait_for_room() -> None:
    """No more than `waiting_max` calls wait in the queue; the others wait for room, and all are posted."""
    ledger = AsyncGatedLedger()
    async with AsyncBatcher(ledger, waiting_max=2) as batcher:
        first = await first_under_way(batcher, ledger)
        tasks = [asyncio.create_task(batcher.post(**order(str(number)))) for number in range(7)]
        await until_waiting(batcher, 2)
        for _ in tasks:
            await asyncio.sleep(0)
        assert len(batcher._waiting) == 2
        ledger.gate.set()
        await asyncio.gather(first, *tasks)
    posted = [key for batch in ledger.batches for key in batch]
    assert sorted(posted) == sorted(["first", *map(str, range(7))])
    assert max(map(len, ledger.batches)) <= 2


async def test_who_waits_for_room_at_the_close_was_not_taken() -> None:
    """Closing refuses the callers that the queue had no room for, and posts those it had taken."""
    ledger = AsyncGatedLedger()
    batcher = AsyncBatcher(ledger, waiting_max=1)
    first = await first_under_way(batcher, ledger)
    taken = asyncio.create_task(batcher.post(**order("taken")))
    await until_waiting(batcher, 1)
    outside = asyncio.create_task(batcher.post(**order("outside")))
    await asyncio.sleep(0)
    closing = asyncio.create_task(batcher.close())
    with pytest.raises(ServerUnavailable):
        await outside
    ledger.gate.set()
    await closing
    assert (await first).transfer.key == "first"
    assert (await taken).transfer.key == "taken"


async def test_bad_input_never_reaches_a_batch() -> None:
    """Input is checked where it is given."""
    ledger = AsyncGatedLedger()
    async with AsyncBatcher(ledger) as batcher:
        with pytest.raises(InvalidInput):
            await batcher.post(**order("x", amount=0))
    assert ledger.batches == []


def test_another_loop_finds_a_working_batcher() -> None:
    """A batcher whose loop ended with a batch under way serves the next loop."""
    ledger = AsyncGatedLedger()
    batcher = AsyncBatcher(ledger)

    async def leave_under_way() -> None:
        await first_under_way(batcher, ledger)

    async def post_in_peace() -> str:
        ledger.gate = asyncio.Event()
        ledger.gate.set()
        return (await batcher.post(**order("second"))).transfer.key

    asyncio.run(leave_under_way())
    assert asyncio.run(post_in_peace()) == "second"


async def test_no_wake_up_is_lost() -> None:
    """Many tasks that post again and again all come to their end, with every post answered once."""
    ledger = AsyncGatedLedger()
    ledger.gate.set()

    async def post_repeatedly(caller: int) -> None:
        for number in range(50):
            key = f"{caller}:{number}"
            assert (await batcher.post(**order(key))).transfer.key == key

    async with AsyncBatcher(ledger, max_batch=7, waiting_max=9, max_wait_ms=1) as batcher:
        async with asyncio.timeout(100):
            await asyncio.gather(*map(post_repeatedly, range(40)))
    assert sum(map(len, ledger.batches)) == 2_000
