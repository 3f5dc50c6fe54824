"""
The reconciler as a process of its own: `python -m bench.reconciler`, told by standard input how many rounds to do.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

import lastro
from bench.client import resident_kib
from lastro.model.limits import RECONCILIATION_REST_TIMES


def main() -> None:
    """Do what standard input orders: so many rounds one after the other, or rounds for so many seconds."""
    order: dict[str, Any] = json.load(sys.stdin)
    rounds = []
    began = time.perf_counter()
    with lastro.connect(order["url"], ledger=order["ledger"], pool_max=1) as ledger:
        while time.perf_counter() - began < order["seconds"] if "seconds" in order else len(rounds) < order["rounds"]:
            started = time.perf_counter()
            peak_kib: list[int] = []

            def look(_: int, peak_kib: list[int] = peak_kib) -> bool:
                peak_kib.append(resident_kib())
                return True

            rest = order.get("rest", RECONCILIATION_REST_TIMES)
            done = ledger.reconcile(full=order.get("full", False), rest=rest, after_batch=look)
            rounds.append(
                {
                    "seconds": time.perf_counter() - started,
                    "accounts": done.accounts,
                    "skipped": done.skipped,
                    "open_incidents": done.open_incidents,
                    "first_kib": peak_kib[0] if peak_kib else resident_kib(),
                    "most_kib": max(peak_kib, default=resident_kib()),
                }
            )
    json.dump({"rounds": rounds}, sys.stdout)


if __name__ == "__main__":
    main()
