"""Files as jobs: claimed by one worker at a time, each with its own log; killed, stopped or too slow, they leave nothing half done."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest

import lastro
from lastro import AsyncLedger, Ledger, NotInTransaction
from lastro.imports import parser_process
from lastro.imports.files import read_file
from lastro.imports.jobs import Job, JobTaken, claim, hold_on, merge_job
from lastro.imports.limits import ATTEMPTS_MAX, LEASE_S
from lastro.imports.merging import LockWait, MergeTerms, take_lock
from lastro.imports.reports import failed
from lastro.imports.spec_files import ready_specs
from lastro.plans.plan import TOGETHER, Effect
from lastro.testing import Clock
from lastro.workers.importer import Importer
from tests.imports.conftest import Importing
from tests.imports.months import MONTH, Line, billing, lines, stored, zipped
from tests.imports.test_parsing import STUNTS
from tests.support.sessions import Background, Observer, until

Connection = psycopg.Connection[Any]
WAIT_MS = 60
KILLED_S = 60

# A worker as `lastro work import` runs it, told where to work.
WORKER = """
import sys
import lastro
with lastro.connect(sys.argv[1], ledger=sys.argv[2]) as ledger:
    ledger.imports.work()
"""


def _claim(ledger: Ledger) -> Job | None:
    return ledger._engine.run(lambda: claim("a test", None, now=ledger._operations.now()), Effect.KEYED)


def _a_lease_later() -> Clock:
    return Clock(datetime.now(UTC) + timedelta(seconds=LEASE_S + 1))


def _lock(connection: Connection, ledger: Ledger) -> None:
    connection.execute(
        "SELECT pg_advisory_xact_lock(hashtextextended('lastro merges ' || %s, 0))", [ledger._operations.ledger]
    )


@pytest.mark.req("4.5")
@pytest.mark.case("C013")
def test_a_wait_for_the_lock_is_in_the_jobs_log(
    importing: Importing, connection: Connection, observer: Observer
) -> None:
    """A merge that waited more than 50 ms says for how long, and how old the holder's transaction was; others say nothing."""
    quick = importing.billing(*lines(1))
    assert not any("waited" in line for line in importing.log(quick))
    began = datetime.now(UTC)
    _lock(connection, importing.ledger)
    going = Background(lambda: importing.billing(*lines(1, 2)))
    observer.until_anyone_waits_for(connection.info.backend_pid)
    # Long enough for the log: the wait itself is what is measured.
    until(lambda: datetime.now(UTC) - began > timedelta(milliseconds=4 * WAIT_MS), "the wait to be told")
    waited_since = datetime.now(UTC)
    until(lambda: datetime.now(UTC) - waited_since > timedelta(milliseconds=WAIT_MS), "the wait to be told")
    connection.rollback()
    slow = going.result()
    (line,) = (line for line in importing.log(slow) if line.startswith("waited "))
    words = line.split()
    assert int(words[1]) >= WAIT_MS
    assert "its holder's transaction was" in line
    assert int(words[words.index("was") + 1]) > 0


@pytest.mark.req("4.4")
def test_the_lock_is_the_first_statement_of_the_merge() -> None:
    """Nothing comes before it but the beginning of the transaction: what a merge compares was read under the lock."""
    job = Job(1, 1, 1, 1, "f", None, MONTH, ready_specs(), allow_shrink=False, quarantine=False)
    report = failed("f.csv", "never looked at")
    going = merge_job(job, report, [], LockWait(), MergeTerms("lastro", 1_000))
    assert next(going) is TOGETHER
    assert going.send([]).statement == "imports_merging.lock"


@pytest.mark.req("4.4")
def test_the_lock_outside_a_transaction_fails_loudly(ledger: Ledger, server_url: str) -> None:
    """Where each statement is its own transaction the lock would be gone at once: it is refused, by our engine and a caller's."""
    terms = MergeTerms(ledger._operations.ledger, 1_000)
    with pytest.raises(NotInTransaction, match="let go of as soon as it was taken"):
        ledger._engine.run(lambda: take_lock(terms, LockWait()), Effect.KEYED)
    with psycopg.connect(server_url, autocommit=True) as bare, pytest.raises(NotInTransaction):
        ledger._engine.held(bare).run(lambda: take_lock(terms, LockWait()), Effect.KEYED)


@pytest.mark.req("4.1")
def test_a_job_is_one_workers_at_a_time(importing: Importing, connection: Connection, tmp_path: Path) -> None:
    """Workers that claim at the same moment pass over what another is claiming, and what has been claimed."""
    sent = importing.ledger.imports.send(
        zipped(tmp_path / "f.zip", billing_a=billing(*lines(1)), billing_b=billing(*lines(2))), period=MONTH
    )
    first = importing.ledger._engine.held(connection).run(lambda: claim("one", None, now=None), Effect.KEYED)
    # Its claim isn't committed, and nobody waits for it.
    second = _claim(importing.ledger)
    assert first is not None
    assert second is not None
    assert (first.file_id, second.file_id) == sent.file_ids
    assert _claim(importing.ledger) is None
    connection.rollback()
    again = _claim(importing.ledger)
    assert again is not None
    assert again.file_id == first.file_id


@pytest.mark.req("4.6")
def test_a_lease_that_ran_out_fences_off_who_had_it(
    ledger: Ledger, server_url: str, ledger_name: str, connection: Connection, tmp_path: Path
) -> None:
    """After a minute another may take the job; who had it before can neither hold on to it nor merge any more."""
    clock = Clock()
    with lastro.connect(server_url, ledger=ledger_name, clock=clock) as timed:
        timed.imports.send(zipped(tmp_path / "f.zip", billing=billing(*lines(1))), period=MONTH)
        slow = _claim(timed)
        clock.advance(seconds=LEASE_S - 1)
        assert _claim(timed) is None
        clock.advance(seconds=1)
        quick = _claim(timed)
        assert slow is not None
        assert quick is not None
        assert (quick.file_id, quick.attempts) == (slow.file_id, 2)
        assert timed._engine.run(lambda: hold_on(slow, "merging", now=clock()), Effect.KEYED) is False
        path = tmp_path / "billing.csv"
        path.write_text(billing(*lines(1)))
        report = read_file("billing.csv", path, slow.specs, folder=tmp_path, period=MONTH)
        terms = MergeTerms(ledger_name, 1_000, clock())
        with pytest.raises(JobTaken):
            timed._engine.run(lambda: merge_job(slow, report, [], LockWait(), terms), Effect.KEYED)
        assert stored(connection) == {}
        assert timed._engine.run(lambda: merge_job(quick, report, [], LockWait(), terms), Effect.KEYED) == 1
        # Merged: whoever asks again, for an answer that was lost, does nothing.
        with pytest.raises(JobTaken):
            timed._engine.run(lambda: merge_job(quick, report, [], LockWait(), terms), Effect.KEYED)
        assert [each.status for each in timed.imports.files()] == ["merged"]


@pytest.mark.req("4.6")
@pytest.mark.parametrize("month", [MONTH, None])
def test_a_file_is_not_merged_after_its_correction(
    importing: Importing, connection: Connection, server_url: str, ledger_name: str, month: str | None
) -> None:
    """A file whose worker died, taken again when its correction is merged, is refused; sent anew it is merged."""
    path = zipped(importing.folder / "old.zip", billing=billing(*lines(1, 2, amount="1.00")))
    old = importing.ledger.imports.send(path, period=month)
    assert _claim(importing.ledger) is not None
    importing.merged(*lines(1, 3, amount="2.00"), month=month)
    corrected = stored(connection)
    with lastro.connect(server_url, ledger=ledger_name, clock=_a_lease_later()) as later:
        assert later.imports.work().errors == 1
    assert stored(connection) == corrected
    done = importing.ledger.imports.file(old.file_ids[0])
    assert str(done.reason).startswith("billing.csv, which was sent later, is merged already")
    importing.merged(*lines(1, 2, amount="1.00"), month=month)
    assert stored(connection)["I001"][0] == 100


@pytest.mark.req("4.2")
@pytest.mark.req("4.6")
def test_a_file_that_was_sent_twice_is_merged_in_any_order(
    importing: Importing, connection: Connection, server_url: str, ledger_name: str
) -> None:
    """A file that says what a later one has said already undoes nothing: it is merged, and finds all unchanged."""
    path = zipped(importing.folder / "old.zip", billing=billing(*lines(1, 2)))
    old = importing.ledger.imports.send(path, period=MONTH)
    assert _claim(importing.ledger) is not None
    importing.merged(*lines(1, 2), month=MONTH)
    sent_again = stored(connection)
    with lastro.connect(server_url, ledger=ledger_name, clock=_a_lease_later()) as later:
        assert later.imports.work().merged == 1
    assert importing.ledger.imports.file(old.file_ids[0]).status == "merged"
    assert stored(connection) == sent_again


@pytest.mark.req("4.6")
def test_a_later_file_of_another_month_or_part_overtakes_none(
    importing: Importing, connection: Connection, server_url: str, ledger_name: str
) -> None:
    """Only a later file of the same month and part says more than this one does."""
    importing.run(billing_n=billing(*lines(1, 2)), billing_s=billing(*lines(3, 4)))
    path = zipped(importing.folder / "old.zip", billing_n=billing(*lines(1, 2, amount="7.00")))
    old = importing.ledger.imports.send(path, period=MONTH)
    assert _claim(importing.ledger) is not None
    importing.merged(*lines(3, 4, amount="8.00"), name="billing_s")
    importing.merged(Line("I009", month="2026-10"), month="2026-10")
    with lastro.connect(server_url, ledger=ledger_name, clock=_a_lease_later()) as later:
        assert later.imports.work().merged == 1
    assert importing.ledger.imports.file(old.file_ids[0]).status == "merged"
    assert {key: row[0] for key, row in stored(connection).items()} == {
        "I001": 700, "I002": 700, "I003": 800, "I004": 800, "I009": 1000,
    }  # fmt: skip


@pytest.mark.req("4.6")
def test_a_worker_killed_in_its_merge_leaves_nothing_half_done(
    importing: Importing, server_url: str, connection: Connection, observer: Observer, tmp_path: Path
) -> None:
    """
    Killed while it writes, a worker leaves the sheet as it was and the job in the queue; the next one merges it.
    """
    ledger_name = importing.ledger._operations.ledger
    importing.merged(*lines(1, 2))
    path = zipped(tmp_path / "f.zip", billing=billing(Line("I001", "2.00"), Line("I002", "3.00"), Line("I003")))
    sent = importing.ledger.imports.send(path, period=MONTH)
    before = stored(connection)
    # Its merge gets as far as this row, past the lock and with its job closed, and waits.
    connection.execute("SELECT 1 FROM sheet_billing WHERE invoice = 'I002' FOR NO KEY UPDATE")
    worker = subprocess.Popen([sys.executable, "-c", WORKER, server_url, ledger_name])
    (waiting,) = observer.until_anyone_waits_for(connection.info.backend_pid)
    os.kill(worker.pid, signal.SIGKILL)
    worker.wait()
    connection.rollback()
    observer.until(lambda: waiting not in observer.sessions(), "the server to notice")
    assert stored(connection) == before
    assert importing.ledger.imports.file(sent.file_ids[0]).status == "merging"
    assert _claim(importing.ledger) is None, "it is leased"
    with lastro.connect(server_url, ledger=ledger_name, clock=_a_lease_later()) as later:
        assert later.imports.work().merged == 1
    assert stored(connection) == {
        "I001": (200, "2026-11-05", "d"), "I002": (300, "2026-11-05", "d"), "I003": (1000, "2026-11-05", "d"),
    }  # fmt: skip


@pytest.mark.req("4.6")
def test_a_file_that_is_never_finished_is_given_up_on(importing: Importing, connection: Connection) -> None:
    """A file that took every worker with it ends in error after five attempts."""
    sent = importing.ledger.imports.send(_one(importing, "f.zip"), period=MONTH)
    connection.execute("UPDATE open_import SET attempts = %s", [ATTEMPTS_MAX])
    connection.commit()
    assert importing.ledger.imports.work().errors == 1
    done = importing.ledger.imports.file(sent.file_ids[0])
    assert (done.status, done.reason) == ("error", "was begun 5 times, and none came to its end")


@pytest.mark.req("4.1")
@pytest.mark.req("4.6")
def test_four_processes_read_and_one_that_dies_takes_its_own_file(
    ledger: Ledger, connection: Connection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each file of a zip is a job that a process reads; the one whose process is killed ends in error, the others are merged."""
    (tmp_path / "stunts.py").write_text(STUNTS)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(parser_process, "PARSER", "stunts")
    told: set[str] = set()
    path = zipped(
        tmp_path / "sent.zip",
        **{"killed.billing": billing(*lines(1)), "b.billing": billing(*lines(2)), "c.billing": billing(*lines(3))},
    )
    done = ledger.imports.run(path, period=MONTH, on_progress=lambda progress: told.add(progress.file))
    assert [each.status for each in done] == ["error", "merged", "merged"]
    assert "SIGKILL" in str(done[0].reason)
    assert [each.line for each in ledger.imports.log(done[0].file_id)][-1] == f"error: {done[0].reason}"
    assert sorted(stored(connection)) == ["I002", "I003"]
    assert told == {"b.billing.csv", "c.billing.csv", "killed.billing.csv"}


@pytest.mark.req("4.1")
def test_the_worker_merges_what_was_sent(importing: Importing, connection: Connection) -> None:
    """A tick merges what waits and says what it did; one without anything to do only looks. A stop gives the job back."""
    importer = Importer(importing.ledger)
    assert importer.run_once().figures == {"merged": 0, "errors": 0, "given_back": 0, "rows": 0}
    importing.ledger.imports.send(_one(importing, "f.zip"), period=MONTH)
    assert importing.ledger.imports.backlog().waiting == 1
    looks = iter([False, True, True, True, True])
    stopped = Importer(importing.ledger, stopping=lambda: next(looks, True))
    assert stopped.run_once().figures["merged"] == 0
    (waiting,) = importing.ledger.imports.files()
    assert (waiting.status, waiting.attempts) == ("waiting", 0)
    assert importer.run_once().figures == {"merged": 1, "errors": 0, "given_back": 0, "rows": 2}
    assert sorted(stored(connection)) == ["I001", "I002"]


@pytest.mark.req("4.1")
async def test_the_awaited_twin_does_the_same(
    importing: Importing, async_ledger: AsyncLedger, connection: Connection
) -> None:
    """Sent, previewed, merged and looked at from asyncio."""
    path = _one(importing, "f.zip")
    (would,) = await async_ledger.imports.preview(path, period=MONTH)
    (done,) = await async_ledger.imports.run(path, period=MONTH)
    assert done.status == "merged"
    assert done.sheets == would.sheets
    assert await async_ledger.imports.file(done.file_id) == done == importing.ledger.imports.file(done.file_id)
    assert await async_ledger.imports.log(done.file_id) == importing.ledger.imports.log(done.file_id)
    assert sorted(stored(connection)) == ["I001", "I002"]
    assert await async_ledger.imports.backlog() == (0, 0)


def _one(importing: Importing, name: str) -> Path:
    return zipped(importing.folder / name, billing=billing(*lines(1, 2)))
