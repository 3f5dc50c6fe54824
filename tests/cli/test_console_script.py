"""The installed `lastro` as a process: workers that are stopped, killed and robbed of their database; the server."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import psycopg
import pytest

import lastro
from lastro import Ledger
from lastro.embedded import EmbeddedServer
from lastro.model.limits import CONSOLIDATION_ROWS_MAX
from lastro.testing import assert_balanced
from tests.cli.conftest import WAIT_S
from tests.support.migrations import MIGRATIONS
from tests.workers.filling import fill_tail, rows_in_tail

Script = Callable[..., "subprocess.Popen[str]"]
ROWS = 2 * CONSOLIDATION_ROWS_MAX + 1
LOOK_AGAIN_S = 0.01


def _until(true: Callable[[], bool]) -> None:
    """Look until it is so."""
    give_up = time.monotonic() + WAIT_S
    while not true():
        assert time.monotonic() < give_up, "it never came true"
        time.sleep(LOOK_AGAIN_S)


def _read_until(words: str, process: subprocess.Popen[str]) -> None:
    """Read the process's log up to the line with these words."""
    assert process.stderr is not None
    while words not in (line := process.stderr.readline()):
        assert line, f"it ended without saying {words!r}"


@pytest.fixture
def watcher(server_url: str) -> Iterator[psycopg.Connection[Any]]:
    """A connection that sees what the others do."""
    with psycopg.connect(server_url, autocommit=True) as watcher:
        yield watcher


@pytest.fixture
def caught(
    ledger: Ledger, connection: psycopg.Connection[Any], watcher: psycopg.Connection[Any], script: Script
) -> tuple[subprocess.Popen[str], int]:
    """
    A consolidator's process in the middle of a batch, and its backend: the tail's rows are deleted, the base row is
    held by `connection` until that rolls back.
    """
    fill_tail(ledger, connection, "platform", ROWS)
    connection.execute("SELECT FROM base JOIN account ON account.id = account_id WHERE name = 'platform' FOR UPDATE")
    holder = connection.info.backend_pid
    process = script("work", "consolidate", "--json")
    waiting: list[int] = []

    def waits() -> bool:
        waiting[:] = [
            pid
            for (pid,) in watcher.execute(
                "SELECT pid FROM pg_stat_activity WHERE %s = ANY (pg_blocking_pids(pid))", [holder]
            )
        ]
        return bool(waiting)

    _until(waits)
    return process, waiting[0]


def _folded(connection: psycopg.Connection[Any], account: str) -> bool:
    return rows_in_tail(connection, account) == 0


def _gone(watcher: psycopg.Connection[Any], pid: int) -> bool:
    return watcher.execute("SELECT FROM pg_stat_activity WHERE pid = %s", [pid]).fetchone() is None


@pytest.mark.req("0.4")
def test_sigterm_in_a_batch_finishes_that_batch(
    ledger: Ledger, connection: psycopg.Connection[Any], caught: tuple[subprocess.Popen[str], int]
) -> None:
    """The batch in hand is committed whole, no other is begun, the exit code is 0, and what was done is told."""
    process, _ = caught
    process.send_signal(signal.SIGTERM)
    _read_until("finishing what is in hand", process)
    connection.rollback()
    out, _err = process.communicate(timeout=WAIT_S)
    assert process.returncode == 0
    done = json.loads(out)
    assert done["event"] == "stopped"
    # Where this machine was too slow to let go of the row within the worker's patience, nothing of the batch stands.
    left = rows_in_tail(connection, "platform")
    assert left in {ROWS - CONSOLIDATION_ROWS_MAX, ROWS}
    assert done["workers"]["consolidator"]["figures"]["rows"] == ROWS - left
    assert ledger.balance("platform", "BRL").posted == ROWS
    assert_balanced(ledger)


@pytest.mark.req("0.4")
def test_a_kill_in_a_batch_leaves_nothing_of_it(
    ledger: Ledger,
    connection: psycopg.Connection[Any],
    watcher: psycopg.Connection[Any],
    caught: tuple[subprocess.Popen[str], int],
) -> None:
    """Killed between the delete and the commit, the worker leaves the tail as it was, and another one folds it in."""
    process, backend = caught
    process.kill()
    process.wait(WAIT_S)
    connection.rollback()
    _until(lambda: _gone(watcher, backend))
    assert rows_in_tail(connection, "platform") == ROWS
    assert ledger.balance("platform", "BRL").posted == ROWS
    assert ledger.consolidate().rows == ROWS
    assert_balanced(ledger)


@pytest.mark.req("0.4")
def test_a_second_signal_ends_at_once(
    ledger: Ledger,
    connection: psycopg.Connection[Any],
    watcher: psycopg.Connection[Any],
    caught: tuple[subprocess.Popen[str], int],
) -> None:
    """Whoever can't wait for the batch sends the signal again: the process ends by it, the batch is rolled back."""
    process, backend = caught
    process.send_signal(signal.SIGINT)
    _read_until("SIGINT: finishing what is in hand", process)
    process.send_signal(signal.SIGTERM)
    assert process.wait(WAIT_S) == -signal.SIGTERM
    connection.rollback()
    _until(lambda: _gone(watcher, backend))
    assert rows_in_tail(connection, "platform") == ROWS
    assert_balanced(ledger)


@pytest.mark.req("0.4")
def test_one_signal_twice_in_a_moment_is_one(
    connection: psycopg.Connection[Any], caught: tuple[subprocess.Popen[str], int]
) -> None:
    """A supervisor that signals the process and then its group means one stop: the batch in hand is finished."""
    process, _ = caught
    process.send_signal(signal.SIGTERM)
    _read_until("SIGTERM: finishing what is in hand", process)
    process.send_signal(signal.SIGTERM)
    connection.rollback()
    process.communicate(timeout=WAIT_S)
    assert process.returncode == 0


@pytest.mark.req("0.4")
def test_two_processes_share_the_work(ledger: Ledger, connection: psycopg.Connection[Any], script: Script) -> None:
    """Two `lastro work` at once fold every entry in exactly once, and neither meets an error."""
    fill_tail(ledger, connection, "platform", ROWS)
    fill_tail(ledger, connection, "other", ROWS)
    processes = [script("work", "--json") for _ in range(2)]
    for process in processes:
        _read_until("at work", process)
    _until(lambda: rows_in_tail(connection, "platform") + rows_in_tail(connection, "other") == 0)
    for process in processes:
        process.send_signal(signal.SIGTERM)
    said = [process.communicate(timeout=WAIT_S) for process in processes]
    assert [process.returncode for process in processes] == [0, 0]
    done = [json.loads(out)["workers"]["consolidator"] for out, _ in said if out]
    assert sum(each["figures"].get("rows", 0) for each in done) == 2 * ROWS
    assert [each["errors"] for each in done] == [0, 0]
    assert_balanced(ledger)


@pytest.mark.req("0.4")
def test_the_server_dies_and_comes_back(tmp_path: Path, script: Script) -> None:
    """A worker started while its database is down says so and waits; it goes on after a start and after a crash."""
    server = EmbeddedServer(tmp_path / "server").start()
    try:
        # Over TCP: the address stays the same, and `embedded:///` would start the server by itself.
        url = server.tcp_url
        with lastro.connect(url) as ledger:
            ledger.migrate()
        server.stop("immediate")
        process = script("work", env={"LASTRO_DATABASE_URL": url, "LASTRO_LEDGER": "lastro"})
        _read_until("connection_lost", process)
        for account in ("after the outage", "after the crash"):
            server.start()
            assert server.tcp_url == url
            with lastro.connect(url) as ledger, psycopg.connect(url, options="-c search_path=lastro") as connection:
                fill_tail(ledger, connection, account, 3)
                _until(partial(_folded, connection, account))
                assert_balanced(ledger)
            if account == "after the outage":
                server.stop("immediate")
        process.send_signal(signal.SIGTERM)
        _, err = process.communicate(timeout=WAIT_S)
        assert process.returncode == 0
        assert "consolidator goes on after" in err
    finally:
        server.stop("immediate")


def test_up_brings_a_server_a_ledger_and_its_workers(tmp_path: Path, script: Script) -> None:
    """`lastro up` says where it is once it is ready, without a password; other commands work there; SIGTERM ends all."""
    nowhere = {"LASTRO_DATABASE_URL": "", "LASTRO_LEDGER": ""}
    up = script("up", "--data", str(tmp_path / "data"), "--port", "9000", "--json", env=nowhere)
    assert up.stdout is not None
    ready = json.loads(up.stdout.readline())
    assert ready == {
        "event": "ready",
        "database_url": f"embedded://{tmp_path / 'data'}",
        "ledger": "lastro",
        "applied": MIGRATIONS,
    }
    there = {"LASTRO_DATABASE_URL": ready["database_url"], "LASTRO_LEDGER": ""}
    posted = script(
        "post", "--key", "k", "--kind", "sale", "--debit", "world", "--credit", "nobody", "--currency", "BRL",
        "--minor", "1", "--json", env=there,
    )  # fmt: skip
    out, err = posted.communicate(timeout=WAIT_S)
    assert (posted.returncode, out, json.loads(err)["error"]["code"]) == (1, "", "unknown_account")
    query = script("db", "psql", "--data", str(tmp_path / "data"), "-Atc", "SELECT count(*) FROM transfer", env=nowhere)
    assert query.communicate(timeout=WAIT_S)[0] == "0\n"
    up.send_signal(signal.SIGTERM)
    out, err = up.communicate(timeout=WAIT_S)
    assert up.returncode == 0
    assert json.loads(out)["event"] == "stopped"
    assert "--port 9000 has no effect" in err
    assert not EmbeddedServer(tmp_path / "data").running


@pytest.mark.parametrize("verb", ["start", "stop", "url"])
@pytest.mark.parametrize("option", ["--database-url", "--ledger"])
def test_db_takes_no_option_that_it_would_ignore(script: Script, verb: str, option: str) -> None:
    """The embedded server is named by --data; another database or a ledger there is a mistake, and told as one."""
    process = script("db", verb, option, "books")
    _, err = process.communicate(timeout=WAIT_S)
    assert process.returncode == 2
    assert option in err


def test_work_on_a_ledger_that_is_not_there_ends_at_once(script: Script) -> None:
    """It says once what is missing and what to run, and leaves with the exit code of a refusal."""
    process = script("work", env={"LASTRO_LEDGER": "never_migrated"})
    _, err = process.communicate(timeout=WAIT_S)
    assert process.returncode == 1
    assert err.count("there is no ledger 'never_migrated'") == 1
    assert "lastro migrate" in err
    assert "[schema_outdated]" in err


def test_db_starts_names_and_stops_a_server(tmp_path: Path, script: Script) -> None:
    """The server outlives `db start` until `db stop`; its URL has no password unless it is asked for."""
    data = tmp_path / "data"
    try:

        def db(*arguments: str) -> tuple[int, Any, str]:
            process = script("db", *arguments, "--data", str(data), "--json")
            out, err = process.communicate(timeout=WAIT_S)
            return process.returncode, json.loads(out) if out else None, err

        code, nothing, err = db("url")
        assert (code, nothing, json.loads(err)["error"]["kind"]) == (1, None, "refusal")
        assert not data.exists()
        code, started, _ = db("start")
        assert (code, started["url"]) == (0, f"embedded://{data}")
        assert EmbeddedServer(data).pid == started["pid"]
        assert db("url")[1] == {"url": started["url"]}
        with psycopg.connect(db("url", "--with-password")[1]["url"]) as connection:
            assert connection.info.dbname == "lastro"
        assert db("stop")[1] == {"stopped": True, "data": str(data)}
        assert db("stop")[1] == {"stopped": False, "data": str(data)}
        code, nothing, err = db("url", "--with-password")
        assert (code, nothing, json.loads(err)["error"]["kind"]) == (2, None, "fault")
    finally:
        EmbeddedServer(data).stop("immediate")


def test_a_reader_that_has_seen_enough_is_no_error(ledger: Ledger, script: Script) -> None:
    """When the pipe's other end closes, the command ends without a traceback."""
    ledger.open_account("platform", "BRL", keeping="hot")
    process = script("accounts", "list")
    assert process.stdout is not None
    process.stdout.close()
    assert process.stderr is not None
    assert "Traceback" not in process.stderr.read()
    assert process.wait(WAIT_S) in {0, 1}


def test_the_version_and_an_unknown_command(script: Script) -> None:
    """`--version` answers without a database; what isn't understood is exit code 2, in plain lines."""
    version = script("--version", env={"LASTRO_DATABASE_URL": ""})
    assert version.communicate(timeout=WAIT_S)[0].startswith("lastro 0.")
    for words in (("nonsense",), ("work", "sweep"), ("up", "--data", "x", "--database-url", "postgresql://y")):
        process = script(*words)
        _, err = process.communicate(timeout=WAIT_S)
        assert process.returncode == 2
        assert "─" not in err
        assert "Traceback" not in err


def test_python_m_lastro_is_the_same_command() -> None:
    """`python -m lastro` starts what the console script starts."""
    done = subprocess.run([sys.executable, "-m", "lastro", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("lastro 0.")
