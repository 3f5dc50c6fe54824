"""
The processes of a rehearsal: started together, heard over a pipe each, stopped or killed one by one.

A pipe for each process and nothing shared: a process killed while it holds the lock of a shared queue would silence
all the others.
"""

from __future__ import annotations

import multiprocessing
import signal
import traceback
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from types import TracebackType
from typing import Any, Self

from lastro.errors import Fault

JOIN_TIMEOUT_S = 10.0
READY_TIMEOUT_S = 120.0
SILENCE_MAX_S = 120.0

Body = Callable[..., Any]


class RehearsalBroken(Fault):
    """A process of the rehearsal failed or fell silent, so it has proved nothing. Details: `member`."""

    code = "rehearsal_broken"


class Line:
    """
    A process's end of its pipe: it waits for the start, tells how it goes, and hears when to stop.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def wait_for_start(self) -> None:
        """Say that everything is prepared, and return when all the others have said so too."""
        self._connection.send(("ready", None))
        self._connection.recv()

    def tell(self, news: Any) -> None:
        """Send news to whoever listens to the cast."""
        self._connection.send(("news", news))

    def stopped(self, within_s: float | None) -> bool:
        """Whether it is time to stop; waits for that up to *within_s* (None: as long as it takes). A parent's end says so too."""
        return self._connection.poll(within_s)


class Member:
    """
    One process of the cast, seen from the parent. `result` is set once it is `done`.
    """

    def __init__(self, name: str, process: BaseProcess, connection: Connection) -> None:
        self.name = name
        self.process = process
        self.connection = connection
        self.done = False
        self.result: Any = None


class Cast:
    """
    The processes of one rehearsal. Leaving the `with` ends those that still run.
    """

    def __init__(self) -> None:
        # Spawned, not forked: the parent has threads (a connection pool), and a fork would copy their locks as held.
        self._context = multiprocessing.get_context("spawn")
        self._members: list[Member] = []

    def hire(self, name: str, body: Body, *args: Any) -> Member:
        """Start a process that runs `body(line, *args)`; it waits for its start."""
        here, there = self._context.Pipe()
        process = self._context.Process(target=_play, args=(there, body, args), name=f"lastro-{name}", daemon=True)
        process.start()
        there.close()
        member = Member(name, process, here)
        self._members.append(member)
        return member

    def start(self, *members: Member) -> None:
        """Wait until each of these is prepared, then let them begin together."""
        for member in members:
            if not member.connection.poll(READY_TIMEOUT_S):
                raise RehearsalBroken(f"{member.name} was not ready within {READY_TIMEOUT_S:.0f} s", member=member.name)
            self._hear(member)
        for member in members:
            member.connection.send("start")

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
            member.connection.send("stop")
        for _ in self.listen(member):
            pass
        return member.result

    def kill(self, member: Member) -> int:
        """Kill a member with SIGKILL, wherever it is; return its exit code (-9)."""
        member.process.kill()
        member.process.join(JOIN_TIMEOUT_S)
        member.done = True
        code = member.process.exitcode
        if code is None:
            raise RehearsalBroken(f"{member.name} outlived SIGKILL by {JOIN_TIMEOUT_S:.0f} s", member=member.name)
        return code

    def _hear(self, member: Member) -> Any:
        try:
            word, content = member.connection.recv()
        except (EOFError, OSError) as error:
            member.process.join(JOIN_TIMEOUT_S)
            raise RehearsalBroken(
                f"{member.name} ended with exit code {member.process.exitcode} and without a result",
                member=member.name,
            ) from error
        if word == "failed":
            raise RehearsalBroken(f"{member.name} failed:\n{content}", member=member.name)
        if word == "done":
            member.done, member.result = True, content
            return None
        return content if word == "news" else None

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
        for member in self._members:
            member.process.join(0 if error else JOIN_TIMEOUT_S)
            if member.process.is_alive():
                member.process.kill()
                member.process.join(JOIN_TIMEOUT_S)
            member.process.close()


def _play(connection: Connection, body: Body, args: tuple[Any, ...]) -> None:
    # Ctrl-C goes to the whole group; the parent hears it and ends the cast in order.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        connection.send(("done", body(Line(connection), *args)))
    except (BrokenPipeError, ConnectionResetError, EOFError):
        # The parent closed its end: nobody waits for a result.
        pass
    except Exception:  # noqa: BLE001 - whatever it was, the parent has to hear it
        connection.send(("failed", traceback.format_exc()))
    finally:
        connection.close()
