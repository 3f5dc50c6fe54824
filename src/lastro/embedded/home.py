"""Whose directory it is: a server lives in one that it made, that is empty, or that is a server's already."""

from __future__ import annotations

import os
from pathlib import Path

from lastro.embedded.cluster import UNFINISHED_PREFIX
from lastro.embedded.endpoint import PASSWORD_FILE, STATE_FILE
from lastro.embedded.errors import EmbeddedServerError
from lastro.embedded.privileges import user_name

__all__ = ["START_LOCK_FILE", "make_home", "refuse_foreign", "refused_to_us"]

START_LOCK_FILE = "start.lock"
_OWN = frozenset(
    {START_LOCK_FILE, "users.lock", "server.lock", "keep", "data", "run", "server.log", "server.log.1"}
    | {STATE_FILE, f"{STATE_FILE}.new", PASSWORD_FILE, f"{PASSWORD_FILE}.new"}
)
_NAMED_IN_ERROR_MAX = 3


def make_home(path: Path) -> None:
    """Make the directory where there is none; refuse one that is somebody else's. One that exists keeps its mode."""
    if path.exists():
        refuse_foreign(path)
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        path.mkdir()
    except FileExistsError:  # another process was quicker
        refuse_foreign(path)
        return
    # Root's server is another user, who must pass through here but need not look around.
    path.chmod(0o711 if os.geteuid() == 0 else 0o700)


def refuse_foreign(path: Path) -> None:
    """Raise when the directory is `/`, or holds something and nothing says that it is an embedded server's."""
    if path.resolve() == Path(path.anchor):
        raise EmbeddedServerError(
            "The embedded server makes no database in `/`. Name a directory of its own: "
            "embedded:///absolute/path or embedded:relative/path."
        )
    if not path.is_dir():
        raise EmbeddedServerError(f"{path} is no directory. Name a directory of the server's own.")
    found = {entry.name for entry in path.iterdir()}
    foreign = sorted(name for name in found if not _is_own(name))
    # Where a server lives, somebody may have put a note beside it; elsewhere a `data` or a `run` proves nothing.
    if foreign and STATE_FILE not in found:
        named = ", ".join(foreign[:_NAMED_IN_ERROR_MAX]) + (", …" if len(foreign) > _NAMED_IN_ERROR_MAX else "")
        raise EmbeddedServerError(
            f"{path} holds files that are no embedded server's ({named}), and it is left as it is. "
            "Name a directory that is empty or isn't there yet."
        )


def refused_to_us(path: Path) -> str | None:
    """Where the directory is another user's: a sentence that names both users and says what to do. Else None."""
    try:
        owner = path.stat().st_uid
    except OSError:
        return None
    if owner == os.geteuid():
        return None
    return (
        f"{path} belongs to {user_name(owner)}, and this process runs as {user_name(os.geteuid())}, "
        "who has no right to it. Run as the owner (or as root), or choose another path."
    )


def _is_own(name: str) -> bool:
    return name in _OWN or name.startswith(UNFINISHED_PREFIX)
