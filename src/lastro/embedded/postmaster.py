"""Tells whether a cluster's server process lives, is really its own, and answers."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import struct
from enum import Enum
from itertools import pairwise
from pathlib import Path

__all__ = ["Answer", "ask", "find_postmaster", "forget_stale_postmaster", "is_alive", "send_signal"]

PID_FILE = "postmaster.pid"
ASK_WAIT_S = 2.0
_PROTOCOL_3 = 196608
_CANNOT_CONNECT_NOW = b"57P03"
_MESSAGE_MAX_BYTES = 4096


class Answer(Enum):
    """What a server says to a greeting."""

    READY = "ready"
    NOT_NOW = "starting up or shutting down"
    SILENT = "no answer"


def find_postmaster(data: Path) -> int | None:
    """
    The process id of the server that runs on this directory, or None.

    The number in the file proves nothing: after a kill or a reboot it can belong to any process. So the process must
    be a `postgres` whose directory is this one.
    """
    pid = _written_pid(data)
    return pid if pid is not None and _serves(pid, data) else None


def forget_stale_postmaster(data: Path) -> None:
    """Remove a pid file whose number now belongs to a stranger: PostgreSQL would take him for a rival."""
    if _written_pid(data) is not None and find_postmaster(data) is None:
        (data / PID_FILE).unlink(missing_ok=True)


def is_alive(pid: int) -> bool:
    """Whether the process exists and isn't a zombie (which a container without an init never clears away)."""
    try:
        status = Path("/proc", str(pid), "stat").read_bytes()
    except OSError:
        return False
    return status.rpartition(b")")[2].split()[0] not in {b"Z", b"X"}


def send_signal(pid: int, mode: str) -> None:
    """Ask a server to shut down, `fast` (roll back and write all) or `immediate` (as if killed)."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGQUIT if mode == "immediate" else signal.SIGINT)


def ask(*, socket_file: Path | None, port: int, user: str, database: str) -> Answer:
    """Greet the server as a client would and hang up before any password: at most ASK_WAIT_S seconds."""
    words = b"".join(word.encode() + b"\0" for word in ("user", user, "database", database, ""))
    greeting = struct.pack("!ii", len(words) + 8, _PROTOCOL_3) + words
    family = socket.AF_INET if socket_file is None else socket.AF_UNIX
    try:
        with socket.socket(family, socket.SOCK_STREAM) as line:
            line.settimeout(ASK_WAIT_S)
            line.connect(("127.0.0.1", port) if socket_file is None else str(socket_file))
            line.sendall(greeting)
            reply = line.recv(_MESSAGE_MAX_BYTES)
    except OSError:
        return Answer.SILENT
    if not reply:
        return Answer.SILENT
    # Any other error (too many clients, say) still comes from a server that works.
    return Answer.NOT_NOW if reply[:1] == b"E" and _CANNOT_CONNECT_NOW in reply else Answer.READY


def _written_pid(data: Path) -> int | None:
    try:
        first = (data / PID_FILE).read_bytes().split(b"\n", 1)[0]
        return abs(int(first)) or None  # negative: a stand-alone backend
    except (OSError, ValueError):
        return None


def _serves(pid: int, data: Path) -> bool:
    process = Path("/proc", str(pid))
    try:
        arguments = (process / "cmdline").read_bytes().split(b"\0")
        # A zombie that no init reaps has an empty command line, but a pid that still answers signals.
        if Path(os.fsdecode(arguments[0])).name != "postgres":
            return False
        directories = [process / "cwd"]
        directories += [Path(os.fsdecode(after)) for flag, after in pairwise(arguments) if flag == b"-D"]
    except OSError:
        return False
    return any(_same(directory, data) for directory in directories)


def _same(one: Path, other: Path) -> bool:
    try:
        return one.samefile(other)
    except OSError:
        return False
