"""Directories with servers of their own, and processes that use them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from lastro.embedded import EmbeddedServer
from tests.embedded.player import Player


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Path]:
    """A directory for one server, which is ended afterwards however the test went."""
    path = tmp_path / "server"
    yield path
    EmbeddedServer(path).stop("immediate")


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedServer]:
    """One running server for the tests that only look."""
    with EmbeddedServer(tmp_path_factory.mktemp("shared") / "server") as server:
        yield server


@pytest.fixture
def play(home: Path) -> Iterator[Callable[[], Player]]:
    """Make processes that start and leave the server of `home` when told to."""
    players: list[Player] = []

    def make() -> Player:
        players.append(Player(home))
        return players[-1]

    yield make
    for player in players:
        player.close()


@pytest.fixture
def stranger(home: Path) -> Iterator[int]:
    """The process id of a living program that has nothing to do with the server, owned by the same user."""
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        yield process.pid
        os.kill(process.pid, signal.SIGKILL)
