"""What a lane does while it holds a job: it waits for its parser, renews its lease, and gives way where it can't go on."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import psycopg
import pytest

from lastro import LockTimeout
from lastro.imports import working
from lastro.imports.jobs import claim, fail, hold_on
from lastro.imports.reports import FileReport
from lastro.plans.plan import Effect
from tests.imports.conftest import Importing
from tests.imports.months import MONTH, InProcess, billing, lines, stored, zipped
from tests.support.sessions import Background, Observer, until

Connection = psycopg.Connection[Any]

# How long a parser that was left alone has to be given the next file.
LEFT_ALONE_S = 0.5


class SlowParser(InProcess):
    """A parser that is at its first file until a renewal of its lease has failed, and a while longer."""

    reading = threading.Lock()
    failed: threading.Event
    overlapped: threading.Event

    def read(self, order: dict[str, Any], on_rows: Callable[[int, float], None]) -> FileReport:
        """Read a file, and notice where another is read meanwhile."""
        if not self.reading.acquire(blocking=False):
            self.overlapped.set()
            return super().read(order, on_rows)
        try:
            assert self.failed.wait(timeout=60)
            self.overlapped.wait(timeout=LEFT_ALONE_S)
            return super().read(order, on_rows)
        finally:
            self.reading.release()


@pytest.mark.req("4.6")
def test_a_parser_that_is_still_reading_gets_no_other_file(
    importing: Importing, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where a lease can't be renewed the lane waits for its parser first: it would answer the next file with this one."""
    SlowParser.failed, SlowParser.overlapped = threading.Event(), threading.Event()

    def held(*asked: Any, **terms: Any) -> Any:
        if not SlowParser.failed.is_set():
            SlowParser.failed.set()
            raise LockTimeout("as if")
        return hold_on(*asked, **terms)

    monkeypatch.setattr(working, "ParserProcess", SlowParser)
    monkeypatch.setattr(working, "LEASE_RENEWED_S", 0)
    monkeypatch.setattr(working, "hold_on", held)
    path = zipped(importing.folder / "f.zip", billing_a=billing(*lines(1)), billing_b=billing(*lines(2)))
    importing.ledger.imports.send(path, period=MONTH)
    done = importing.ledger.imports.work(lanes=1)
    assert not SlowParser.overlapped.is_set()
    assert (done.merged, done.given_back) == (1, 1)


@pytest.mark.req("4.5")
@pytest.mark.req("4.6")
def test_a_lease_is_renewed_while_the_lock_of_merging_is_waited_for(
    importing: Importing, connection: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever waits for others' merges, for longer than a lease, keeps the job; the log has all of the wait."""
    held: list[str] = []

    def renewed(job: Any, status: str, **terms: Any) -> Any:
        held.append(status)
        return hold_on(job, status, **terms)

    monkeypatch.setattr(working, "LEASE_RENEWED_S", 0.1)
    monkeypatch.setattr(working, "hold_on", renewed)
    connection.execute(
        "SELECT pg_advisory_xact_lock(hashtextextended('lastro merges ' || %s, 0))",
        [importing.ledger._operations.ledger],
    )
    going = Background(lambda: importing.billing(*lines(1)))
    until(lambda: held.count("merging") > 3, "the lease to be renewed")
    connection.rollback()
    done = going.result()
    assert done.status == "merged"
    (line,) = (line for line in importing.log(done) if line.startswith("waited "))
    assert int(line.split()[1]) >= 300
    # Who let go of it just before the last try is gone by then.
    assert "old when the last try began" in line or "gone when the last try began" in line


@pytest.mark.req("4.6")
def test_a_lock_that_is_never_had_gives_the_job_back(
    importing: Importing, connection: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After ten minutes, less here, the wait ends, and the job waits for its next attempt."""
    monkeypatch.setattr(working, "LEASE_RENEWED_S", 0.1)
    monkeypatch.setattr(working, "MERGE_LOCK_TIMEOUT_MS", 150)
    connection.execute(
        "SELECT pg_advisory_xact_lock(hashtextextended('lastro merges ' || %s, 0))",
        [importing.ledger._operations.ledger],
    )
    importing.ledger.imports.send(zipped(importing.folder / "f.zip", billing=billing(*lines(1))), period=MONTH)
    assert importing.ledger.imports.work().given_back == 1
    (waiting,) = importing.ledger.imports.files()
    assert (waiting.status, waiting.attempts) == ("waiting", 1)


@pytest.mark.req("4.6")
def test_who_is_too_slow_takes_nothing_of_the_job(
    importing: Importing, connection: Connection, observer: Observer
) -> None:
    """A worker that ends a job while another claims it leaves that one what the file is made of."""
    importing.ledger.imports.send(zipped(importing.folder / "f.zip", billing=billing(*lines(1))), period=MONTH)
    engine = importing.ledger._engine
    slow = engine.run(lambda: claim("slow", None, now=None), Effect.KEYED)
    assert slow is not None
    connection.execute("UPDATE open_import SET token = token + 1")
    going = Background(lambda: engine.run(lambda: fail(slow, "too slow", [], now=None), Effect.KEYED))
    observer.until_anyone_waits_for(connection.info.backend_pid)
    connection.commit()
    going.result()
    assert connection.execute("SELECT count(*) FROM open_import").fetchone() == (1,)
    assert connection.execute("SELECT count(*) FROM import_piece").fetchone() == (1,)


@pytest.mark.req("4.4")
def test_a_row_that_leaves_its_month_meanwhile_is_not_deleted(
    importing: Importing, connection: Connection, observer: Observer
) -> None:
    """An application that dates a lacking row otherwise, while the merge waits for it, keeps it."""
    importing.merged(*lines(1, 2, 3))
    connection.execute("UPDATE sheet_billing SET billed_on = '2026-10-31' WHERE invoice = 'I003'")
    going = Background(lambda: importing.merged(*lines(1, 2)))
    observer.until_anyone_waits_for(connection.info.backend_pid)
    connection.commit()
    assert going.result() == (0, 0, 2, 0)
    assert sorted(stored(connection)) == ["I001", "I002", "I003"]
