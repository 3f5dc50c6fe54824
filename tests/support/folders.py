"""Where the tests keep what they throw away: in memory where there is room, since a flush to a disk proves nothing here."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

MEMORY = Path("/dev/shm")
# The servers' data, twice over, and what the tests themselves need beside it.
ROOM_MIN_BYTES = 6 << 30


def throw_away_in_memory() -> None:
    """
    Let temporary files of this process and of those that it starts lie in memory; a TMPDIR of the caller's own stays.

    What a test kills is a process and never the power, so nothing that a fault test promises hangs on a disk.
    """
    if os.environ.get("TMPDIR") or not os.access(MEMORY, os.W_OK):
        return
    if min(shutil.disk_usage(MEMORY).free, _available_bytes()) < ROOM_MIN_BYTES:
        return
    os.environ["TMPDIR"] = str(MEMORY)
    tempfile.tempdir = None


def _available_bytes() -> int:
    lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
    (kilobytes,) = (line.split()[1] for line in lines if line.startswith("MemAvailable:"))
    return int(kilobytes) << 10
