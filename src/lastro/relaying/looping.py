"""
An event loop in a thread of its own, for the clients that know only asyncio; with a limit on every call.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from typing import Any, Final, TypeVar

T = TypeVar("T")

# Beyond the call's own limit, for the loop to cancel what is late and say so.
GRACE_S: Final = 5.0
JOIN_S: Final = 10.0


class LoopThread:
    """
    Runs coroutines for a blocking caller. Closed and used again it starts anew.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    def run(self, work: Coroutine[Any, Any, T], *, timeout_s: float) -> T:
        """Return what *work* returns; TimeoutError after *timeout_s*, and *work* is cancelled then."""
        loop = self._running()

        async def within_limit() -> T:
            async with asyncio.timeout(timeout_s):
                return await work

        return asyncio.run_coroutine_threadsafe(within_limit(), loop).result(timeout_s + GRACE_S)

    def close(self) -> None:
        """End the loop and its thread."""
        loop, thread = self._loop, self._thread
        self._loop = self._thread = None
        if loop is None or thread is None:
            return
        asyncio.run_coroutine_threadsafe(_cancel_the_rest(), loop).result(JOIN_S)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(JOIN_S)
        loop.close()

    def _running(self) -> asyncio.AbstractEventLoop:
        if self._loop is None:
            self._loop = asyncio.new_event_loop()
            self._thread = threading.Thread(target=self._loop.run_forever, name=f"lastro-{self._name}", daemon=True)
            self._thread.start()
        return self._loop


async def _cancel_the_rest() -> None:
    mine = asyncio.current_task()
    others = [task for task in asyncio.all_tasks() if task is not mine]
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)
