"""The processes of a rehearsal: results come back, and one that fails or vanishes is never taken for one that is well."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from lastro.rehearsal.cast import Cast, RehearsalBroken
from tests.house.checkout import ROOT
from tests.rehearsal import bodies

WAIT_S = 60
LOOK_EVERY_S = 0.1


def test_news_and_results_come_from_each_member() -> None:
    """What members tell is heard from the one that told it, and each one's result is its own."""
    with Cast() as cast:
        members = [cast.hire("three", bodies.add, 1, 2), cast.hire("seven", bodies.add, 3, 4)]
        cast.start(*members)
        told = sorted((member.name, news) for member, news in cast.listen(*members))
        assert told == [("seven", 3), ("seven", 4), ("three", 1), ("three", 2)]
        assert [member.result for member in members] == [3, 7]


def test_a_failure_is_raised_with_its_origin() -> None:
    """A member's exception reaches whoever listens, with its traceback."""
    with Cast() as cast:
        member = cast.hire("cashier", bodies.fail)
        cast.start(member)
        with pytest.raises(RehearsalBroken, match=r"cashier failed:(.|\n)*the till is empty"):
            list(cast.listen(member))


def test_a_member_that_vanishes_is_missed() -> None:
    """A member that was killed by somebody else is a broken rehearsal, not a finished one."""
    with Cast() as cast:
        member = cast.hire("cashier", bodies.vanish)
        cast.start(member)
        with pytest.raises(RehearsalBroken, match="exit code -9"):
            list(cast.listen(member))


def test_a_member_is_stopped_or_killed_alone() -> None:
    """One member is killed with SIGKILL, and another still stops in order and gives its result."""
    with Cast() as cast:
        victim, other = cast.hire("victim", bodies.wait), cast.hire("other", bodies.wait)
        cast.start(victim, other)
        assert cast.kill(victim) == -signal.SIGKILL
        assert cast.stop(other) == "stopped"


def test_nobody_outlives_the_rehearsal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leaving the `with` ends even a member that doesn't listen."""
    monkeypatch.setattr("lastro.rehearsal.cast.JOIN_TIMEOUT_S", 0.5)
    with Cast() as cast:
        member = cast.hire("deaf", bodies.ignore)
        cast.start(member)
        assert next(cast.listen(member)) == (member, "deaf")
    assert member.process.poll() == -signal.SIGKILL


PROGRAM = """
from lastro.rehearsal.cast import Cast
from tests.rehearsal import bodies

print("the program runs", flush=True)
cast = Cast()
{}
"""
PLAYS = """
with cast:
    member = cast.hire("three", bodies.add, 1, 2)
    cast.start(member)
    print(cast.stop(member), flush=True)
"""
DIES = """
import os, signal
member = cast.hire("deaf", bodies.ignore)
cast.start(member)
print(member.process.pid, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


def _run(body: str) -> list[str]:
    command = [sys.executable, "-c", PROGRAM.format(body)]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, capture_output=True, text=True, timeout=WAIT_S, env=environment, check=False)
    return done.stdout.splitlines()


def test_the_program_itself_is_run_once() -> None:
    """A member imports what it plays and nothing else: a program without a guard around its main part runs once."""
    assert _run(PLAYS) == ["the program runs", "3"]


def test_a_member_ends_with_its_parent() -> None:
    """Load that nobody judges any more ceases, also where the parent was killed without a word."""
    _, pid = _run(DIES)
    deadline = time.monotonic() + WAIT_S
    while _lives(int(pid)):
        assert time.monotonic() < deadline, "the member outlived its parent"
        time.sleep(LOOK_EVERY_S)


def _lives(pid: int) -> bool:
    try:
        # Where nobody reaps it, it is a zombie: dead, and still listed.
        return Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
