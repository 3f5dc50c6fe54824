"""
Ending a rehearsal early: a signal is heard once, and what was made is cleaned up before the process goes.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

SIGNALS = (signal.SIGTERM, signal.SIGINT)
# The first asks; a second one, from an impatient hand or a supervisor's group, changes nothing; the third means it.
HEARD_MAX = 2


@contextmanager
def cleaning_up_first() -> Iterator[None]:
    """
    Let SIGTERM and SIGINT end the `with` by an exception, so that every `finally` within it runs; then the process ends.

    In the main thread only; elsewhere, and outside the `with`, signals mean what they meant.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    heard: list[int] = []

    def hear(number: int, _: FrameType | None) -> None:
        heard.append(number)
        if len(heard) > HEARD_MAX:
            signal.signal(number, signal.SIG_DFL)
            signal.raise_signal(number)
        elif len(heard) == 1:
            if number == signal.SIGINT:
                raise KeyboardInterrupt
            raise SystemExit(128 + number)

    before = {number: signal.signal(number, hear) for number in SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
