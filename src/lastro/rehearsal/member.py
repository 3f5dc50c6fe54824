"""
One process of a rehearsal: it hears what to play over a pipe, plays it, and tells what came of it.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any

MODULE = "lastro.rehearsal.member"
ORPHAN_LOOK_S = 1.0

Body = Callable[..., Any]


class Line:
    """
    A process's end of its pipe: it waits for the start, tells how it goes, and hears when to stop.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def wait_for_start(self) -> float:
        """Say that everything is prepared; return the common beginning (`time.monotonic`) when all others are ready."""
        self._connection.send(("ready", None))
        began: float = self._connection.recv()
        return began

    def tell(self, news: Any) -> None:
        """Send news to whoever listens to the cast."""
        self._connection.send(("news", news))

    def stopped(self, within_s: float | None) -> bool:
        """Whether it is time to stop; waits for that up to *within_s* (None: as long as it takes). A parent's end says so too."""
        return self._connection.poll(within_s)


def play(connection: Connection) -> None:
    """
    Play what the parent says: a function of a module, and its arguments.
    """
    try:
        body, args = connection.recv()
        connection.send(("done", body(Line(connection), *args)))
    except (BrokenPipeError, ConnectionResetError, EOFError):
        # The parent closed its end: nobody waits for a result.
        pass
    except Exception:  # noqa: BLE001 - whatever it was, the parent has to hear it
        connection.send(("failed", traceback.format_exc()))
    finally:
        connection.close()


def end_with(parent: int) -> None:
    """
    End this process when *parent* is gone: load that nobody judges any more has to cease.
    """
    while os.getppid() == parent:
        time.sleep(ORPHAN_LOOK_S)
    os._exit(1)


def main() -> None:
    """
    Play on the pipe whose number is given first, for the parent whose process id comes second.
    """
    pipe, parent = int(sys.argv[1]), int(sys.argv[2])
    # Ctrl-C goes to the whole group; the parent hears it and ends the cast in order.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=end_with, args=(parent,), daemon=True).start()
    play(Connection(pipe))


if __name__ == "__main__":
    main()
