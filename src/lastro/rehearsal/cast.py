"""
The processes of a rehearsal: started together, heard over a pipe each, stopped or killed one by one.

A pipe for each process and nothing shared: a process killed while it holds the lock of a shared queue would silence
all the others. Each is `python -m lastro.rehearsal.member`, which imports what it plays by name: the program that holds
the rehearsal isn't run a second time, whatever stands in it and however it was started.
"""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from multiprocessing.connection import Connection, wait
from types import TracebackType
from typing import Any, Self

from lastro.errors import Fault
from lastro.rehearsal.member import MODULE, Body, Line

__all__ = ["Cast", "Line", "Member", "RehearsalBroken"]

JOIN_TIMEOUT_S = 10.0
READY_TIMEOUT_S = 120.0
SILENCE_MAX_S = 120.0
# Between the word that all are ready and the common beginning, so that the last one has heard it too.
START_DELAY_S = 0.1


class RehearsalBroken(Fault):
    """A process of the rehearsal failed or fell silent, so it has proved nothing. Details: `member`."""

    code = "rehearsal_broken"


class Member:
    """
    One process of the cast, seen from the parent. `result` is set once it is `done`.
    """

    def __init__(self, name: str, process: subprocess.Popen[bytes], connection: Connection) -> None:
        self.name = name
        self.process = process
        self.connection = connection
        self.ready = False
        self.done = False
        self.result: Any = None


class Cast:
    """
    The processes of one rehearsal. Leaving the `with` ends those that still run.
    """

    def __init__(self) -> None:
        self._members: list[Member] = []

    def hire(self, name: str, body: Body, *args: Any) -> Member:
        """Start a process that runs `body(line, *args)`; it waits for its start. `body` is a function of a module."""
        here, there = multiprocessing.Pipe()
        # -P: a file of the folder that this was started in must not come before a module of ours.
        command = [sys.executable, "-P", "-m", MODULE, str(there.fileno()), str(os.getpid())]
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(place for place in sys.path if place)}
        process = subprocess.Popen(command, pass_fds=(there.fileno(),), stdin=subprocess.DEVNULL, env=environment)
        there.close()
        member = Member(name, process, here)
        self._members.append(member)
        # Who died already is missed when its news are waited for.
        with suppress(BrokenPipeError, ConnectionResetError):
            here.send((body, args))
        return member

    def start(self, *members: Member, heard: Callable[[Any], None] = lambda _: None) -> float:
        """
        Wait until each of these is prepared, let them begin together, and return that moment (`time.monotonic`).

        Each may tell how its preparation goes, which *heard* hears: who is silent for two minutes isn't coming.
        """
        for member in members:
            while not member.ready:
                if not member.connection.poll(READY_TIMEOUT_S):
                    raise RehearsalBroken(
                        f"{member.name} was not ready within {READY_TIMEOUT_S:.0f} s", member=member.name
                    )
                if (news := self._hear(member)) is not None:
                    heard(news)
        began = time.monotonic() + START_DELAY_S
        for member in members:
            member.connection.send(began)
        return began

    def listen(self, *members: Member) -> Iterator[tuple[Member, Any]]:
        """Yield their news as it comes, until all of them are done."""
        while playing := [member for member in members if not member.done]:
            heard = wait([member.connection for member in playing], SILENCE_MAX_S)
            if not heard:
                names = ", ".join(member.name for member in playing)
                raise RehearsalBroken(f"nothing was heard of {names} for {SILENCE_MAX_S:.0f} s", member=names)
            for member in playing:
                if member.connection in heard and (news := self._hear(member)) is not None:
                    yield member, news

    def stop(self, member: Member) -> Any:
        """Tell a member to stop, and return its result."""
        if not member.done:
            with suppress(BrokenPipeError, ConnectionResetError):
                member.connection.send("stop")
        for _ in self.listen(member):
            pass
        return member.result

    def kill(self, member: Member) -> int:
        """Kill a member with SIGKILL, wherever it is; return its exit code (-9)."""
        member.process.kill()
        member.done = True
        try:
            return member.process.wait(JOIN_TIMEOUT_S)
        except subprocess.TimeoutExpired as error:
            raise RehearsalBroken(
                f"{member.name} outlived SIGKILL by {JOIN_TIMEOUT_S:.0f} s", member=member.name
            ) from error

    def _hear(self, member: Member) -> Any:
        try:
            word, content = member.connection.recv()
        except (EOFError, OSError) as error:
            with suppress(subprocess.TimeoutExpired):
                member.process.wait(JOIN_TIMEOUT_S)
            raise RehearsalBroken(
                f"{member.name} ended with exit code {member.process.returncode} and without a result",
                member=member.name,
            ) from error
        if word == "failed":
            raise RehearsalBroken(f"{member.name} failed:\n{content}", member=member.name)
        if word == "done":
            member.done, member.result = True, content
            return None
        if word == "ready":
            member.ready = True
            return None
        return content

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for member in self._members:
            # A closed pipe says stop to whoever looks; who doesn't look is ended.
            member.connection.close()
            if error is not None:
                member.process.kill()
        for member in self._members:
            try:
                member.process.wait(JOIN_TIMEOUT_S)
            except subprocess.TimeoutExpired:
                member.process.kill()
                member.process.wait(JOIN_TIMEOUT_S)
