"""A server is made, started, used by its own programs, stopped and started again."""

from __future__ import annotations

import os
import pickle
import subprocess
from pathlib import Path

import psycopg
import pytest

from lastro.embedded import EmbeddedServer, EmbeddedServerError, resolve


def one(url: str, query: str) -> object:
    """The first column of a query's only row."""
    with psycopg.connect(url) as connection:
        row = connection.execute(query).fetchone()
    assert row is not None
    return row[0]


def run(server: EmbeddedServer, *argv: str) -> str:
    """What a program of the wheel prints."""
    done = subprocess.run(
        [str(server.bin(argv[0])), *argv[1:]], env=server.environment(), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("name", ["url", "tcp_url"])
def test_both_urls_lead_to_the_ledgers_database(shared: EmbeddedServer, name: str) -> None:
    """Socket and loopback reach PostgreSQL 18 and the database `lastro`, in UTF-8."""
    url = getattr(shared, name)
    assert str(one(url, "SHOW server_version")).startswith("18.")
    assert one(url, "SELECT current_database() || ' ' || current_user") == "lastro lastro"
    assert one(url, "SHOW server_encoding") == "UTF8"
    assert one(url, "SELECT upper('é')") == "É"


def test_the_socket_is_preferred_and_private(shared: EmbeddedServer) -> None:
    """The ordinary URL goes over a Unix socket in a directory nobody else may enter."""
    directory = Path(shared.environment()["PGHOST"])
    assert f"host={directory}" in shared.url
    assert directory.stat().st_mode & 0o777 == 0o700
    assert f"@127.0.0.1:{shared.environment()['PGPORT']}/" in shared.tcp_url


@pytest.mark.parametrize(
    ("setting", "expected"),
    [
        ("fsync", "on"),
        ("synchronous_commit", "on"),
        ("full_page_writes", "on"),
        ("data_checksums", "on"),
        ("autovacuum", "on"),
        ("log_lock_waits", "on"),
        ("max_connections", "200"),
        ("TimeZone", "UTC"),
        ("password_encryption", "scram-sha-256"),
        ("listen_addresses", "127.0.0.1"),
        ("shared_preload_libraries", "pg_stat_statements"),
        ("idle_in_transaction_session_timeout", "1min"),
    ],
)
def test_the_server_runs_with_settings_for_a_ledger(shared: EmbeddedServer, setting: str, expected: str) -> None:
    """Durability is on, and the server itself says so."""
    assert one(shared.url, f"SELECT current_setting('{setting}')") == expected


def test_a_wrong_password_is_refused_on_socket_and_loopback(shared: EmbeddedServer) -> None:
    """Neither way in trusts a caller without the password."""
    password = shared.url.split(":")[2].split("@")[0]
    for url in (shared.url, shared.tcp_url):
        with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
            psycopg.connect(url.replace(password, "guess"))


def test_the_password_is_stored_privately_and_shown_nowhere(shared: EmbeddedServer) -> None:
    """It stands in files of mode 0600 only: not in the log, the settings, an argument, an environment or a repr."""
    password = shared.url.split(":")[2].split("@")[0]
    holders = [file for file in shared.path.rglob("*") if file.is_file() and password.encode() in file.read_bytes()]
    assert {file.name for file in holders} == {"server.json", "pgpass"}
    assert {file.stat().st_mode & 0o777 for file in holders} == {0o600}
    process = Path("/proc", str(shared.pid))
    for text in ((process / "cmdline").read_bytes(), (process / "environ").read_bytes(), repr(shared).encode()):
        assert password.encode() not in text
    assert not any(password in value for value in shared.environment().values())


def test_the_wheels_programs_work_as_this_user(shared: EmbeddedServer, tmp_path: Path) -> None:
    """psql, pgbench, pg_dump, pg_restore's list and pg_basebackup connect by environment() alone."""
    assert run(shared, "psql", "-XAtc", "SELECT 40 + 2").strip() == "42"
    run(shared, "pgbench", "-i", "-q", "-s", "1")
    assert "number of transactions actually processed: 20/20" in run(shared, "pgbench", "-c", "2", "-t", "10")
    run(shared, "pg_dump", "-Fc", "-f", str(tmp_path / "dump"), "lastro")
    assert "pgbench_accounts" in run(shared, "pg_restore", "-l", str(tmp_path / "dump"))
    run(shared, "pg_basebackup", "-D", str(tmp_path / "copy"), "--checkpoint=fast")
    assert (tmp_path / "copy" / "PG_VERSION").read_text().strip() == "18"


def test_statement_statistics_can_be_created(shared: EmbeddedServer) -> None:
    """The library is loaded and the wheel ships its extension."""
    with psycopg.connect(shared.url, autocommit=True) as connection:
        connection.execute("CREATE EXTENSION IF NOT EXISTS pg_stat_statements")
    assert int(str(one(shared.url, "SELECT count(*) FROM pg_stat_statements"))) > 0


def test_an_unknown_program_is_named_with_the_known_ones(shared: EmbeddedServer) -> None:
    """bin() never answers with a path that isn't a program of the wheel."""
    for name in ("pgbouncer", "../bin/psql"):
        with pytest.raises(EmbeddedServerError, match="pgbench"):
            shared.bin(name)


def test_starting_again_changes_nothing(shared: EmbeddedServer) -> None:
    """start() is idempotent, on the same object and on another one for the same directory."""
    pid, url = shared.pid, shared.url
    assert shared.start().pid == pid
    with EmbeddedServer(shared.path) as other:
        assert (other.pid, other.url) == (pid, url)
    assert shared.running


def test_a_restart_keeps_the_data_and_the_address(home: Path) -> None:
    """What was committed before stop() is there after start(), under the same URL."""
    server = EmbeddedServer(home).start()
    url, first = server.url, server.pid
    with psycopg.connect(url) as connection:
        connection.execute("CREATE TABLE note AS SELECT 7 AS n")
    server.stop()
    assert not server.running
    with server:
        assert server.url == url
        assert server.pid != first
        assert one(url, "SELECT n FROM note") == 7
        assert "ready to accept connections" in server.log_tail()
    assert not server.running


def test_without_a_server_the_url_is_an_error_that_says_how_to_start(tmp_path: Path) -> None:
    """A URL that leads nowhere is never handed out; stopping nothing is fine."""
    server = EmbeddedServer(tmp_path / "nothing")
    with pytest.raises(EmbeddedServerError, match="lastro db start"):
        _ = server.url
    server.stop()
    server.release()
    assert not server.path.exists()


def test_a_pickled_server_is_the_same_directory_not_yet_used(shared: EmbeddedServer) -> None:
    """A spawned process receives the path; it counts as a user only once it starts."""
    copy = pickle.loads(pickle.dumps(shared))
    assert copy.path == shared.path
    copy.release()
    assert shared.running


def test_an_absolute_address_is_resolved(shared: EmbeddedServer) -> None:
    """embedded:///path gives the running server and its URL; %-escapes stand for characters."""
    escaped = "".join(f"%{byte:02X}" for byte in os.fsencode(shared.path.name))
    for address in (f"embedded://{shared.path}", f"embedded:{shared.path.parent}/{escaped}"):
        server, url = resolve(address)
        assert (server.pid, url) == (shared.pid, shared.url)
        server.release()


def test_a_relative_address_is_resolved(shared: EmbeddedServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """embedded:name is below the current directory."""
    monkeypatch.chdir(shared.path.parent)
    server, url = resolve(f"embedded:{shared.path.name}")
    assert url == shared.url
    server.release()


@pytest.mark.parametrize(
    "address", ["postgresql://x", "embedded:", "embedded://", "embedded://host/path", "embedded:%00"]
)
def test_an_address_that_names_no_directory_is_refused(address: str) -> None:
    """The error shows the two forms there are, or the scheme that was expected."""
    with pytest.raises(EmbeddedServerError, match="embedded:"):
        resolve(address)
