"""A crew that doesn't come to be leaves nothing open: whatever stops it, each ledger that was opened is closed."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from lastro import InvalidInput, config
from lastro.workers import outbox_relay, roster
from lastro.workers.roster import WORK, workers_for


class Doors:
    """Opens ledgers that only say of what store they are, and knows which of them are open."""

    def __init__(self, *, fails_at: int | None = None, cant_close: int | None = None) -> None:
        self.opened: list[int] = []
        self.open: set[int] = set()
        self._fails_at, self._cant_close = fails_at, cant_close

    def __call__(self) -> Any:
        """Open one more."""
        number = len(self.opened)
        if number == self._fails_at:
            raise OSError("the database is away")
        self.opened.append(number)
        self.open.add(number)

        def close() -> None:
            self.open.discard(number)
            if number == self._cant_close:
                raise OSError("it can't be closed")

        return SimpleNamespace(_engine=SimpleNamespace(dialect="postgres"), close=close, outbox=None)


@pytest.fixture(autouse=True)
def bare(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is set up by the environment."""
    for variable in (
        config.RELAY_TARGET_VARIABLE,
        config.INTAKE_SOURCE_VARIABLE,
        config.RELAY_AFTER_SET_ASIDE_VARIABLE,
    ):
        monkeypatch.delenv(variable, raising=False)


@pytest.mark.parametrize("work", [["consolidate", "relay"], ["expire", "intake"], ["settle", "nonsense"]])
def test_work_that_cant_be_done_leaves_nothing_open(work: list[str]) -> None:
    """A relay without a target and an intake without a source are refused, and so are the workers beside them."""
    doors = Doors()
    with pytest.raises(InvalidInput):
        workers_for(work, open_ledger=doors, stopping=lambda: False)
    assert doors.open == set()


@pytest.mark.parametrize("fails_at", range(4))
def test_a_ledger_that_doesnt_open_leaves_nothing_open(fails_at: int) -> None:
    """Those that were opened before it are closed."""
    doors = Doors(fails_at=fails_at)
    with pytest.raises(OSError, match="away"):
        workers_for([], open_ledger=doors, stopping=lambda: False)
    assert (len(doors.opened), doors.open) == (fails_at, set())


def test_one_that_cant_be_closed_leaves_no_other_open(monkeypatch: pytest.MonkeyPatch) -> None:
    """What can't be closed is no reason to keep the others; a target that was opened is closed as well."""
    closed: list[str] = []
    target = SimpleNamespace(name="t", failures_max=None, close=lambda: closed.append("target"))
    monkeypatch.setattr(outbox_relay, "_target", lambda: target)
    doors = Doors(cant_close=0)
    with pytest.raises(OSError, match="can't be closed"):
        workers_for(["consolidate", "relay", "intake"], open_ledger=doors, stopping=lambda: False)
    assert (doors.open, closed) == (set(), ["target"])


def test_the_environment_says_who_works(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a target no relay works, without a source no intake; asked for nothing, the others do."""
    doors = Doors()
    names = {worker.name for worker in workers_for([], open_ledger=doors, stopping=lambda: False)}
    assert {"relay", "intake"} & names == set()
    assert "settler" in names
    assert len(doors.open) == len(doors.opened)
    assert {"relay", "intake"} <= set(WORK)
    monkeypatch.setattr(roster, "ResultIntake", lambda ledger, **_: SimpleNamespace(name="intake", close=ledger.close))
    monkeypatch.setenv(config.INTAKE_SOURCE_VARIABLE, "kafka://127.0.0.1:9?topic=results&group=book")
    assert "intake" in {worker.name for worker in workers_for([], open_ledger=Doors(), stopping=lambda: False)}
