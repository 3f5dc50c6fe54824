"""The processes of a rehearsal: results come back, and one that fails or vanishes is never taken for one that is well."""

from __future__ import annotations

import signal

import pytest

from lastro.rehearsal.cast import Cast, RehearsalBroken
from tests.rehearsal import bodies


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
        process = member.process
    with pytest.raises(ValueError, match="closed"):
        process.is_alive()
