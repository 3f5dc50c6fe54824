"""Processes share one server; the last one out stops it, and nobody stops it under another."""

from __future__ import annotations

import multiprocessing
import os
import threading
import time
from collections.abc import Callable
from multiprocessing.context import BaseContext
from pathlib import Path

import psycopg
import pytest

from lastro.embedded import EmbeddedServer
from lastro.embedded.postmaster import is_alive
from tests.embedded.player import WAIT_S, Player, stay, visit


def test_processes_that_start_at_the_same_moment_get_one_server(home: Path, play: Callable[[], Player]) -> None:
    """Four starts of a directory that doesn't exist yet make one cluster and one server."""
    players = [play() for _ in range(4)]
    for player in players:
        player.tell("start")
    answers = {player.answer() for player in players}
    assert answers == {f"done {EmbeddedServer(home).pid}"}
    assert [path.name for path in home.glob("data*")] == ["data"]


def test_threads_that_start_at_the_same_moment_get_one_server(home: Path) -> None:
    """One object, or one for each thread: the same server."""
    servers = [EmbeddedServer(home) for _ in range(2)]
    barrier = threading.Barrier(6)
    pids: list[int | None] = []

    def start(server: EmbeddedServer) -> None:
        barrier.wait()
        pids.append(server.start().pid)

    threads = [threading.Thread(target=start, args=(servers[number % 2],)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(pids) == 6
    assert len(set(pids)) == 1
    servers[0].release()
    assert servers[1].running
    servers[1].release()
    assert not servers[1].running


def test_the_last_one_out_stops_the_server(home: Path, play: Callable[[], Player]) -> None:
    """A user's ordinary end leaves the server to the others; the last one's end stops it."""
    first, second = play(), play()
    first.do("start")
    second.do("start")
    first.leave()
    assert EmbeddedServer(home).running
    second.leave()
    assert not EmbeddedServer(home).running


def test_a_kept_server_outlives_its_users_until_it_is_stopped(home: Path, play: Callable[[], Player]) -> None:
    """keep=True leaves the ending to stop(), which also ends the keeping."""
    keeper, guest = play(), play()
    keeper.do("keep")
    keeper.leave()
    guest.do("start")
    guest.leave()
    server = EmbeddedServer(home)
    assert server.running
    server.stop()
    with server:
        assert server.running
    assert not server.running


def test_a_killed_user_neither_stops_the_server_nor_keeps_it(home: Path, play: Callable[[], Player]) -> None:
    """After kill -9 of a user the server works on, and the next user who leaves stops it."""
    victim, heir = play(), play()
    victim.do("start")
    victim.kill()
    server = EmbeddedServer(home)
    pid = server.pid
    assert heir.do("start") == f"done {pid}"
    psycopg.connect(server.url).close()
    heir.leave()
    assert not server.running


def test_a_user_killed_while_it_starts_the_server_harms_nobody(home: Path, play: Callable[[], Player]) -> None:
    """Kill -9 in the middle of a first start leaves nothing that the next start can't clear away."""
    victim, heir = play(), play()
    victim.tell("start")
    while not list(home.glob("data.unfinished-*/data/global")):
        assert victim.process.poll() is None
    victim.kill()
    assert not (home / "data").exists()
    assert heir.do("start").startswith("done ")
    assert [path.name for path in home.glob("data*")] == ["data"]
    psycopg.connect(EmbeddedServer(home).url).close()


@pytest.mark.filterwarnings("ignore:This process.*fork:DeprecationWarning")
@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
@pytest.mark.parametrize("start", [True, False])
def test_a_childs_end_doesnt_stop_the_server_under_its_parent(home: Path, method: str, *, start: bool) -> None:
    """Whether the child uses the server or only inherited it, and however it was made."""
    context: BaseContext = multiprocessing.get_context(method)
    with EmbeddedServer(home) as server:
        here = context.Event()
        child = context.Process(target=visit, args=(str(home),), kwargs={"start": start, "here": here})  # type: ignore[attr-defined]
        child.start()
        assert here.wait(WAIT_S)
        child.join(WAIT_S)
        assert child.exitcode == 0
        psycopg.connect(server.url).close()
    assert not server.running


@pytest.mark.filterwarnings("ignore:This process.*fork:DeprecationWarning")
def test_a_forked_child_keeps_the_server_after_its_parent_left(home: Path) -> None:
    """The child counts for itself: the parent's release() doesn't stop it, the child's end does."""
    context = multiprocessing.get_context("fork")
    server = EmbeddedServer(home).start()
    here, go = context.Event(), context.Event()
    child = context.Process(target=stay, args=(here, go))
    child.start()
    assert here.wait(WAIT_S)
    server.release()
    assert server.running
    go.set()
    child.join(WAIT_S)
    assert child.exitcode == 0
    assert not server.running


def test_a_bare_fork_counts_as_a_user_and_stops_the_server_last(home: Path, play: Callable[[], Player]) -> None:
    """os.fork() and an exit at once, as a daemon does it: the child keeps the server, and its end stops it."""
    player = play()
    player.do("start")
    player.tell("fork")
    assert player.process.wait(WAIT_S) == 0
    server = EmbeddedServer(home)
    pid = server.pid
    assert pid is not None
    psycopg.connect(server.url).close()
    Path(f"{home}.pipe").open("w").close()
    deadline = time.monotonic() + WAIT_S
    while is_alive(pid):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    assert not server.running


@pytest.mark.filterwarnings("ignore:This process.*fork:DeprecationWarning")
def test_a_fork_while_another_thread_starts_leaves_no_lock_behind(home: Path) -> None:
    """The child of a fork in the middle of a start doesn't hold the start lock, and its own mutex is free."""
    server = EmbeddedServer(home).start()
    server._start_lock.exclude(wait_s=1)
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(writing)
        os.read(reading, 1)
        os._exit(0)
    server._start_lock.release()
    try:
        assert EmbeddedServer(home).start().pid == server.pid
    finally:
        os.close(writing)
        os.close(reading)
        os.waitpid(child, 0)
    server.stop()


def test_an_object_that_is_dropped_still_counts(home: Path, play: Callable[[], Player]) -> None:
    """resolve(url).url is enough to keep the server: a user counts until its process ends."""
    other = play()
    EmbeddedServer(home).start()
    other.do("start")
    other.leave()
    assert EmbeddedServer(home).running
