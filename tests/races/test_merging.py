"""Merges side by side: what each of the two defences against deadlocks is for, and that both together are enough."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest

from lastro import Ledger
from lastro.engine import postgres
from lastro.imports.files import read_file
from lastro.imports.jobs import Job, claim, merge_job
from lastro.imports.merging import LockWait, MergeTerms
from lastro.imports.reports import FileReport
from lastro.imports.spec_files import ready_specs
from lastro.plans.plan import Effect, Plan
from tests.conftest import Counted
from tests.imports.months import MONTH, Line, billing, lines, stored, zipped
from tests.support.sessions import Background, Observer, Sessions, pid_of

ROUNDS = 12
SOAK_ROUNDS = 200
SOAK_S = 1_800
WRITERS = 4
KEYS = 40

# What the test says in the place of taking the lock.
NOTHING = "SELECT 0 AS waited_ms, NULL AS holder_age_ms, true AS held"
NO_FILE = "SELECT NULL AS name WHERE false"


class Merge:
    """One file on its way through the product's own plan, with statements of the test's in the place of some of it."""

    def __init__(self, ledger: Ledger, folder: Path, *said: Line) -> None:
        self._ledger = ledger
        folder.mkdir()
        self.path = folder / "billing.csv"
        self.path.write_text(billing(*said))
        ledger.imports.send(zipped(folder / "sent.zip", billing=billing(*said)), period=MONTH, allow_shrink=True)
        job = ledger._engine.run(lambda: claim("a test", None, now=None), Effect.KEYED)
        assert job is not None
        self.job: Job = job
        self.report: FileReport = read_file("billing.csv", self.path, ready_specs(), folder=folder, period=MONTH)
        self.terms = MergeTerms(ledger._operations.ledger, lock_timeout_ms=30_000)

    def run(self, connection: psycopg.Connection[Any], at: Callable[[str], None] = lambda name: None) -> None:
        """Merge on *connection* and commit; *at* is called before each step, by its name."""

        def plan() -> Plan[int]:
            going = merge_job(self.job, self.report, [], LockWait(), self.terms)
            step = next(going)
            try:
                while True:
                    at(step.statement)
                    step = going.send((yield step))
            except StopIteration as done:
                written: int = done.value
                return written

        with connection.transaction():
            self._ledger._engine.held(connection).run(plan, Effect.KEYED)


class Without:
    """The product's statements with one of their defences, or both, taken out of their text."""

    def __init__(self, ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
        self.ledger, self._monkeypatch = ledger, monkeypatch

    def lock(self) -> None:
        """Let merges run without waiting for one another."""
        self._replace("imports_merging.lock", lambda text: NOTHING)
        self._replace("imports_merging.still_locked", lambda text: NOTHING)

    def order(self) -> None:
        """Let the rows be written in the order of the file, by a plan that keeps it."""
        self._replace(
            "imports_merging.upsert",
            lambda text: text.replace("ORDER BY staged.its_key", "ORDER BY staged.row_number"),
        )

    def turns(self) -> None:
        """Let files be merged in any turn: the refusal of one that comes after a later file takes its writes away too."""
        self._replace("imports.overtaken", lambda text: NO_FILE)
        self._replace("imports_merging.overtaken_by", lambda text: NO_FILE)

    def _replace(self, name: str, change: Callable[[str], str]) -> None:
        said = postgres.catalogue
        changed = dict(said("postgres", self.ledger._operations.ledger))
        text = change(changed[name].text)
        assert text != changed[name].text
        changed[name] = changed[name]._replace(texts=(text,))
        self._monkeypatch.setattr(postgres, "catalogue", lambda *_: changed)


@pytest.fixture
def without(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> Without:
    """Take defences away; the product has no switch for it."""
    return Without(ledger, monkeypatch)


@pytest.fixture
def pair(session: Sessions) -> tuple[Any, Any]:
    """Two sessions to merge on."""
    return session(), session()


def _side_by_side(
    merges: tuple[Merge, Merge], pair: tuple[Any, Any], before: str
) -> tuple[BaseException | None, BaseException | None]:
    """Run two merges, each held before its step *before* until the other has come as far. Return what they raised."""
    barrier = threading.Barrier(2, timeout=30)

    def at(name: str) -> None:
        if name == before:
            barrier.wait()

    going = [
        Background(lambda one=one, on=on: one.run(on, at))  # type: ignore[misc]
        for one, on in zip(merges, pair, strict=True)
    ]
    first, second = (each.error() for each in going)
    return first, second


def _deadlocks(*errors: BaseException | None) -> int:
    """How many ended as the victim of a deadlock; anything else that was raised fails the test."""
    for error in errors:
        if error is not None and getattr(error, "sqlstate", None) != "40P01":
            raise error
    return sum(error is not None for error in errors)


@pytest.mark.req("4.2")
@pytest.mark.req("4.7")
@pytest.mark.case("C082")
def test_without_the_lock_two_files_deadlock(
    ledger: Ledger, tmp_path: Path, pair: tuple[Any, Any], without: Without
) -> None:
    """
    One file changes a row and lacks another, the second the other way round: each in order, and 40P01 all the same.

    No order helps here, for each writes first and deletes afterwards.
    """
    Merge(ledger, tmp_path / "first", *lines(1, 2)).run(pair[0])
    without.lock()
    merges = Merge(ledger, tmp_path / "a", Line("I001", "2.00")), Merge(ledger, tmp_path / "b", Line("I002", "3.00"))
    assert _deadlocks(*_side_by_side(merges, pair, "imports_merging.delete_missing")) == 1


@pytest.mark.req("4.3")
@pytest.mark.req("4.7")
@pytest.mark.case("C082")
@pytest.mark.parametrize("ordered", [False, True])
def test_without_the_order_a_file_deadlocks_with_who_writes_in_order(
    without: Without, tmp_path: Path, session: Sessions, observer: Observer, *, ordered: bool
) -> None:
    """
    The lock is held, and an application's own transaction changes the same rows in the order of their key.

    It has the first row, and the merge wants both. By the file's order the merge takes the last one first: 40P01. In the
    key's order it waits, and both come to their end.
    """
    ledger = without.ledger
    merging, writing = session(), session()
    Merge(ledger, tmp_path / "first", *lines(1, 2)).run(merging)
    if not ordered:
        without.order()
    merge = Merge(ledger, tmp_path / "a", Line("I002", "3.00"), Line("I001", "2.00"))
    change = f"UPDATE {ledger._operations.ledger}.sheet_billing SET description = 'seen' WHERE invoice = %s"
    writing.execute(change.encode(), ["I001"])
    going = Background(lambda: merge.run(merging))
    observer.until_blocked(pid_of(merging), by=pid_of(writing))
    failed: BaseException | None = None
    try:
        writing.execute(change.encode(), ["I002"])
        writing.commit()
    except psycopg.errors.DeadlockDetected as error:
        failed = error
        writing.rollback()
    victims = _deadlocks(going.error()) + (failed is not None)
    assert victims == (0 if ordered else 1)


@pytest.mark.req("4.7")
@pytest.mark.case("C082")
@pytest.mark.parametrize("ordered", [False, True])
def test_without_both_two_files_deadlock_by_writing_alone(
    ordered: bool, ledger: Ledger, tmp_path: Path, pair: tuple[Any, Any], without: Without
) -> None:
    """Without the lock, the same rows in opposite orders are 40P01; in the order of the key they aren't."""
    keys = list(range(400))
    Merge(ledger, tmp_path / "first", *lines(*keys)).run(pair[0])
    without.lock()
    if not ordered:
        without.order()
    victims = 0
    for attempt in range(5):
        merges = (
            Merge(ledger, tmp_path / f"a{attempt}", *lines(*keys, amount=f"{attempt}.01")),
            Merge(ledger, tmp_path / f"b{attempt}", *lines(*keys[::-1], amount=f"{attempt}.02")),
        )
        victims += _deadlocks(*_side_by_side(merges, pair, "imports_merging.upsert"))
    assert (victims > 0) is not ordered


def _rounds(ledger: Ledger, folder: Path, sessions: list[Any], rounds: int) -> int:
    """Merge shuffled files of overlapping keys at once, one a session, again and again; return how many were victims."""
    drawn = random.Random(20261130)
    victims = 0
    for number in range(rounds):
        said = [
            lines(*drawn.sample(range(KEYS), KEYS * 3 // 4), amount=f"{number}.{part:02}")
            for part in range(len(sessions))
        ]
        merges = [Merge(ledger, folder / f"{number}-{part}", *those) for part, those in enumerate(said)]
        barrier = threading.Barrier(len(sessions), timeout=60)

        def at(name: str, barrier: threading.Barrier = barrier) -> None:
            if name == "imports_merging.lock":
                barrier.wait()

        going = [
            Background(lambda one=one, on=on, at=at: one.run(on, at))  # type: ignore[misc]
            for one, on in zip(merges, sessions, strict=True)
        ]
        victims += _deadlocks(*(each.error() for each in going))
        # Merges follow one another, so that what stands is what one of them brought, all of it.
        assert stored(sessions[0], ledger._operations.ledger) in [
            {line.invoice: (round(float(line.amount) * 100), f"{MONTH}-05", "d") for line in those} for those in said
        ]
    return victims


@pytest.mark.req("4.7")
@pytest.mark.case("C082")
def test_with_both_nothing_deadlocks(without: Without, tmp_path: Path, session: Sessions, counted: Counted) -> None:
    """Four files at once with overlapping keys in any order, writing and deleting: no deadlock, and one of them stands whole."""
    without.turns()
    assert _rounds(without.ledger, tmp_path, [session() for _ in range(WRITERS)], ROUNDS) == 0
    counted(f"{ROUNDS} rounds of {WRITERS} merges, no deadlock")


@pytest.mark.soak
@pytest.mark.req("4.7")
@pytest.mark.case("C082")
@pytest.mark.timeout(SOAK_S)
def test_with_both_nothing_deadlocks_for_long(
    without: Without, tmp_path: Path, session: Sessions, counted: Counted
) -> None:
    """The same 200 times."""
    without.turns()
    assert _rounds(without.ledger, tmp_path, [session() for _ in range(WRITERS)], SOAK_ROUNDS) == 0
    counted(f"{SOAK_ROUNDS} rounds of {WRITERS} merges, no deadlock")
