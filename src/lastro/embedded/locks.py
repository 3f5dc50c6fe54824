"""File locks that the kernel drops when their holder dies, and that stay right over a fork."""

from __future__ import annotations

import errno
import fcntl
import os
import threading
import time
import weakref
from collections.abc import Callable
from pathlib import Path

from lastro.embedded.errors import EmbeddedServerError

__all__ = ["FileLock"]

POLL_S = 0.02


class FileLock:
    """
    A `flock` on a file of its own. Not for several threads at once: the owner guards it.

    The lock belongs to the open file, which a forked child shares with its parent. So it is given back by closing,
    never by LOCK_UN, which would take it from the other as well; and a child gets an open file of its own (see below).
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._descriptor: int | None = None
        self._shared = False
        self._spares: dict[int, int] = {}  # by thread: several may fork at once
        _all.add(self)

    @property
    def held(self) -> bool:
        """Whether this object holds its lock, shared or not."""
        return self._descriptor is not None

    @property
    def descriptor(self) -> int:
        """The open file that carries the lock, to be handed to a child process."""
        if self._descriptor is None:
            raise AssertionError(f"{self.path.name} is not held")
        return self._descriptor

    def share(self, *, wait_s: float) -> None:
        """Take the lock beside other sharers, or raise after `wait_s` seconds."""
        self._take(fcntl.LOCK_SH, wait_s)

    def exclude(self, *, wait_s: float) -> None:
        """Take the lock alone, or raise after `wait_s` seconds."""
        self._take(fcntl.LOCK_EX, wait_s)

    def try_exclude(self) -> bool:
        """
        Take the lock alone if nobody else has it.

        Where a shared lock was held and the answer is False, the shared lock is gone: share() it again or release().
        """
        if self._descriptor is None:
            self._descriptor = _open(self.path)
        taken = _try(self._descriptor, fcntl.LOCK_EX)
        self._shared = False
        if not taken:
            self.release()
        return taken

    def release(self) -> None:
        """Give the lock back. Child processes that inherited the open file keep holding it."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def _take(self, mode: int, wait_s: float) -> None:
        if self._descriptor is None:
            self._descriptor = _open(self.path)
        deadline = time.monotonic() + wait_s
        while not _try(self._descriptor, mode):
            if time.monotonic() > deadline:
                self.release()
                raise EmbeddedServerError(
                    f"{self.path} was still locked by another process after {wait_s:g} s. `fuser {self.path}` names it."
                )
            time.sleep(POLL_S)
        self._shared = mode == fcntl.LOCK_SH

    def before_fork(self) -> None:
        """
        In the parent: open a second shared lock for the child, before there is a child.

        Opened afterwards by the child itself, it could come too late: a parent that leaves at once (as one does that
        puts its child into the background) would find nobody else and stop the server under the child.
        """
        if self._descriptor is None or not self._shared:
            return
        try:
            spare = _open(self.path)
        except OSError:
            return  # the directory is gone, and the server with it
        if _try(spare, fcntl.LOCK_SH):
            self._spares[threading.get_ident()] = spare
        else:
            os.close(spare)

    def after_fork_in_parent(self) -> None:
        """In the parent: the child has the second lock now, or the fork failed."""
        spare = self._spares.pop(threading.get_ident(), None)
        if spare is not None:
            os.close(spare)

    def after_fork_in_child(self) -> None:
        """In the child: count as a sharer of its own, and hold nothing that only the parent was given."""
        if self._descriptor is not None:
            os.close(self._descriptor)
        self._descriptor = self._spares.pop(threading.get_ident(), None)
        for meant_for_others in self._spares.values():
            os.close(meant_for_others)
        self._spares.clear()


_all: weakref.WeakSet[FileLock] = weakref.WeakSet()


def _for_each(step: Callable[[FileLock], None]) -> Callable[[], None]:
    def hook() -> None:
        for lock in list(_all):
            step(lock)

    return hook


os.register_at_fork(
    before=_for_each(FileLock.before_fork),
    after_in_parent=_for_each(FileLock.after_fork_in_parent),
    after_in_child=_for_each(FileLock.after_fork_in_child),
)


def _open(path: Path) -> int:
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)


def _try(descriptor: int, mode: int) -> bool:
    try:
        fcntl.flock(descriptor, mode | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in {errno.EWOULDBLOCK, errno.EINTR}:
            return False
        raise
    return True
