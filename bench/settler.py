"""
A settler as a process: `python -m bench.settler`, its order as JSON on standard input, what it did as JSON out.
"""

from __future__ import annotations

import json
import sys
import time

import lastro


def main() -> None:
    """Settle what is due until nothing is, and note when, and how long each batch took."""
    order = json.load(sys.stdin)
    batches_ms: list[float] = []
    with lastro.connect(order["url"], ledger=order["ledger"], pool_max=1) as ledger:
        ledger.betting.backlog()
        time.sleep(order["wait_s"])
        began_s, last = time.time(), time.perf_counter()

        def after_batch(_: int) -> bool:
            nonlocal last
            now = time.perf_counter()
            batches_ms.append((now - last) * 1000)
            last = now
            return True

        settled = 0
        while ledger.betting.backlog().results:
            settled += ledger.betting.settle(after_batch=after_batch).settled
        done = {"began_s": began_s, "ended_s": time.time(), "batches_ms": batches_ms, "settled": settled}
    json.dump(done, sys.stdout)


if __name__ == "__main__":
    main()
