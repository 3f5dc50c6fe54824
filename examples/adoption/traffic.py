"""Users that pay each other all the time, each in a thread of its own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import count
from threading import Event

from app import App


def pay_on(app: App, stop: Event) -> int:
    """Pay round and round until the end; return how often."""
    for number in count():
        if stop.is_set():
            return number
        app.pay(f"{id(app)}:{number}", number % 3 + 1, (number + 1) % 3 + 1, 7)
    raise AssertionError("never reached")


@contextmanager
def traffic(apps: Sequence[App]) -> Iterator[None]:
    """Let them pay during the block; what went wrong in one is raised at its end."""
    stop = Event()
    with ThreadPoolExecutor() as pool:
        paying = [pool.submit(pay_on, app, stop) for app in apps]
        try:
            yield
        finally:
            stop.set()
    assert all(one.result() for one in paying), "each of them paid"
