"""Taking samples: what is read, by whom, within which time, and what is said where it can't be."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict

import lastro
from bench.injections import Ground, traffic
from lastro import InvalidInput, Ledger
from lastro.doctor.latencies import Latencies
from lastro.doctor.settings import STORAGE
from lastro.doctor.taking import PROBES, Readings
from tests.support.money import CURRENCY, fund, transfer

SHORT_MS = 50
LOOKS = 3


@pytest.fixture
def watcher(server_url: str) -> Iterator[tuple[str, str]]:
    """A role with pg_monitor and nothing else: its name, and a URL for it."""
    name, password = f"watcher_{secrets.token_hex(4)}", secrets.token_hex(8)
    with psycopg.connect(server_url, autocommit=True) as connection:
        connection.execute(
            sql.SQL("CREATE ROLE {} LOGIN PASSWORD {}").format(sql.Identifier(name), sql.Literal(password))
        )
        connection.execute(sql.SQL("GRANT pg_monitor TO {}").format(sql.Identifier(name)))
        place = conninfo_to_dict(server_url)
        query = "&".join(f"{key}={place[key]}" for key in ("host", "port"))
        yield name, f"postgresql://{name}:{password}@/{place['dbname']}?{query}"
        connection.execute(sql.SQL("DROP OWNED BY {0}").format(sql.Identifier(name)))
        connection.execute(sql.SQL("DROP ROLE {}").format(sql.Identifier(name)))


@pytest.mark.req("3.15")
def test_everything_is_read(ledger: Ledger, server_url: str, ledger_name: str) -> None:
    """A sample of a quiet ledger has readings of every probe and no trouble; backlogs without work are 0, not missing."""
    fund(ledger, "platform", 100, "hot")
    with Readings(server_url, ledger=ledger_name) as readings:
        sample = readings.take()
    assert sample.troubles == ()
    assert sample.number("tail_age", f"platform {CURRENCY}") is not None
    for name in ("settlement_age", "outbox_age", "holds_overdue_age", "open_incidents", "sessions_waiting"):
        assert sample.number(name) == 0, name
    assert {one.subject: one.value for one in sample.named("storage_settings")} == dict.fromkeys(STORAGE, "as migrated")
    assert sample.number("partitions_ahead")
    assert sample.number("pooler_between") == 0
    assert sample.at.tzinfo is not None


def test_a_role_with_pg_monitor_sees_the_server(ledger: Ledger, watcher: tuple[str, str], ledger_name: str) -> None:
    """It sees sessions, waits, tables, replicas and slots; what takes rights on the ledger's tables is said."""
    assert ledger.partitions()
    with Readings(watcher[1], ledger=ledger_name) as readings:
        sample = readings.take()
    unread = {probe.name for probe in PROBES if probe.of_ledger}
    assert {one.name for one in sample.troubles} == unread
    assert all("GRANT" in str(one.trouble) for one in sample.troubles)
    assert list(sample.named("dead_rows"))
    assert sample.number("sessions_busy") is not None


def test_with_rights_on_the_ledger_it_sees_all(
    ledger: Ledger, watcher: tuple[str, str], server_url: str, ledger_name: str
) -> None:
    """pg_monitor and SELECT on the ledger's tables are enough for everything."""
    assert ledger.partitions()
    role, schema = sql.Identifier(watcher[0]), sql.Identifier(ledger_name)
    with psycopg.connect(server_url, autocommit=True) as connection:
        connection.execute(sql.SQL("GRANT USAGE ON SCHEMA {} TO {}").format(schema, role))
        connection.execute(sql.SQL("GRANT SELECT ON ALL TABLES IN SCHEMA {} TO {}").format(schema, role))
        connection.execute(sql.SQL("GRANT SELECT ON ALL SEQUENCES IN SCHEMA {} TO {}").format(schema, role))
    with Readings(watcher[1], ledger=ledger_name) as readings:
        assert readings.take().troubles == ()


def test_a_reading_that_takes_too_long_is_given_up(
    ledger: Ledger, connection: psycopg.Connection[object], server_url: str, ledger_name: str
) -> None:
    """While a table is locked for good its reading ends in its time and says so; the others are there, and later it is too."""
    assert ledger.partitions()
    connection.execute("LOCK TABLE outbox IN ACCESS EXCLUSIVE MODE")
    with Readings(server_url, ledger=ledger_name, statement_timeout_ms=SHORT_MS) as readings:
        sample = readings.take()
        # Sizes are among the unread: the server locks a table to look at its files.
        assert [one.name for one in sample.troubles] == ["outbox", "tables"]
        assert all("statement_timeout" in str(one.trouble) for one in sample.troubles)
        assert sample.number("tail_age") == 0
        assert sample.number("partitions_ahead")
    connection.rollback()
    with Readings(server_url, ledger=ledger_name) as readings:
        assert readings.take().troubles == ()


def test_a_ledger_that_is_not_there(server_url: str) -> None:
    """The server is read all the same, and each reading of the ledger says what is missing."""
    with Readings(server_url, ledger="nowhere") as readings:
        sample = readings.take()
    assert sample.number("connections")
    assert {one.name for one in sample.troubles} == {probe.name for probe in PROBES if probe.of_ledger}


def test_a_database_that_is_not_there() -> None:
    """That is no reading with a trouble but an error."""
    with Readings("postgresql://nobody@127.0.0.1:1/none") as readings, pytest.raises(lastro.ConnectionLost):
        readings.take()


def test_a_store_without_views_of_waits(tmp_path: Path) -> None:
    """SQLite says at once that there is nothing to read."""
    with pytest.raises(InvalidInput, match="PostgreSQL"):
        Readings(f"sqlite:///{tmp_path}/ledger.db")


def test_what_changes_slowly_is_asked_rarely(ledger: Ledger, server_url: str, ledger_name: str) -> None:
    """The second sample repeats what the first read of tables, and reads the sessions anew."""
    fund(ledger, "platform", 100, "hot")
    with Readings(server_url, ledger=ledger_name) as readings:
        first, second = readings.take(), readings.take()
    kept = {one.name for one in first.readings if any(one is other for other in second.readings)}
    assert {"dead_rows", "setting", "partitions_ahead"} <= kept
    assert kept.isdisjoint({"sessions_busy", "tail_age", "commits"})
    assert second.at > first.at


def test_the_doctor_does_not_read_itself(ledger: Ledger, server_url: str, ledger_name: str) -> None:
    """Its own session is among no sessions, and its settings don't outlive its transaction."""
    assert ledger.partitions()
    with Readings(server_url, ledger=ledger_name) as readings:
        samples = [readings.take() for _ in range(LOOKS)]
    assert all("doctor" not in one.subject for sample in samples for one in sample.named("transaction_age"))
    with psycopg.connect(server_url) as connection:
        names = connection.execute("SELECT application_name FROM pg_stat_activity").fetchall()
    assert ("lastro doctor",) not in names


def test_readings_of_the_callers_own(ledger: Ledger, server_url: str, ledger_name: str) -> None:
    """Calls of this process are timed while somebody listens, and their percentiles stand in the samples."""
    ledger.open_account("platform", CURRENCY, keeping="hot")
    with Latencies() as latencies, Readings(server_url, ledger=ledger_name, also=latencies.readings) as readings:
        for number in range(5):
            ledger.post(**transfer(f"k:{number}", "world", "platform", 1))
        first, second = readings.take(), readings.take()
    assert first.number("calls", "post") == 5
    p50, p99 = first.number("call_p50", "post"), first.number("call_p99", "post")
    assert p50 is not None
    assert p99 is not None
    assert 0 < p50 <= p99 <= (first.number("call_max", "post") or 0.0)
    assert second.number("calls", "post") is None


def test_a_pool_of_this_process(ground: Ground) -> None:
    """Its size is read, and nobody waits where there are enough connections."""
    with (
        lastro.connect(ground.url, ledger=ground.name, pool_max=4) as ledger,
        traffic(ledger, ground, clients=2),
        Readings(ground.url, ledger=ground.name, pools={"shop": ledger}) as readings,
    ):
        ledger.balance("platform", CURRENCY)
        sample = readings.take()
    [waiting] = sample.named("pool_waiting")
    assert (waiting.subject, waiting.value, waiting.detail["size_max"]) == ("shop", 0, 4)
