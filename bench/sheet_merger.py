"""
A process that reads and merges the files of one request, and says what it took: `python -m`.
"""

from __future__ import annotations

import json
import resource
import sys
import time

import lastro

POOL_MAX = 8


def main() -> None:
    """Do what standard input orders."""
    order = json.load(sys.stdin)
    with lastro.connect(order["url"], ledger=order["ledger"], pool_max=POOL_MAX) as ledger:
        began = time.perf_counter()
        done = ledger.imports.work(request_id=order["request_id"], lanes=order["lanes"])
        elapsed_s = time.perf_counter() - began
    json.dump(
        {
            "merged": done.merged,
            "elapsed_s": elapsed_s,
            "peak_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
            "parser_peak_mib": resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024,
        },
        sys.stdout,
    )


if __name__ == "__main__":
    main()
