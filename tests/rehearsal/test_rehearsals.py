"""Rehearsals played on a real server: what passes, what fails for its reason, and what is left behind."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psycopg
import pytest

import lastro
from lastro.rehearsal.checkout import Checkout
from lastro.rehearsal.match import Match, _Audited, _said
from lastro.rehearsal.planted import DirectHouse, OneTransaction
from lastro.rehearsal.prepaid import Prepaid
from lastro.rehearsal.programme import Programme
from lastro.rehearsal.rehearsing import Rehearsed, rehearse
from lastro.rehearsal.scenario import Scenario
from lastro.rehearsal.stage import OtherLedgersThere, Stage
from tests.support.pgbouncer import pgbouncer_before

SCHEMAS = "SELECT nspname FROM pg_catalog.pg_namespace WHERE nspname ~ '^(rehearsal|marketplace)_' ORDER BY 1"
TRIES_MAX = 3
WAIT_S = 120
LIMITS_OF_TIME = {
    "placement.p99_ms_max", "burst.p99_ms_max", "burst.p99_ratio_max", "burst.longest_over_drain_max",
    "afterwards.backlog_age_ms_max", "afterwards.backlog_drained_ms_max", "afterwards.tail_drained_ms_max",
}  # fmt: skip
FAR_AWAY = datetime(2100, 1, 1, tzinfo=UTC)


def play(url: str, scenario: Scenario, **changed: Any) -> Rehearsed:
    """Play a scenario, small, beside the other ledgers of the tests' server."""
    asked = scenario.defaults._asdict() | {"seed": 1, "clients": 8, "processes": 1, "accounts": 100} | changed
    return rehearse(scenario, Programme(**asked), url=url, beside_others=True, accept_load=True)


def missed(rehearsed: Rehearsed) -> set[str]:
    """The criteria that weren't kept."""
    return {criterion.name for criterion in rehearsed.verdict.criteria if not criterion.holds}


def found(rehearsed: Rehearsed) -> set[tuple[str, str]]:
    """What the doctor found, and of what."""
    return {(finding["code"], finding["subject"]) for finding in rehearsed.document["findings"]}


@contextmanager
def nothing_left(url: str) -> Iterator[None]:
    """Whatever is played within leaves no schema behind."""
    with psycopg.connect(url, autocommit=True) as connection:
        before = connection.execute(SCHEMAS).fetchall()
        yield
        assert connection.execute(SCHEMAS).fetchall() == before


@pytest.mark.req("3.18")
@pytest.mark.req("3.15")
def test_a_match_passes_on_this_design(server_url: str) -> None:
    """
    A market of 1,500 open bets settles beside placements, and every default criterion is kept.

    A machine that is busy with other tests may slow each of three runs: then only limits of time are missed. That they
    are kept is proven by the soak, which has the machine to itself.
    """
    with nothing_left(server_url):
        for _ in range(TRIES_MAX):
            rehearsed = play(server_url, Match(), rate=40.0, seconds=5.0, burst=1_500)
            if rehearsed.verdict.passed:
                break
    document = rehearsed.document
    assert missed(rehearsed) <= LIMITS_OF_TIME
    measured = document["measured"]
    assert measured["completed"] == measured["arrivals"] > 100
    assert (measured["settled"], measured["unbalanced"], measured["drifted"]) == (1_500, None, 0)
    assert document["workers"]["consolidator and relay"]["figures"]["relay"]["published"] > 1_500
    assert {phase for phase, times in document["phases"].items() if times["visits"]} >= {"whole", "before", "burst"}
    # The doctor's readings lie on the same axis as the placements, from the start to the end of the burst.
    read = {line["name"] for line in document["readings"]}
    assert read >= {"settlement: waiting", "sessions_busy", "dead_rows", "tail_age", "settlement_age", "connections"}
    (burst,) = document["events"]
    for line in document["readings"]:
        if line["name"] == "sessions_busy":
            assert line["points"][0][0] < 2.0 < burst["until_s"] - 1.0 < line["points"][-1][0]
    assert 0 < document["generator"]["cpu_share"] < 0.25


@pytest.mark.req("3.18")
def test_a_match_fails_on_a_settlement_in_one_transaction(server_url: str) -> None:
    """
    Settling the market in one transaction holds every bettor's row until its end: placements wait for all of it.

    The criterion says so, no account is blamed for it, and the books balance all the same.
    """
    with nothing_left(server_url):
        rehearsed = play(server_url, OneTransaction(), rate=40.0, seconds=5.0, burst=1_500)
    assert rehearsed.verdict.word == "failed"
    assert "burst.longest_over_drain_max" in missed(rehearsed)
    assert any(
        reason.startswith("burst.longest_over_drain_max: the longest of placements")
        for reason in rehearsed.verdict.reasons
    )
    assert rehearsed.document["measured"]["unbalanced"] is None
    assert ("hot_account_direct", "betting:house BRL") not in found(rehearsed)


@pytest.mark.req("3.18")
def test_a_match_fails_on_a_house_kept_direct(server_url: str) -> None:
    """
    A row that every placement holds until its commit, and every batch of settlement until its own, is a queue.

    The criteria say so, the doctor names the account, and the books balance all the same.
    """
    with nothing_left(server_url):
        rehearsed = play(server_url, DirectHouse(), rate=80.0, seconds=3.0, burst=200)
    assert rehearsed.verdict.word == "failed"
    assert {"placement.p99_ms_max", "burst.p99_ms_max"} <= missed(rehearsed)
    assert rehearsed.document["measured"]["unbalanced"] is None
    assert ("hot_account_direct", "betting:house BRL") in found(rehearsed)


@pytest.mark.req("0.9")
def test_checkouts_with_debits_going_on(server_url: str) -> None:
    """Checkouts arrive, more at one moment, payouts go on, a consolidator folds: nothing fails, the books balance."""
    said: list[str] = []
    asked = Checkout().defaults._asdict() | {"rate": 40.0, "seconds": 3.0, "burst": 20, "clients": 8, "accounts": 200}
    with nothing_left(server_url):
        rehearsed = rehearse(
            Checkout(),
            Programme(**asked, seed=1),
            url=server_url,
            beside_others=True,
            accept_load=True,
            progress=said.append,
        )
    measured = rehearsed.document["measured"]
    assert (measured["completed"], measured["errors"], measured["unbalanced"]) == (measured["arrivals"], {}, None)
    assert measured["payouts"] > 0
    assert measured["debits_refused"] > 0
    assert not missed(rehearsed) & {"books.balanced", "checkout.errors_max", "books.drift_max", "books.incidents_max"}
    assert rehearsed.document["phases"]["burst"]["visits"] >= 20
    assert said[-1] == "auditing the books"


def test_a_charging_run_beside_debits(server_url: str) -> None:
    """
    Jobs fall due at one moment while customers spend, and somebody leaves a transaction open: each is charged once.
    """
    with nothing_left(server_url):
        rehearsed = play(server_url, Prepaid(), rate=40.0, seconds=4.0, burst=150, idle_s=2.0, workers=2)
    measured = rehearsed.document["measured"]
    assert (measured["charged"], measured["unbalanced"], measured["errors"]) == (150, None, {})
    assert not missed(rehearsed) & {"books.balanced", "debit.errors_max", "books.drift_max", "books.incidents_max"}
    assert [event["what"] for event in rehearsed.document["events"]] == [
        "a transaction left open",
        "150 running jobs are due to be charged",
    ]
    idle = [line for line in rehearsed.document["readings"] if line["name"] == "sessions_idle_in_transaction"]
    assert max(value for _, value in idle[0]["points"]) >= 1


@pytest.mark.req("3.12")
def test_everything_goes_through_a_pooler(server_url: str, need: Callable[[str], Path]) -> None:
    """
    Through PgBouncer in transaction mode with a pool of two: nothing is told to it, and nothing fails.

    Its release of Debian loses prepared statements; the rehearsal sees that somebody stands in between.
    """
    with pgbouncer_before(server_url, need("pgbouncer"), pool_size=2) as pooled, nothing_left(server_url):
        rehearsed = play(pooled, Match(), rate=20.0, seconds=3.0, burst=60, accounts=20)
    measured = rehearsed.document["measured"]
    assert (measured["completed"], measured["errors"], measured["unbalanced"]) == (measured["arrivals"], {}, None)
    assert (measured["settled"], measured["incidents"]) == (60, 0)
    assert "pooler_between" in {line["name"] for line in rehearsed.document["readings"]}


def test_a_database_with_other_ledgers_is_refused_until_told_twice(server_url: str, ledger_name: str) -> None:
    """Load beside somebody's ledger has to be asked for twice; the refusal names the ledgers and both words."""
    programme = Programme(**Match().defaults._asdict(), seed=1)
    for told in ({}, {"beside_others": True}, {"accept_load": True}):
        with pytest.raises(OtherLedgersThere, match="--beside-others --accept-load") as refused:
            rehearse(Match(), programme, url=server_url, **told)
        assert ledger_name in refused.value.ledgers


def test_a_server_of_somebody_else_is_not_killed(server_url: str) -> None:
    """The crash is for a server of the rehearsal's own."""
    programme = Programme(**Match().defaults._asdict(), seed=1, crash=True)
    with pytest.raises(lastro.InvalidInput, match="of the rehearsal's own"):
        rehearse(Match(), programme, url=server_url, beside_others=True, accept_load=True)


def test_a_signal_ends_it_and_everything_is_cleaned_up(server_url: str) -> None:
    """SIGTERM in the middle of the load: the process ends by it, its members are gone and its schemas dropped."""
    command = [
        sys.executable,
        "-m",
        "lastro",
        "rehearse",
        "prepaid",
        "--rate",
        "20",
        "--seconds",
        "60",
        "--burst",
        "10",
    ]
    command += ["--accounts", "20", "--clients", "2", "--processes", "1", "--beside-others", "--accept-load"]
    environment = os.environ | {"LASTRO_DATABASE_URL": server_url}
    with nothing_left(server_url):
        process = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)
        assert process.stderr is not None
        heard = next(line for line in process.stderr if line.startswith("running"))
        assert "20 arrivals a second for 60 s" in heard
        with psycopg.connect(server_url, autocommit=True) as connection:
            playing = "SELECT count(*) FROM pg_catalog.pg_stat_activity WHERE application_name LIKE 'rehearsal %'"
            assert connection.execute(playing).fetchone() != (0,)
            process.send_signal(signal.SIGTERM)
            _, said = process.communicate(timeout=WAIT_S)
            assert process.returncode == 128 + signal.SIGTERM
            assert not re.search("Traceback", said)


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (_Audited(0, 0, 5, 5, 10, 10, 30, 30), None),
        (_Audited(1, 0, 5, 5, 10, 10, 30, 30), "1 placements were accepted"),
        (_Audited(0, 2, 5, 5, 10, 10, 30, 30), "2 bets of the decided market"),
        (_Audited(0, 0, 6, 5, 10, 10, 30, 30), "5 bets have 6 settlements"),
        (_Audited(0, 0, 5, 5, 10, 11, 30, 30), "the house keeps 10, by the ledger 11"),
        (_Audited(0, 0, 5, 5, 10, 10, 31, 30), "31 are staked on open bets, and 30 are held"),
    ],
)
def test_the_audit_of_a_match_says_what_is_wrong(found: _Audited, said: str | None) -> None:
    """Each way in which answers, bets and money may part is told."""
    told = _said(found)
    assert told is None if said is None else said in (told or "")


def test_the_audit_of_a_match_asks_the_database(stage: Stage) -> None:
    """A bet that was answered and isn't there, a market half settled, money that is held for nobody: all are seen."""
    match, programme = (
        Match(),
        Programme(rate=1, seconds=1, burst=6, seed=1, clients=1, processes=1, accounts=3, workers=1),
    )
    match.set_up(stage, programme)
    match.prepare(stage, programme, 0, lambda _: None)
    with lastro.connect(stage.url, ledger=stage.ledger, pool_max=2) as ledger, stage.connect() as connection:
        match.place(ledger, programme, 0)
        match.begin_burst(stage, programme)
        assert match.waiting(connection, stage).rows == 1
        assert "6 bets of the decided market" in (match.audit(ledger, connection, stage, [0]) or "")
        assert ledger.betting.settle().settled == 6
        assert match.waiting(connection, stage).rows == 0
        assert match.audit(ledger, connection, stage, [0]) is None
        assert "1 placements were accepted" in (match.audit(ledger, connection, stage, [0, 1]) or "")
        ledger.place_hold(
            key="other", account="bettor:0", currency="BRL", amount=1, owner="somebody", expires_at=FAR_AWAY
        )
        assert "are held" in (match.audit(ledger, connection, stage, [0]) or "")


@pytest.mark.soak
def test_a_match_passes_through_a_crash_of_the_server() -> None:
    """The server is killed and started again: every placement is answered in the end, once, and nothing is lost."""
    asked = Match().defaults._asdict() | {"seconds": 20.0, "burst": 5_000}
    rehearsed = rehearse(Match(), Programme(**asked, seed=1, crash=True))
    assert rehearsed.document["measured"]["unbalanced"] is None
    assert rehearsed.document["measured"]["errors"] == {}
    assert not missed(rehearsed) & {"books.balanced", "placement.errors_max", "books.drift_max", "books.incidents_max"}


@pytest.mark.soak
@pytest.mark.timeout(1_800)
def test_a_match_at_its_default_size(server_url: str) -> None:
    """At the default size this design passes, and the doctor names the mechanism of each planted one."""
    assert play(server_url, Match(), clients=16, processes=2, accounts=10_000, burst=20_000).verdict.reasons == ()
    for planted, code in ((DirectHouse(), "hot_account_direct"), (OneTransaction(), "settlement_batch")):
        rehearsed = play(server_url, planted, clients=16, processes=2, accounts=10_000)
        assert rehearsed.verdict.word == "failed"
        assert code in {one for one, _ in found(rehearsed)}
