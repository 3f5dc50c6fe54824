"""Decides which user the server runs as, and starts its programs as that user."""

from __future__ import annotations

import json
import os
import pwd
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path

from lastro.embedded.errors import EmbeddedServerError

__all__ = ["Account", "leave_to_owner", "server_account", "user_name", "with_reach"]

# PostgreSQL refuses root. `nobody` exists on every machine; another user may be named here.
USER_VARIABLE = "LASTRO_EMBEDDED_USER"
USER_DEFAULT = "nobody"
# <linux/capability.h>: reading only is enough nearly always; some containers grant only the other.
CAP_DAC_READ_SEARCH = 2
CAP_DAC_OVERRIDE = 1
_REACHES: tuple[int | None, ...] = (None, CAP_DAC_READ_SEARCH, CAP_DAC_OVERRIDE)
PROGRAM_WAIT_S = 300
_LAUNCHER = Path(__file__).with_name("launcher.py")


@dataclass(frozen=True, kw_only=True)
class Account:
    """The user a server runs as; `uid` None means the caller's own, `capability` what root lends it."""

    name: str
    uid: int | None = None
    gid: int | None = None
    capability: int | None = None

    def own(self, path: Path) -> None:
        """Give a file or directory to this user."""
        if self.uid is not None and self.gid is not None:
            os.chown(path, self.uid, self.gid, follow_symlinks=False)

    def owns(self, path: Path) -> bool:
        """Whether the file or directory belongs to this user."""
        return path.lstat().st_uid == (os.geteuid() if self.uid is None else self.uid)

    def run(self, argv: list[str], *, text: str = "") -> subprocess.CompletedProcess[str]:
        """Run a program to its end as this user, `text` being its standard input; at most PROGRAM_WAIT_S."""
        return _launch(self._order("run", argv=argv, input=text))

    def spawn(self, argv: list[str], *, log: Path, lock: int) -> int:
        """Start a program detached and return its process id; it inherits the `lock` descriptor."""
        order = self._order("spawn", argv=argv, log=str(log), lock=lock)
        done = _launch(order, descriptors=(lock,))
        if done.returncode != 0:
            raise EmbeddedServerError(f"Could not start {argv[0]} as user {self.name}: {done.stderr.strip()}")
        return int(json.loads(done.stdout))

    def unreachable(self, paths: list[tuple[Path, str]]) -> list[str]:
        """The paths this user can't `execute`, `read` or `enter`, whichever stands beside each."""
        done = _launch(self._order("probe", argv=[], paths=[(str(path), mode) for path, mode in paths]))
        if done.returncode != 0:
            raise EmbeddedServerError(
                f"This process is root but can't become user {self.name}, and PostgreSQL refuses to run as root: "
                f"{done.stderr.strip()}. Run as an ordinary user, or allow SETUID, SETGID and CHOWN in this container."
            )
        return [str(path) for path in json.loads(done.stdout)]

    def _order(self, action: str, **rest: object) -> dict[str, object]:
        names = ("PATH", "LD_LIBRARY_PATH", "TMPDIR")
        # A clean environment: PGDATA, PGPORT and the caller's secrets have no business in the server.
        env = {name: os.environ[name] for name in names if name in os.environ} | {"LC_ALL": "C"}
        who = {"uid": self.uid, "gid": self.gid, "capability": self.capability}
        return {"action": action, "env": env, **who, **rest}


def server_account(data: Path) -> Account:
    """The user for a cluster at `data`: its owner if it exists, else the caller, or USER_DEFAULT for root."""
    owner = data.stat().st_uid if data.exists() else None
    if os.geteuid() != 0:
        if owner not in {None, os.geteuid()}:
            raise EmbeddedServerError(
                f"{data} belongs to {user_name(owner)}, and this process runs as {user_name(os.geteuid())}. "
                "Run as that user (or as root), or choose another path."
            )
        if owner is None:
            _require_user_entry(os.geteuid())
        return Account(name=user_name(os.geteuid()))
    wanted = os.environ.get(USER_VARIABLE, USER_DEFAULT)
    try:
        entry = pwd.getpwnam(wanted) if owner is None else pwd.getpwuid(owner)
    except KeyError:
        raise EmbeddedServerError(
            f"PostgreSQL refuses to run as root, and there is no user {wanted if owner is None else owner} to run it. "
            f"Name an existing unprivileged user in {USER_VARIABLE}."
        ) from None
    if entry.pw_uid == 0:
        raise EmbeddedServerError(
            f"PostgreSQL refuses to run as root, but {data if owner == 0 else USER_VARIABLE} names root. "
            f"Use an unprivileged user (for an existing cluster: chown -R {USER_DEFAULT} {data})."
        )
    return Account(name=entry.pw_name, uid=entry.pw_uid, gid=entry.pw_gid)


def _require_user_entry(uid: int) -> None:
    """Making a cluster takes a user with a name; containers often run as a bare number."""
    try:
        pwd.getpwuid(uid)
    except KeyError:
        raise EmbeddedServerError(
            f"This process runs as uid {uid}, which has no entry in /etc/passwd, and PostgreSQL's initdb needs one. "
            f"Add it (useradd --uid {uid} lastro), or run as a user that exists."
        ) from None


def leave_to_owner(directory: Path) -> None:
    """Give the files that root made in another user's directory to that user, who must go on using them."""
    status = directory.stat()
    if os.geteuid() != 0 or status.st_uid == 0:
        return
    for entry in directory.iterdir():
        if entry.is_symlink() or not entry.is_file():
            continue
        descriptor = os.open(entry, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            made = os.fstat(descriptor)
            # A second link might be a root's file that the directory's owner would like to have.
            if made.st_uid == 0 and made.st_nlink == 1:
                os.fchown(descriptor, status.st_uid, status.st_gid)
        finally:
            os.close(descriptor)


def with_reach(account: Account, paths: list[tuple[Path, str]]) -> Account:
    """The account with the least capability that lets it use all the paths, or an error that names them."""
    if account.uid is None:
        missing = account.unreachable(paths)
        reaches: tuple[int | None, ...] = ()
    else:
        missing, reaches = [], _REACHES
    for capability in reaches:
        candidate = replace(account, capability=capability)
        try:
            missing = candidate.unreachable(paths)
        except EmbeddedServerError:
            if capability is None:
                raise
            continue  # this container doesn't have the capability to lend
        if not missing:
            return candidate
    if not missing:
        return account
    raise EmbeddedServerError(
        f"User {account.name}, as whom PostgreSQL runs, can't reach {', '.join(missing)}. "
        "Put the virtualenv and the data where that user may enter (not below a directory of mode 0700), "
        f"name another user in {USER_VARIABLE}, or run as an ordinary user who owns both."
    )


def _launch(order: dict[str, object], *, descriptors: tuple[int, ...] = ()) -> subprocess.CompletedProcess[str]:
    # `-I -S`: the caller's site-packages and environment have no say in a process that is root at first.
    argv = [sys.executable, "-I", "-S", str(_LAUNCHER)]
    try:
        return subprocess.run(
            argv,
            input=json.dumps(order),
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=PROGRAM_WAIT_S,
            check=False,
            pass_fds=descriptors,
        )
    except subprocess.TimeoutExpired:
        raise EmbeddedServerError(
            f"A program of the embedded server did not end within {PROGRAM_WAIT_S} s. "
            "Is the disk of the data directory responding?"
        ) from None
    except OSError as error:
        raise EmbeddedServerError(f"Could not start {sys.executable}: {error.strerror}") from None


def user_name(uid: int | None) -> str:
    """`user NAME`, or `uid NUMBER` where the system has no name for it."""
    try:
        return f"user {pwd.getpwuid(-1 if uid is None else uid).pw_name}"
    except (KeyError, OverflowError):
        return f"uid {uid}"
