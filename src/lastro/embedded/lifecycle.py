"""Starts a cluster's server process, waits until it answers, and ends it; the caller holds the start lock."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import Literal

from lastro.embedded.binaries import Binaries, find_binaries
from lastro.embedded.cluster import SETTINGS_FILE, check_cluster, create_cluster, is_cluster
from lastro.embedded.endpoint import (
    DATABASE,
    LOOPBACK,
    USER,
    Endpoint,
    clear_sockets,
    free_port,
    port_is_free,
    socket_directory,
)
from lastro.embedded.errors import EmbeddedServerError
from lastro.embedded.locks import FileLock
from lastro.embedded.postmaster import (
    Answer,
    ask,
    find_postmaster,
    forget_stale_postmaster,
    is_alive,
    send_signal,
)
from lastro.embedded.privileges import Account, server_account, with_reach
from lastro.embedded.settings import available_memory_bytes, ledger_settings, render

__all__ = ["StopMode", "answers", "end", "launch", "log_tail"]

StopMode = Literal["fast", "immediate"]

# A recovery reads up to max_wal_size of log: minutes on a slow disk. While it says so, it is given the time.
READY_WAIT_S = 600.0
# A process that says nothing at all hangs.
SILENCE_WAIT_S = 30.0
# After its postmaster was killed, a backend needs up to some seconds to notice and end.
ORPHAN_WAIT_S = 30.0
FAST_STOP_WAIT_S = 60.0
IMMEDIATE_STOP_WAIT_S = 20.0
PORT_ATTEMPTS_MAX = 5
POLL_S = 0.01
LOG_KEPT_MAX_BYTES = 16 * 1024 * 1024
LOG_TAIL_MAX_BYTES = 64 * 1024
_PORT_TAKEN = ("could not bind IPv4", "could not create any TCP/IP sockets")
_ORPHANS_LEFT = ("pre-existing shared memory block", "is still in use")


def launch(home: Path, *, settings: dict[str, str]) -> None:
    """Create the cluster if there is none, start its server and wait until it takes connections."""
    binaries, data = find_binaries(), home / "data"
    # Held by the server and every backend as long as one of them lives, whatever became of their pids.
    life = FileLock(home / "server.lock")
    life.exclude(wait_s=ORPHAN_WAIT_S)
    try:
        exists = is_cluster(data)
        if exists:
            check_cluster(data)
        account = server_account(data)
        endpoint = _endpoint(home, account=account, settings=settings, exists=exists)
        account = _reaching(account, home=home, binaries=binaries, endpoint=endpoint)
        if not exists:
            create_cluster(data, binaries=binaries, account=account, endpoint=endpoint)
        forget_stale_postmaster(data)
        _rotate_log(home / "server.log")
        _start(home, binaries=binaries, account=account, endpoint=endpoint, lock=life.descriptor)
    finally:
        life.release()


def answers(home: Path) -> bool:
    """Whether the cluster's server lives and takes connections, after waiting for one that starts or stops."""
    began = time.monotonic()
    heard = began
    while (pid := find_postmaster(home / "data")) is not None:
        answer = _ask_anywhere(home)
        if answer is Answer.READY:
            return True
        now = time.monotonic()
        heard = now if answer is Answer.NOT_NOW else heard
        if now - heard > SILENCE_WAIT_S or now - began > READY_WAIT_S:
            raise EmbeddedServerError(
                f"The server of {home} (process {pid}) lives but takes no connections after {now - began:.0f} s. "
                f"Its log is {home / 'server.log'}; ending the process by SIGQUIT loses nothing committed."
            )
        time.sleep(POLL_S)
    return False


def end(home: Path, *, mode: StopMode) -> None:
    """Shut the server down and wait until its last process is gone; nothing when it doesn't run."""
    data = home / "data"
    steps: dict[StopMode, float] = {"fast": FAST_STOP_WAIT_S, "immediate": IMMEDIATE_STOP_WAIT_S}
    if mode not in steps:
        raise EmbeddedServerError(f"stop() takes mode 'fast' or 'immediate', not {mode!r}.")
    if mode == "immediate":
        del steps["fast"]
    for step, wait_s in steps.items():
        pid = find_postmaster(data)
        if pid is None:
            break
        send_signal(pid, step)
        if _gone(home, pid, wait_s=wait_s):
            break
    else:
        raise EmbeddedServerError(f"The server of {home} did not end; its log is {home / 'server.log'}.")
    endpoint = Endpoint.load(home)
    if endpoint is not None and find_postmaster(data) is None:
        clear_sockets(endpoint.socket_directory, home=home)


def log_tail(home: Path, *, lines: int, start: int = 0) -> str:
    """The log's last lines, at most LOG_TAIL_MAX_BYTES, from byte `start` on; empty without a log."""
    try:
        with (home / "server.log").open("rb") as stream:
            size = stream.seek(0, 2)
            stream.seek(max(start, size - LOG_TAIL_MAX_BYTES))
            text = stream.read(LOG_TAIL_MAX_BYTES).decode("utf-8", "replace")
    except FileNotFoundError:
        return ""
    return "\n".join(text.splitlines()[-lines:])


def _endpoint(home: Path, *, account: Account, settings: dict[str, str], exists: bool) -> Endpoint:
    stored = Endpoint.load(home)
    if stored is None and exists:
        raise EmbeddedServerError(
            f"{home / 'server.json'} is missing: it holds the password of the cluster in {home / 'data'}. "
            "Restore it together with the data."
        )
    endpoint = stored or Endpoint.new()
    clear_sockets(endpoint.socket_directory, home=home)
    directory = socket_directory(home, account=account, before=endpoint.socket_directory)
    endpoint = replace(endpoint, socket_directory=directory, settings=settings)
    if not port_is_free(endpoint.port):
        endpoint = replace(endpoint, port=free_port())
    endpoint.store(home)
    return endpoint


def _reaching(account: Account, *, home: Path, binaries: Binaries, endpoint: Endpoint) -> Account:
    modes = {"postgres": "execute", "initdb": "execute"}
    paths = [(file, modes.get(file.name, "read")) for file in binaries.needed_by_server()]
    paths.append((home, "enter"))
    if endpoint.socket_directory is not None:
        paths.append((Path(endpoint.socket_directory), "enter"))
    return with_reach(account, paths)


def _start(home: Path, *, binaries: Binaries, account: Account, endpoint: Endpoint, lock: int) -> None:
    data, log = home / "data", home / "server.log"
    argv = [str(binaries.path("postgres")), "-D", str(data)]
    orphans_until = time.monotonic() + ORPHAN_WAIT_S
    ports_tried = 1
    while True:
        _write_settings(data, account=account, endpoint=endpoint)
        log_start = log.stat().st_size if log.exists() else 0
        pid = account.spawn(argv, log=log, lock=lock)
        if _becomes_ready(pid, data=data, endpoint=endpoint):
            return
        said = log_tail(home, lines=20, start=log_start)
        if any(phrase in said for phrase in _PORT_TAKEN) and ports_tried < PORT_ATTEMPTS_MAX:
            ports_tried += 1
            endpoint = replace(endpoint, port=free_port())
            endpoint.store(home)
        elif all(word in said for word in _ORPHANS_LEFT) and time.monotonic() < orphans_until:
            time.sleep(POLL_S)
        else:
            raise EmbeddedServerError(f"PostgreSQL did not start on {data}. Its log ({log}) ends with:\n{said}")


def _becomes_ready(pid: int, *, data: Path, endpoint: Endpoint) -> bool:
    deadline = time.monotonic() + READY_WAIT_S
    while time.monotonic() < deadline:
        if find_postmaster(data) == pid and _ask(endpoint) is Answer.READY:
            return True
        if not is_alive(pid):
            return False
        time.sleep(POLL_S)
    raise EmbeddedServerError(
        f"PostgreSQL (process {pid}) was still not ready after {READY_WAIT_S:.0f} s; it goes on starting. "
        f"See {data.parent / 'server.log'}, and try again later."
    )


def _write_settings(data: Path, *, account: Account, endpoint: Endpoint) -> None:
    own = {
        "listen_addresses": LOOPBACK,
        "port": str(endpoint.port),
        "unix_socket_directories": endpoint.socket_directory or "",
        "unix_socket_permissions": "0700",
    }
    chosen = ledger_settings(memory_bytes=available_memory_bytes()) | endpoint.settings | own
    fresh = data / f"{SETTINGS_FILE}.new"
    fresh.unlink(missing_ok=True)
    fresh.touch(mode=0o600)
    fresh.write_text(render(chosen), encoding="utf-8")
    account.own(fresh)
    fresh.replace(data / SETTINGS_FILE)


def _ask(endpoint: Endpoint) -> Answer:
    return ask(socket_file=endpoint.socket_file, port=endpoint.port, user=USER, database=DATABASE)


def _ask_anywhere(home: Path) -> Answer:
    endpoint = Endpoint.load(home)
    if endpoint is None:
        return Answer.SILENT
    answer = _ask(endpoint)
    if answer is Answer.SILENT and endpoint.socket_file and not endpoint.socket_file.exists():
        # A cleaner of temporary files took the socket away; loopback still leads to the server.
        endpoint = replace(endpoint, socket_directory=None)
        answer = _ask(endpoint)
        if answer is Answer.READY:
            endpoint.store(home)
    return answer


def _gone(home: Path, pid: int, *, wait_s: float) -> bool:
    life = FileLock(home / "server.lock")
    deadline = time.monotonic() + wait_s
    while time.monotonic() < deadline:
        if not is_alive(pid) and life.try_exclude():
            life.release()
            return True
        time.sleep(POLL_S)
    return False


def _rotate_log(log: Path) -> None:
    if log.exists() and log.stat().st_size > LOG_KEPT_MAX_BYTES:
        log.replace(log.with_name("server.log.1"))
