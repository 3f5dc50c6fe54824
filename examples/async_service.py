"""An asyncio service in small: requests post through one batcher, and a background task consolidates."""

from __future__ import annotations

import asyncio
import contextlib
import tempfile

import lastro
from lastro.embedded import EmbeddedServer

REQUESTS = 300


async def consolidate(ledger: lastro.AsyncLedger, stop: asyncio.Event) -> int:
    """Fold the tail in every 500 ms until told to stop, and once more then. `lastro work` does this in production."""
    rows = 0
    while not stop.is_set():
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(stop.wait(), 0.5)
        rows += (await ledger.consolidate()).rows
    return rows


async def serve(url: str) -> None:
    """Answer requests, some of them sent twice, as clients do."""
    async with await lastro.connect_async(url) as ledger:
        await ledger.migrate()
        await ledger.open_account("platform", "BRL", keeping="hot")
        stop = asyncio.Event()
        worker = asyncio.create_task(consolidate(ledger, stop))

        async with ledger.batching() as batcher:

            async def answer(request: int) -> bool:
                posted = await batcher.post(
                    key=f"fee:{request}", kind="fee", debit="world", credit="platform", amount=25, currency="BRL"
                )
                return posted.replayed

            requests = [*range(REQUESTS), *range(0, REQUESTS, 10)]
            replayed = sum(await asyncio.gather(*map(answer, requests)))

        stop.set()
        print("requests:", len(requests), "replayed:", replayed)
        print("folded in:", await worker > 0)
        print("platform:", (await ledger.balance("platform", "BRL")).posted)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as directory, EmbeddedServer(f"{directory}/server") as server:
        asyncio.run(serve(server.url))
