"""A process that uses a server on command, so that tests can order, kill and outlive it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from multiprocessing.synchronize import Event
from pathlib import Path

from lastro.embedded import EmbeddedServer

WAIT_S = 60

_SCRIPT = """
import os, sys
from lastro.embedded import EmbeddedServer, EmbeddedServerError
server = EmbeddedServer(sys.argv[1])
print("here", flush=True)
for line in sys.stdin:
    word = line.strip()
    try:
        if word == "start":
            server.start()
        elif word == "keep":
            server.start(keep=True)
        elif word == "release":
            server.release()
        elif word == "fork":
            # The child inherits everything and lives until the test opens the pipe.
            pipe = sys.argv[1] + ".pipe"
            os.mkfifo(pipe)
            if os.fork() == 0:
                os.close(1)
                open(pipe).close()
                sys.exit(0)
            break  # at once: the parent must not need to wait for its child's first steps
        elif word == "leave":
            break
        print("done", server.pid, flush=True)
    except EmbeddedServerError as error:
        print("error", str(error).replace(chr(10), " "), flush=True)
"""


class Player:
    """One process; tell() sends a command, answer() waits for its outcome."""

    def __init__(self, home: Path) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", _SCRIPT, str(home)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert self.answer() == "here"

    def tell(self, word: str) -> None:
        """Send a command without waiting."""
        assert self.process.stdin is not None
        self.process.stdin.write(word + "\n")
        self.process.stdin.flush()

    def answer(self) -> str:
        """The next line the process says."""
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def do(self, word: str) -> str:
        """Send a command and wait for its outcome."""
        self.tell(word)
        return self.answer()

    def leave(self) -> None:
        """Let it come to its ordinary end."""
        self.tell("leave")
        assert self.process.wait(60) == 0

    def kill(self) -> None:
        """End it as the kernel does when memory runs out."""
        os.kill(self.process.pid, signal.SIGKILL)
        self.process.wait(60)

    def close(self) -> None:
        """Tidy up after a test."""
        self.process.kill()
        self.process.wait(60)
        for stream in (self.process.stdin, self.process.stdout):
            if stream is not None:
                stream.close()


def visit(home: str, *, start: bool, here: Event) -> None:
    """A child of multiprocessing that perhaps uses the server, and ends."""
    if start:
        EmbeddedServer(home).start()
    here.set()


def stay(here: Event, go: Event) -> None:
    """A child of multiprocessing that ends when it's told to."""
    here.set()
    assert go.wait(WAIT_S)
