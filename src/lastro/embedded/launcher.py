"""
The child process that gives up root and becomes a PostgreSQL program; run as a script, never imported.

It reads one JSON order from standard input and is started as `python -I -S launcher.py`, because changing the user and
the capabilities of a process can only be done safely in a process that has no other threads. PostgreSQL refuses to run
as root, yet a root's checkout usually lies below a directory that nobody else may enter. So one capability may be kept:
reading past directory permissions. Parent directories are never opened up with chmod.

Actions: `probe` (report the paths that stay out of reach), `run` (become the program), `spawn` (start it detached and
report its process id). Errors go to standard error, exit code 70.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import struct
import sys
from typing import Any

EXIT_CANNOT_LAUNCH = 70

# <linux/prctl.h>, <linux/securebits.h>, <linux/capability.h>
PR_SET_PDEATHSIG = 1
PR_SET_SECUREBITS = 28
PR_SET_NO_NEW_PRIVS = 38
PR_CAP_AMBIENT = 47
PR_CAP_AMBIENT_RAISE = 2
SECBIT_NO_SETUID_FIXUP = 1 << 2
CAPABILITY_VERSION_3 = 0x20080522


def main() -> int:
    """Carry out the order on standard input."""
    order: dict[str, Any] = json.load(sys.stdin)
    try:
        if order["action"] == "probe":
            return probe(order)
        if order["action"] == "spawn":
            return spawn(order)
        return run(order)
    except OSError as error:
        sys.stderr.write(f"{error}\n")
        return EXIT_CANNOT_LAUNCH


def probe(order: dict[str, Any]) -> int:
    """Print the paths that the server's user could not use, as a JSON list."""
    become(order)
    # PostgreSQL asks access(2) about its own binary, so the same call is the honest test.
    modes = {"execute": os.R_OK | os.X_OK, "read": os.R_OK, "enter": os.X_OK}
    missing = [path for path, mode in order["paths"] if not os.access(path, modes[mode])]
    sys.stdout.write(json.dumps(missing))
    return 0


def run(order: dict[str, Any]) -> int:
    """Become the program; its standard input holds the order's `input`."""
    reading, writing = os.pipe()
    os.write(writing, order["input"].encode())  # a few statements: far below a pipe's 64 KiB
    os.close(writing)
    os.dup2(reading, 0)
    become(order)
    # initdb must not live on, half done, when the process that ordered it is killed.
    prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    os.execve(order["argv"][0], order["argv"], order["env"])  # noqa: S606 - no shell is the point


def spawn(order: dict[str, Any]) -> int:
    """Start the program in a session of its own, print its process id, and leave it to init."""
    failed, report = os.pipe()  # close-on-exec: end of file means that the program runs
    pid = os.fork()
    if pid == 0:
        try:
            os.setsid()  # Ctrl-C in the caller's terminal must not reach the database
            log = os.open(order["log"], os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW, 0o600)
            nothing = os.open(os.devnull, os.O_RDONLY)
            for source, target in ((nothing, 0), (log, 1), (log, 2)):
                os.dup2(source, target)
            become(order)
            # The lock's descriptor stays open in the server and all its backends: the lock is held as
            # long as any of them lives, which is the one sign of life that can't be forged or reused.
            os.set_inheritable(order["lock"], True)  # noqa: FBT003 - positional only
            os.execve(order["argv"][0], order["argv"], order["env"])  # noqa: S606
        except OSError as error:
            os.write(report, str(error).encode())
        os._exit(EXIT_CANNOT_LAUNCH)
    os.close(report)
    error_text = os.read(failed, 4096)
    if error_text:
        raise OSError(error_text.decode())
    sys.stdout.write(json.dumps(pid))
    return 0


def become(order: dict[str, Any]) -> None:
    """Change to the order's user for good, keeping at most the one capability the order names."""
    os.chdir("/")
    os.umask(0o077)
    if order["uid"] is None:
        return
    capability = order["capability"]
    if capability is not None:
        # Without this, access(2) ignores the capabilities of a process that isn't root.
        prctl(PR_SET_SECUREBITS, SECBIT_NO_SETUID_FIXUP)
    os.setgroups([])
    os.setresgid(order["gid"], order["gid"], order["gid"])
    os.setresuid(order["uid"], order["uid"], order["uid"])
    if capability is not None:
        keep_only(capability)
        prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, capability)
    prctl(PR_SET_NO_NEW_PRIVS, 1)


def keep_only(capability: int) -> None:
    """Drop every capability but this one."""
    header = struct.pack("=Ii", CAPABILITY_VERSION_3, 0)
    low = 1 << capability  # all that are ever kept stand in the first 32
    sets = struct.pack("=6I", low, low, low, 0, 0, 0)
    if ctypes.CDLL(None, use_errno=True).capset(header, sets) != 0:
        raise OSError(ctypes.get_errno(), "Could not drop the other capabilities")


def prctl(option: int, first: int, second: int = 0) -> None:
    """Set an attribute of this process in the kernel."""
    library = ctypes.CDLL(None, use_errno=True)
    words = [ctypes.c_ulong(word) for word in (first, second, 0, 0)]
    if library.prctl(option, *words) != 0:
        code = ctypes.get_errno()
        raise OSError(code, f"prctl({option}) failed: {os.strerror(code)}")


if __name__ == "__main__":
    sys.exit(main())
