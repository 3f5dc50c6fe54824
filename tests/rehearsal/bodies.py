"""What the processes of the cast's tests do; here, because a spawned process imports it by name."""

from __future__ import annotations

import os
import signal

from lastro.rehearsal.cast import Line


def add(line: Line, first: int, second: int) -> int:
    """Tells both numbers after the start, and returns their sum."""
    line.wait_for_start()
    line.tell(first)
    line.tell(second)
    return first + second


def fail(line: Line) -> None:
    """Fails after the start."""
    line.wait_for_start()
    raise LookupError("the till is empty")


def vanish(line: Line) -> None:
    """Is killed after the start, as by the system's out-of-memory killer."""
    line.wait_for_start()
    os.kill(os.getpid(), signal.SIGKILL)


def wait(line: Line) -> str:
    """Waits for the stop."""
    line.wait_for_start()
    return "stopped" if line.stopped(None) else "went on"


def ignore(line: Line) -> None:
    """Never looks whether it should stop."""
    line.wait_for_start()
    line.tell("deaf")
    signal.pause()
