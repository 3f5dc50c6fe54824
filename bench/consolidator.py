"""
The consolidator as a process of its own: `python -m bench.consolidator LEDGER`, until SIGTERM.
"""

from __future__ import annotations

import os
import signal
import sys
import threading

import lastro

# The worker's own interval.
INTERVAL_S = 0.5


def main() -> None:
    """Fold the tail in, round after round."""
    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    with lastro.connect(os.environ["LASTRO_DATABASE_URL"], ledger=sys.argv[1], pool_max=1) as ledger:
        while not stop.is_set():
            if not ledger.consolidate().full:
                stop.wait(INTERVAL_S)


if __name__ == "__main__":
    main()
