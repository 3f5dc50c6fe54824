"""Servers that were killed, left behind or disturbed start again, with every committed row."""

from __future__ import annotations

import fcntl
import os
import signal
import socket
from contextlib import ExitStack, closing
from pathlib import Path

import psycopg
import pytest

from lastro.embedded import EmbeddedServer, EmbeddedServerError, lifecycle, postmaster
from lastro.embedded.locks import FileLock


def _kill_postmaster(server: EmbeddedServer) -> int:
    pid = server.pid
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    while postmaster.is_alive(pid):
        pass
    return pid


def test_a_killed_server_comes_back_with_what_was_committed(home: Path) -> None:
    """Kill -9 of the postmaster with sessions open: start() waits for the orphans and recovers."""
    server = EmbeddedServer(home).start()
    with ExitStack() as stack:
        sessions = [stack.enter_context(closing(psycopg.connect(server.url, autocommit=True))) for _ in range(8)]
        sessions[0].execute("CREATE TABLE fact (n int)")
        for number, session in enumerate(sessions):
            session.execute("INSERT INTO fact VALUES (%s)", [number])
        sessions[1].execute("BEGIN; INSERT INTO fact VALUES (99)")
        dead = _kill_postmaster(server)
        assert not server.running
        server.start()
        assert server.pid != dead
        with psycopg.connect(server.url) as connection:
            assert connection.execute("SELECT count(*), max(n) FROM fact").fetchone() == (8, 7)
    server.stop()


def test_a_start_waits_for_orphaned_backends(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A backend that outlives its postmaster keeps the next server away, by name, until it ends."""
    server = EmbeddedServer(home).start()
    with closing(psycopg.connect(server.url)) as connection:
        backend = connection.info.backend_pid
        os.kill(backend, signal.SIGSTOP)
        _kill_postmaster(server)
        monkeypatch.setattr(lifecycle, "ORPHAN_WAIT_S", 0.2)
        with pytest.raises(EmbeddedServerError, match="still locked by another process"):
            server.start()
        os.kill(backend, signal.SIGCONT)
        monkeypatch.undo()
        assert server.start().running
    server.stop()


def test_a_pid_that_now_belongs_to_a_stranger_is_not_taken_for_the_server(home: Path, stranger: int) -> None:
    """After a reboot the number in postmaster.pid may be anybody's: it is neither trusted nor signalled."""
    server = EmbeddedServer(home).start()
    pid_file = home / "data" / "postmaster.pid"
    text = pid_file.read_text()
    dead = _kill_postmaster(server)
    life = FileLock(home / "server.lock")
    life.exclude(wait_s=30)  # until the orphans are gone
    life.release()
    pid_file.write_text(text.replace(str(dead), str(stranger), 1))
    # The socket's own lock file says the same, and PostgreSQL reads it as well.
    for lock in Path(server.path, "run").glob("*.lock"):
        lock.write_text(lock.read_text().replace(str(dead), str(stranger), 1))
    assert not server.running
    server.stop()
    assert postmaster.is_alive(stranger)
    assert server.start().pid != stranger
    psycopg.connect(server.url).close()
    server.stop()
    assert postmaster.is_alive(stranger)


def test_a_killed_backend_makes_the_server_recover_by_itself(home: Path) -> None:
    """start() finds a server that is recovering alive, and waits for it instead of starting a second."""
    server = EmbeddedServer(home).start()
    pid = server.pid
    connection = psycopg.connect(server.url)
    os.kill(connection.info.backend_pid, signal.SIGKILL)
    with pytest.raises(psycopg.OperationalError):
        connection.execute("SELECT 1")
    connection.close()
    assert server.start().pid == pid
    psycopg.connect(server.url).close()
    server.stop()


def test_the_server_and_its_backends_hold_the_life_lock(home: Path) -> None:
    """The lock that says "some process of this server lives" can't be taken while one does, and can after."""
    life = FileLock(home / "server.lock")
    with EmbeddedServer(home):
        assert not life.try_exclude()
    assert life.try_exclude()
    life.release()


def test_an_immediate_stop_loses_nothing_committed(home: Path) -> None:
    """stop("immediate") is a crash on purpose; open sessions don't hold it up."""
    server = EmbeddedServer(home).start()
    with closing(psycopg.connect(server.url, autocommit=True)) as connection:
        connection.execute("CREATE TABLE fact AS SELECT 1 AS n")
        server.stop("immediate")
    with server, psycopg.connect(server.url) as connection:
        assert connection.execute("SELECT n FROM fact").fetchone() == (1,)
    with pytest.raises(EmbeddedServerError, match="fast"):
        server.stop("smart")  # type: ignore[arg-type]


def test_a_full_server_still_counts_as_running(home: Path) -> None:
    """When every connection is taken, start() neither waits nor starts another."""
    server = EmbeddedServer(home).start(settings={"max_connections": "4", "superuser_reserved_connections": "0"})
    with ExitStack() as stack:
        for _ in range(4):
            stack.enter_context(psycopg.connect(server.url))
        with pytest.raises(psycopg.OperationalError, match="too many clients"):
            psycopg.connect(server.url)
        assert EmbeddedServer(home).start().pid == server.pid
    server.stop()


def test_a_port_that_was_taken_meanwhile_is_chosen_anew(home: Path) -> None:
    """A stranger on the stored port moves the server to another one; the data are the same."""
    server = EmbeddedServer(home).start()
    port = int(server.environment()["PGPORT"])
    server.stop()
    with socket.create_server(("127.0.0.1", port), reuse_port=False), server:
        assert int(server.environment()["PGPORT"]) != port
        psycopg.connect(server.tcp_url).close()


def test_a_port_lost_at_the_last_moment_is_chosen_anew(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between the look and the server's own bind anybody may come: PostgreSQL's refusal is understood."""
    server = EmbeddedServer(home).start()
    port = int(server.environment()["PGPORT"])
    server.stop()
    monkeypatch.setattr(lifecycle, "port_is_free", lambda _port: True)
    with socket.create_server(("127.0.0.1", port)), server:
        assert int(server.environment()["PGPORT"]) != port
        assert "could not bind IPv4" in server.log_tail()


def test_settings_may_change_between_starts(home: Path) -> None:
    """Extra settings hold for one run; asking for others restarts a server that nobody else uses."""
    server = EmbeddedServer(home)

    def show() -> object:
        with psycopg.connect(server.url) as connection:
            return connection.execute("SHOW max_connections").fetchone()

    server.start(settings={"max_connections": "50"})
    assert show() == ("50",)
    first = server.pid
    assert server.start(settings={"max_connections": "50"}).pid == first
    assert server.start().pid == first
    server.start(settings={"max_connections": "60"})
    assert show() == ("60",)
    server.stop()
    with server:
        assert show() == ("200",)


def test_settings_are_not_changed_under_another_user(home: Path) -> None:
    """A server in use isn't restarted; the error says so, and both go on using it."""
    with EmbeddedServer(home) as other, EmbeddedServer(home) as server:
        pid = server.pid
        with pytest.raises(EmbeddedServerError, match="others use it"):
            server.start(settings={"max_connections": "60"})
        assert other.pid == pid
        other.release()
        assert server.running


def test_a_removed_directory_is_no_error_at_the_end(home: Path) -> None:
    """release() after somebody deleted everything leaves quietly."""
    server = EmbeddedServer(home).start()
    server.stop("immediate")
    server._users.share(wait_s=1)
    home.rename(home.with_name("moved"))
    server.release()
    assert not server._users.held


def test_a_socket_that_was_cleaned_away_leaves_loopback(home: Path) -> None:
    """When a cleaner of temporary files took the socket, the next start() hands out the other way in."""
    server = EmbeddedServer(home).start()
    directory = Path(server.environment()["PGHOST"])
    for file in directory.glob(".s.*"):
        file.unlink()
    assert server.start().url == server.tcp_url
    psycopg.connect(server.url).close()
    server.stop()


def test_a_lock_that_is_never_given_back_is_named(home: Path) -> None:
    """Waiting ends at its limit with the file's name, and without having taken anything."""
    home.mkdir()
    with (home / "start.lock").open("w") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        lock = FileLock(home / "start.lock")
        with pytest.raises(EmbeddedServerError, match=r"start\.lock was still locked"):
            lock.exclude(wait_s=0.1)
        assert not lock.held
