"""`lastro reconcile` and `lastro incidents`: for people and for machines, with exit codes for a scheduler."""

from __future__ import annotations

import threading
from typing import Any

import psycopg
import pytest

from lastro import Ledger
from lastro.workers import crew
from tests.cli.conftest import Run

pytestmark = [pytest.mark.req("2.7"), pytest.mark.req("3.19")]


@pytest.fixture
def drifted(ledger: Ledger, connection: psycopg.Connection[Any]) -> Ledger:
    """A ledger whose one account has 0.05 more than its history says."""
    ledger.open_account("a", "BRL")
    ledger.post(key="k", kind="pay", debit="world", credit="a", amount=100, currency="BRL")
    connection.execute("UPDATE base SET amount = 105 WHERE amount = 100")
    connection.commit()
    return ledger


def test_a_ledger_in_order(ledger: Ledger, run: Run) -> None:
    """Exit code 0, and how many accounts were compared."""
    ledger.open_account("a", "BRL")
    assert run("reconcile").out == "accounts compared: 2, unmoved: 0, differing: 0; open incidents: 0\n"
    assert run("reconcile", "--json").json() == {
        "accounts": 0, "skipped": 2, "drifted": 0, "opened": 0, "adjusted": 0, "open_incidents": 0, "complete": True,
        "incidents": [],
    }  # fmt: skip
    assert run("reconcile", "--full", "--json").json()["accounts"] == 2
    assert run("incidents", "--json").json() == {"incidents": [], "next": None}


def test_drift_from_its_finding_to_its_explanation(drifted: Ledger, run: Run) -> None:
    """Exit code 1 until somebody explains it; listed, explained once, and then history."""
    found = run("reconcile")
    assert found.code == 1
    header, row, note = found.out.splitlines()
    assert header.split("\t")[:6] == ["incident", "account", "currency", "rule", "expected", "found"]
    assert row.split("\t")[1:6] == ["a", "BRL", "balance", "1.00", "1.05"]
    assert note == "accounts compared: 2, unmoved: 0, differing: 1; open incidents: 1"
    again = run("reconcile", "--json")
    assert (again.code, again.json()["opened"], again.json()["open_incidents"]) == (1, 0, 1)
    (incident,) = run("incidents", "list", "--json").json()["incidents"]
    assert (incident["expected"], incident["found"], incident["explained_at"]) == ("100", "105", None)
    number = str(incident["id"])
    words = ("--explanation", "a script", "--actor", "ana")
    explained = run("incidents", "explain", number, *words, "--json").json()
    assert (explained["explanation"], explained["explained_by"]) == ("a script", "ana")
    other = run("incidents", "explain", number, "--explanation", "a ghost", "--actor", "ana", "--json")
    assert (other.code, other.error()["code"]) == (1, "incident_explained")
    assert run("incidents", "explain", "999", *words, "--json").error()["code"] == "unknown_incident"
    assert run("reconcile").code == 0
    assert run("incidents").out == ""
    assert run("incidents", "list", "--all").out.splitlines()[1].split("\t")[-1] == "a script"
    assert drifted.balance("a", "BRL").posted == 105


def test_adjusting_by_the_terminal(drifted: Ledger, run: Run) -> None:
    """The entry is there, the balance as before, and the exit code still 1."""
    found = run("reconcile", "--on-drift", "adjust", "--json")
    assert (found.code, found.json()["adjusted"]) == (1, 1)
    assert [entry.signed for entry in drifted.entries("a", "BRL")] == [100, 5]
    assert drifted.balance("a", "BRL").posted == 105
    assert run("reconcile", "--on-drift", "mend").code == 2


@pytest.mark.parametrize("drifting", [True, False])
def test_again_and_again_until_a_signal(
    ledger: Ledger,
    connection: psycopg.Connection[Any],
    run: Run,
    monkeypatch: pytest.MonkeyPatch,
    drifting: bool,
) -> None:
    """`--every` runs rounds until it is told to stop; its exit code says whether any of them met open drift."""
    ledger.open_account("a", "BRL")
    if drifting:
        connection.execute("UPDATE base SET amount = 5 WHERE floor = 0")
        connection.commit()
    rounds = threading.Semaphore(0)
    reconcile = Ledger.reconcile

    def counted(self: Ledger, **options: Any) -> Any:
        done = reconcile(self, **options)
        rounds.release()
        return done

    monkeypatch.setattr(Ledger, "reconcile", counted)
    work = crew.Crew.run

    def stopped_after_two_rounds(self: crew.Crew, *, signals: bool = False) -> Any:
        def wait() -> None:
            rounds.acquire()
            rounds.acquire()
            self.stop()

        threading.Thread(target=wait).start()
        return work(self, signals=signals)

    monkeypatch.setattr(crew.Crew, "run", stopped_after_two_rounds)
    ended = run("reconcile", "--every", "0.1", "--json")
    assert ended.code == (1 if drifting else 0)
    assert ended.json()["workers"]["reconciler"]["ticks"] >= 2
