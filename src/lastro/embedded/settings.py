"""The PostgreSQL settings of a ledger, each with its reason, and the file they are written to."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from lastro.embedded.errors import EmbeddedServerError

__all__ = ["available_memory_bytes", "check_extra_settings", "ledger_settings", "render"]

MIB = 1024 * 1024
SHARED_BUFFERS_MAX_MIB = 256
SHARED_BUFFERS_MIN_MIB = 16
# The buffers' share of the memory that is free: a small container keeps room for its backends.
SHARED_BUFFERS_SHARE = 8
_NAME = re.compile(r"[a-z_][a-z0-9_.]*", re.IGNORECASE)
# The server finds itself by these; a caller who changes them loses it.
_OWN = frozenset(
    {"port", "listen_addresses", "unix_socket_directories", "data_directory", "config_file"}
    | {"external_pid_file", "hba_file", "logging_collector", "log_destination"}
)


def ledger_settings(*, memory_bytes: int) -> dict[str, str]:
    """Durable, modest in memory, UTC, and telling about waits. `memory_bytes` is what is free now."""
    share_mib = memory_bytes // MIB // SHARED_BUFFERS_SHARE
    buffers_mib = max(SHARED_BUFFERS_MIN_MIB, min(SHARED_BUFFERS_MAX_MIB, share_mib))
    return {
        # An acknowledged posting survives a power cut. Nobody gets speed by switching these off.
        "fsync": "on",
        "synchronous_commit": "on",
        "full_page_writes": "on",
        # pglz is the one method this build has; whole-page images are most of the WAL after a checkpoint.
        "wal_compression": "pglz",
        # Fewer checkpoints mean fewer whole-page images; recovery after a kill stays at some seconds.
        "checkpoint_timeout": "15min",
        "max_wal_size": "2GB",
        "shared_buffers": f"{buffers_mib}MB",
        "max_connections": "200",
        # Short statements by the thousand: compiling them costs more than it can bring.
        "jit": "off",
        "autovacuum": "on",
        # The tail is filled and emptied all the time: a minute between looks is too long for it.
        "autovacuum_naptime": "10s",
        # One second is kept on purpose. Locks are taken in one order, so a deadlock needs the host's own
        # code; but on a direct account waits of 100 ms are everyday, and each waiter that passes this
        # limit stops the whole lock table for its search. It's also the limit of `log_lock_waits`: a wait
        # of a second is worth a line, thousands of short ones would fill the disk.
        "deadlock_timeout": "1s",
        "log_lock_waits": "on",
        # A client that stalls inside a transaction holds its accounts' rows: others fail after their 3 s
        # lock timeout, so a minute is generous for it.
        "idle_in_transaction_session_timeout": "60s",
        # A backend that waits for a lock notices that its client was killed, and lets go of its own locks.
        "client_connection_check_interval": "2s",
        "shared_preload_libraries": "pg_stat_statements",
        "pg_stat_statements.max": "1000",
        "password_encryption": "scram-sha-256",
        "timezone": "UTC",
        "log_timezone": "UTC",
        "lc_messages": "C",
        "log_line_prefix": "%m [%p] %q%u@%d ",
        # Parameters may hold what is nobody's business.
        "log_parameter_max_length": "0",
        "log_parameter_max_length_on_error": "0",
    }


def check_extra_settings(settings: Mapping[str, str]) -> dict[str, str]:
    """The caller's settings with lower-case names, or an error for a name or value that can't be."""
    checked = {str(name).lower(): str(value) for name, value in settings.items()}
    for name, value in checked.items():
        if not _NAME.fullmatch(name) or any(character in value for character in "\n\r\0"):
            raise EmbeddedServerError(f"{name!r} = {value!r} can't stand in a PostgreSQL configuration file.")
        if name in _OWN:
            raise EmbeddedServerError(f"The embedded server chooses {name!r} by itself; leave it out of `settings`.")
    return checked


def render(settings: Mapping[str, str]) -> str:
    """The text of a configuration file, one setting a line."""
    lines = ["# Written anew at every start; your own changes belong into ALTER SYSTEM."]
    for name, value in settings.items():
        quoted = value.replace("\\", "\\\\").replace("'", "''")
        lines.append(f"{name} = '{quoted}'")
    return "\n".join(lines) + "\n"


def available_memory_bytes() -> int:
    """The memory that is free for this process: the machine's, or what its container is allowed."""
    limits = [_machine_memory_bytes()]
    for name in ("memory.max", "memory/memory.limit_in_bytes"):
        try:
            text = Path("/sys/fs/cgroup", name).read_text(encoding="ascii").strip()
        except OSError:
            continue
        if text.isdigit():
            limits.append(int(text))
    return min(limits)


def _machine_memory_bytes() -> int:
    try:
        text = Path("/proc/meminfo").read_text(encoding="ascii")
    except OSError:
        return SHARED_BUFFERS_MAX_MIB * MIB
    found = re.search(r"^MemAvailable:\s+(\d+) kB", text, re.MULTILINE)
    return int(found[1]) * 1024 if found else SHARED_BUFFERS_MAX_MIB * MIB
