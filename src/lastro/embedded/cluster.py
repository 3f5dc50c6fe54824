"""Creates a database cluster so that it exists wholly or not at all, and checks one that exists."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from lastro.embedded.binaries import MAJOR_VERSION, Binaries
from lastro.embedded.endpoint import DATABASE, USER, Endpoint
from lastro.embedded.errors import EmbeddedServerError
from lastro.embedded.privileges import Account

__all__ = ["SETTINGS_FILE", "UNFINISHED_PREFIX", "check_cluster", "create_cluster", "is_cluster"]

SETTINGS_FILE = "lastro.conf"
UNFINISHED_PREFIX = "data.unfinished-"
_ERROR_TAIL_LINES_MAX = 12


def is_cluster(data: Path) -> bool:
    """Whether a cluster was completed here. A directory that holds anything else is an error."""
    if not data.exists():
        return False
    if (data / "PG_VERSION").exists():
        return True
    if any(data.iterdir()):
        raise EmbeddedServerError(
            f"{data} holds files but no PostgreSQL cluster. Choose another path, or move those files away."
        )
    data.rmdir()
    return False


def check_cluster(data: Path) -> None:
    """Raise when another major version of PostgreSQL wrote the cluster, or a part of it is missing."""
    found = (data / "PG_VERSION").read_text(encoding="ascii", errors="replace").strip()
    if found != MAJOR_VERSION:
        raise EmbeddedServerError(
            f"{data} was written by PostgreSQL {found}; this is PostgreSQL {MAJOR_VERSION}, which can't read it. "
            f"Dump it with PostgreSQL {found} and restore it into a new path, or install the matching version."
        )
    if not (data / "global" / "pg_control").exists():
        raise EmbeddedServerError(
            f"{data} is damaged: global/pg_control is missing. Restore it from a backup; it is never created anew, "
            "because it may hold a ledger."
        )


def create_cluster(data: Path, *, binaries: Binaries, account: Account, endpoint: Endpoint) -> None:
    """
    Make the cluster and its database in a directory beside `data`, then rename it: `data` is always complete.

    Whatever an interrupted attempt left is removed first. The caller holds the start lock.
    """
    for leftover in data.parent.glob(f"{UNFINISHED_PREFIX}*"):
        shutil.rmtree(leftover)
    workplace = Path(tempfile.mkdtemp("", UNFINISHED_PREFIX, data.parent))
    try:
        account.own(workplace)
        unfinished = workplace / "data"
        unfinished.mkdir(mode=0o700)
        account.own(unfinished)
        _initialise(unfinished, binaries=binaries, account=account, password=endpoint.password)
        unfinished.replace(data)
        _sync_directory(data.parent)
    finally:
        shutil.rmtree(workplace, ignore_errors=True)


def _initialise(data: Path, *, binaries: Binaries, account: Account, password: str) -> None:
    secret = data.parent / "password"
    secret.touch(mode=0o600)
    secret.write_text(password + "\n", encoding="ascii")
    account.own(secret)
    argv = [
        *(str(binaries.path("initdb")), "-D", str(data), "-U", USER, "-A", "scram-sha-256"),
        *("--pwfile", str(secret), "--encoding", "UTF8", "--locale", "C"),
        # The same order and case rules on every machine, whatever locales it has.
        *("--locale-provider", "builtin", "--builtin-locale", "C.UTF-8", "--data-checksums"),
        *("--set", "password_encryption=scram-sha-256", "--no-instructions"),
    ]
    _expect_success(account.run(argv), "initdb")
    argv = [str(binaries.path("postgres")), "--single", "-j", "-D", str(data), "postgres"]
    done = account.run(argv, text=f"CREATE DATABASE {DATABASE};\n")
    # The stand-alone server reports a failed statement, yet ends with 0.
    failed = "ERROR:" in done.stderr or "FATAL:" in done.stderr
    _expect_success(done, f"CREATE DATABASE {DATABASE}", failed=failed)
    with (data / "postgresql.conf").open("a", encoding="utf-8") as stream:
        stream.write(f"\ninclude_if_exists '{SETTINGS_FILE}'\n")
        stream.flush()
        os.fsync(stream.fileno())


def _expect_success(done: subprocess.CompletedProcess[str], what: str, *, failed: bool = False) -> None:
    if done.returncode == 0 and not failed:
        return
    said = "\n".join((done.stdout + "\n" + done.stderr).strip().splitlines()[-_ERROR_TAIL_LINES_MAX:])
    raise EmbeddedServerError(
        f"{what} failed (exit code {done.returncode}); nothing is left of the attempt. It said:\n{said}"
    )


def _sync_directory(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
