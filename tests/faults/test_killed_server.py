"""A server that is killed under load loses nothing that was acknowledged; the harness would notice if it did."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from lastro.embedded import EmbeddedServer
from tests.support.crashing import Crashed, crash, kill_backend, kill_mariadbd, kill_postmaster
from tests.support.mariadb import MariadbServer

ACKED_A_RUN = 60
LONG_RUNS = 15
CANARY_RUNS = 3
# The writer of the log wakes up this seldom, so that commits which don't wait for it are far ahead of the disk.
ASYNCHRONOUS = {"synchronous_commit": "off", "wal_writer_delay": "10s", "wal_writer_flush_after": "1GB"}


def report(kind: str, runs: int, crashed: Crashed) -> None:
    """Print the figures of a run."""
    verdict, unknown, faults = crashed
    print(f"{kind}: {runs} kills; {verdict}; {unknown} answers unknown, {faults} other faults, resubmitted")  # noqa: T201


@pytest.mark.parametrize("kill", [kill_postmaster, kill_backend])
def test_nothing_acknowledged_is_lost(server: EmbeddedServer, tmp_path: Path, kill: Callable[..., None]) -> None:
    """After kill -9 under load and a restart: acknowledged = stored, and resubmission under the same keys is exact."""
    crashed = crash(server, tmp_path, runs=1, acked_a_run=ACKED_A_RUN, kill=kill)
    report(kill.__name__, 1, crashed)
    assert crashed.verdict.acked >= 2 * ACKED_A_RUN
    assert not crashed.verdict.lost
    assert not crashed.verdict.invented
    assert crashed.verdict.unanswered == 0, "every thread resubmitted until it was answered"


@pytest.mark.req("1.4")
def test_nothing_acknowledged_is_lost_on_mariadb(mariadb: Callable[..., MariadbServer], tmp_path: Path) -> None:
    """The same with kill -9 of mariadbd, where each commit is flushed to the log (the server's default)."""
    crashed = crash(mariadb(), tmp_path, runs=1, acked_a_run=ACKED_A_RUN, kill=kill_mariadbd)
    report("kill_mariadbd", 1, crashed)
    assert crashed.verdict.acked >= 2 * ACKED_A_RUN
    assert not crashed.verdict.lost
    assert not crashed.verdict.invented
    assert crashed.verdict.unanswered == 0, "every thread resubmitted until it was answered"


@pytest.mark.soak
def test_nothing_acknowledged_is_lost_in_many_crashes_on_mariadb(
    mariadb: Callable[..., MariadbServer], tmp_path: Path
) -> None:
    """The same, over many crashes of one server."""
    crashed = crash(mariadb(), tmp_path, runs=LONG_RUNS, acked_a_run=ACKED_A_RUN, kill=kill_mariadbd)
    report("kill_mariadbd", LONG_RUNS, crashed)
    assert not crashed.verdict.lost
    assert not crashed.verdict.invented
    assert crashed.verdict.unanswered == 0


@pytest.mark.soak
def test_a_mariadb_that_forgets_is_found_out(mariadb: Callable[..., MariadbServer], tmp_path: Path) -> None:
    """Canary: where the log is flushed once a second the same harness reports acknowledged postings as lost."""
    server = mariadb({"innodb-flush-log-at-trx-commit": "0"})
    crashed = crash(server, tmp_path, runs=CANARY_RUNS, acked_a_run=ACKED_A_RUN, kill=kill_mariadbd)
    report("innodb_flush_log_at_trx_commit 0", CANARY_RUNS, crashed)
    assert crashed.verdict.lost


@pytest.mark.soak
@pytest.mark.parametrize("kill", [kill_postmaster, kill_backend])
def test_nothing_acknowledged_is_lost_in_many_crashes(
    server: EmbeddedServer, tmp_path: Path, kill: Callable[..., None]
) -> None:
    """The same, over many crashes of one server."""
    crashed = crash(server, tmp_path, runs=LONG_RUNS, acked_a_run=ACKED_A_RUN, kill=kill)
    report(kill.__name__, LONG_RUNS, crashed)
    assert not crashed.verdict.lost
    assert not crashed.verdict.invented
    assert crashed.verdict.unanswered == 0


@pytest.mark.soak
def test_a_server_that_forgets_is_found_out(tmp_path: Path) -> None:
    """Canary: with synchronous_commit off the same harness reports acknowledged postings as lost."""
    server = EmbeddedServer(tmp_path / "server").start(settings=ASYNCHRONOUS)
    try:
        crashed = crash(server, tmp_path, runs=CANARY_RUNS, acked_a_run=ACKED_A_RUN, kill=kill_postmaster)
    finally:
        server.stop("immediate")
    report("synchronous_commit off", CANARY_RUNS, crashed)
    assert crashed.verdict.lost
