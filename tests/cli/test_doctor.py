"""`lastro doctor`: one look, a watch, settings, the report and the page for Prometheus, and what its exit code says."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import urllib.error
import urllib.request
from pathlib import Path

import psycopg
import pytest

from lastro import Ledger
from lastro.doctor import record
from lastro.doctor.finding import Finding
from tests.cli.conftest import SCRIPT, WAIT_S, Run
from tests.support.money import CURRENCY, fund

ONE_LOOK = ("--for", "0")


def drift(ledger: Ledger, connection: psycopg.Connection[object]) -> None:
    """Change a balance by hand, and let a round of reconciliation see it."""
    fund(ledger, "platform", 100)
    connection.execute("UPDATE base SET amount = amount + 7 FROM account WHERE account_id = id AND name = 'platform'")
    connection.commit()
    ledger.reconcile(full=True)


@pytest.mark.req("3.15")
def test_all_is_well(ledger: Ledger, run: Run) -> None:
    """Readings for people, a document for machines, and 0."""
    fund(ledger, "platform", 100, "hot")
    answer = run("doctor", *ONE_LOOK)
    assert answer.code == 0, answer.err
    assert answer.out.startswith("reading\tof\tvalue\n")
    assert answer.out.endswith("nothing was found\n")
    document = run("doctor", *ONE_LOOK, "--json").json()
    assert (document["findings"], document["troubles"], document["applied"]) == ([], [], [])
    assert {reading["name"] for reading in document["readings"]} >= {"sessions_busy", "tail_age", "setting"}


@pytest.mark.req("3.16")
def test_a_finding_exits_1(ledger: Ledger, connection: psycopg.Connection[object], run: Run, tmp_path: Path) -> None:
    """It is named with its evidence and advice, on the terminal, in JSON and in the report."""
    drift(ledger, connection)
    page = tmp_path / "report.html"
    answer = run("doctor", *ONE_LOOK, "--report", str(page))
    assert answer.code == 1
    assert "critical\tdrift\tplatform BRL\tincident" in answer.out
    [found] = run("doctor", *ONE_LOOK, "--json").json()["findings"]
    assert (found["code"], found["page"]) == ("drift", "docs/doctor.md#drift")
    assert f"platform {CURRENCY}" in page.read_text("utf-8")


def test_what_could_not_be_read_is_not_well(run: Run) -> None:
    """Nothing found in half of the readings is no health: 2, and what is missing."""
    answer = run("doctor", *ONE_LOOK, env={"LASTRO_LEDGER": "nowhere"})
    assert answer.code == 2
    assert "tail couldn't be read: " in answer.out
    assert answer.out.endswith("nothing was found in what could be read\n")


def test_a_database_that_can_not_be_reached(run: Run) -> None:
    """2, and one error."""
    answer = run("doctor", "--json", env={"LASTRO_DATABASE_URL": "postgresql://nobody@127.0.0.1:1/none"})
    assert answer.code == 2
    assert answer.error()["code"] == "connection_lost"


def test_a_refused_login_could_not_read(run: Run, server_url: str) -> None:
    """A refusal of the database's is 2 here as well: 1 would say that something was found."""
    wrong = server_url.replace("://lastro:", "://lastro:wrong-")
    assert run("doctor", env={"LASTRO_DATABASE_URL": wrong}).code == 2


def test_settings_with_reasons(ledger: Ledger, connection: psycopg.Connection[object], run: Run) -> None:
    """Each setting beside what it should be, why, and the SQL; a table that somebody changed among them."""
    assert ledger.partitions()
    connection.execute("ALTER TABLE tail SET (autovacuum_vacuum_scale_factor = 0.2, autovacuum_enabled = off)")
    connection.commit()
    answer = run("doctor", "--settings", "--json")
    assert answer.code == 0
    told = {setting["name"]: setting for setting in answer.json()["settings"]}
    assert told["autovacuum"]["sql"] is None
    assert told["fsync"]["sql"] == "ALTER SYSTEM SET fsync = 'on';"
    assert told["table base"]["sql"] is None
    assert "should be 0" in told["table tail"]["value"]
    assert all(setting["why"] for setting in told.values())
    connection.execute(told["table tail"]["sql"].encode())
    connection.commit()
    healed = {setting["name"]: setting for setting in run("doctor", "--settings", "--json").json()["settings"]}
    assert healed["table tail"]["value"] == "as migrated"


def test_apply_does_what_the_ledger_can(ledger: Ledger, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """An account is kept as advised; a finding that takes a person is left alone."""
    fund(ledger, "platform", 100)
    hot = Finding(
        "hot_account_direct",
        "warning",
        "",
        "",
        "",
        "",
        "",
        {"account": "platform", "currency": CURRENCY, "keep": "hot"},
    )
    other = Finding("drift", "critical", "", "", "", "", "")
    monkeypatch.setattr(record, "find", lambda _: (other, hot))
    answer = run("doctor", *ONE_LOOK, "--apply", "--json")
    assert answer.code == 1
    assert answer.json()["applied"] == [f"platform {CURRENCY} is kept hot now"]
    assert {account.name: account.keeping for account in ledger.accounts()}["platform"] == "hot"


def test_a_watch_ends_by_a_signal(
    ledger: Ledger, connection: psycopg.Connection[object], environment: dict[str, str]
) -> None:
    """A line a sample, each finding once, readings for Prometheus meanwhile; SIGTERM ends it with what was found last."""
    drift(ledger, connection)
    command = [str(SCRIPT), "doctor", "--watch", "0.1", "--listen", "127.0.0.1:0"]
    with subprocess.Popen(
        command, env=os.environ | environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        place = process.stdout.readline().split()[-1]
        lines = [process.stdout.readline() for _ in range(4)]
        with urllib.request.urlopen(place, timeout=WAIT_S) as response:
            exposed = response.read().decode()
        with pytest.raises(urllib.error.HTTPError, match="404"):
            urllib.request.urlopen(place.replace("metrics", "secrets"), timeout=WAIT_S)
        process.send_signal(signal.SIGTERM)
        rest, errors = process.communicate(timeout=WAIT_S)
    assert process.returncode == 1, errors
    assert lines[0].rstrip().endswith("  drift")
    assert lines[1].startswith(f"  critical drift, platform {CURRENCY}: incident")
    assert "".join([*lines, rest]).count("critical drift") == 1
    assert 'lastro_doctor_finding{code="drift",severity="critical"' in exposed
    assert "lastro_doctor_open_incidents 1\n" in exposed
    assert "# TYPE lastro_doctor_commits_total counter\n" in exposed


def test_a_watch_for_machines(ledger: Ledger, environment: dict[str, str]) -> None:
    """A document a line."""
    assert ledger.partitions()
    with subprocess.Popen(
        [str(SCRIPT), "doctor", "--watch", "0.1", "--json"],
        env=os.environ | environment,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        first = json.loads(process.stdout.readline())
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=WAIT_S)
    assert process.returncode == 0
    assert (first["findings"], bool(first["readings"])) == ([], True)


def test_a_place_to_listen_at(run: Run) -> None:
    """It is HOST:PORT."""
    answer = run("doctor", "--listen", "everywhere", "--json")
    assert answer.code == 2
    assert "HOST:PORT" in answer.error()["message"]
    with socket.create_server(("127.0.0.1", 0)) as taken:
        answer = run("doctor", "--listen", f"127.0.0.1:{taken.getsockname()[1]}", "--json")
    assert answer.code == 2
    assert "can't listen" in answer.error()["message"]
