"""Where a server listens and with which password: chosen once, stored in a file only its owner reads."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import socket
import tempfile
from dataclasses import asdict, dataclass, field
from pathlib import Path
from urllib.parse import quote

from lastro.embedded.errors import EmbeddedServerError
from lastro.embedded.privileges import Account

__all__ = [
    "DATABASE",
    "LOOPBACK",
    "PASSWORD_FILE",
    "STATE_FILE",
    "USER",
    "Endpoint",
    "clear_sockets",
    "free_port",
    "port_is_free",
    "socket_directory",
]

USER = "lastro"
DATABASE = "lastro"
LOOPBACK = "127.0.0.1"
STATE_FILE = "server.json"
PASSWORD_FILE = "pgpass"  # noqa: S105 - a file's name
PASSWORD_BYTES = 24
# sockaddr_un.sun_path holds 108 bytes, the last of them a zero.
SOCKET_PATH_MAX_BYTES = 107
_SOCKET_NAME_BYTES = len("/.s.PGSQL.65535")
_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-")


@dataclass(frozen=True, kw_only=True)
class Endpoint:
    """A server's port, password and socket directory (None: TCP only), and the extra settings it was started with."""

    port: int
    password: str = field(repr=False)
    socket_directory: str | None = None
    settings: dict[str, str] = field(default_factory=dict)

    @classmethod
    def new(cls) -> Endpoint:
        """A free port and a fresh random password."""
        return cls(port=free_port(), password=secrets.token_urlsafe(PASSWORD_BYTES))

    @classmethod
    def load(cls, home: Path) -> Endpoint | None:
        """The stored endpoint, or None where there is none yet."""
        file = home / STATE_FILE
        try:
            return cls(**json.loads(file.read_text(encoding="utf-8")))
        except FileNotFoundError:
            return None
        except (ValueError, TypeError):
            raise EmbeddedServerError(
                f"{file} can't be read as the server's port and password. Restore it from a backup."
            ) from None

    def store(self, home: Path) -> None:
        """Write it down, all or nothing, readable by the caller's user only; for libpq's own programs too."""
        _write_private(home / STATE_FILE, json.dumps(asdict(self)))
        _write_private(home / PASSWORD_FILE, f"*:*:*:{USER}:{self.password}\n")

    @property
    def socket_file(self) -> Path | None:
        """The server's Unix socket."""
        if self.socket_directory is None:
            return None
        return Path(self.socket_directory, f".s.PGSQL.{self.port}")

    @property
    def url(self) -> str:
        """A libpq URL over the Unix socket, or over loopback where there is no socket."""
        if self.socket_directory is None:
            return self.tcp_url
        host = quote(self.socket_directory, safe="/")
        return f"postgresql://{USER}:{self.password}@/{DATABASE}?host={host}&port={self.port}"

    @property
    def tcp_url(self) -> str:
        """A libpq URL over loopback."""
        return f"postgresql://{USER}:{self.password}@{LOOPBACK}:{self.port}/{DATABASE}"


def free_port() -> int:
    """A TCP port that nobody listens on at this moment."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.bind((LOOPBACK, 0))
        return int(probe.getsockname()[1])


def port_is_free(port: int) -> bool:
    """Whether a server could listen on the port now."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as PostgreSQL does
        try:
            probe.bind((LOOPBACK, port))
            probe.listen(1)
        except OSError:
            return False
    return True


def socket_directory(home: Path, *, account: Account, before: str | None) -> str | None:
    """
    A private directory (0700, the server's user) for the Unix socket: `home/run`, or a short one when that is too long.

    None where no file system here takes a socket. `before` is the last start's directory, kept when still good.
    """
    if before is not None and _usable(Path(before), account):
        return before
    if _made_usable(home / "run", account):
        return str(home / "run")
    for parent in (tempfile.gettempdir(), "/tmp"):  # noqa: S108 - mkdtemp makes a private one
        with contextlib.suppress(OSError):
            directory = Path(tempfile.mkdtemp("", "lastro-", parent))
            account.own(directory)
            if _made_usable(directory, account):
                return str(directory)
            directory.rmdir()
    return None


def clear_sockets(directory: str | None, *, home: Path) -> None:
    """Remove what a dead server left in its socket directory, and the directory where it lies outside `home`."""
    if directory is None:
        return
    with contextlib.suppress(OSError):
        for file in Path(directory).glob(".s.PGSQL.*"):
            file.unlink()
        if Path(directory).parent != home:
            Path(directory).rmdir()


def _made_usable(directory: Path, account: Account) -> bool:
    with contextlib.suppress(OSError):
        # One that was there before keeps its owner: it serves as it is, or not at all.
        if directory.exists():
            return _usable(directory, account)
        directory.mkdir(mode=0o700)
        account.own(directory)
        if _usable(directory, account):
            return True
        directory.rmdir()
        return False
    with contextlib.suppress(OSError):
        directory.rmdir()
    return False


def _usable(directory: Path, account: Account) -> bool:
    # libpq splits hosts at commas and the server's list has quoting rules of its own: plain names only.
    if not set(str(directory)) <= _PLAIN:
        return False
    if len(os.fsencode(directory)) + _SOCKET_NAME_BYTES > SOCKET_PATH_MAX_BYTES:
        return False
    try:
        status = directory.lstat()
        if status.st_mode & 0o170777 != 0o040700 or not account.owns(directory):
            return False
        trial = directory / ".trial"
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
            probe.bind(str(trial))
        trial.unlink()
    except OSError:
        return False
    return True


def _write_private(file: Path, text: str) -> None:
    fresh = file.with_name(file.name + ".new")
    fresh.unlink(missing_ok=True)
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
        stream.write(text)
        stream.flush()
        os.fsync(stream.fileno())
    fresh.replace(file)
