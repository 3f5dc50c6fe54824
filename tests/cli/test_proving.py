"""`lastro demo` and `lastro rehearse checkout` pass on what was asked, and end by what was found."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from lastro.cli import proving
from lastro.rehearsal import checkout, demo
from lastro.rehearsal.proof import Proof, Proofs
from tests.cli.conftest import Run

HOLDS = Proof("the platform's commission", "64159.77", "64159.77")
FAILS = Proof("orders counted", 4532, 4531)


def _played(monkeypatch: pytest.MonkeyPatch, *proofs: Proof) -> dict[str, Any]:
    asked: dict[str, Any] = {}

    def run(**given: Any) -> Proofs:
        asked.update(given)
        if given["progress"] is not None:
            given["progress"]("half of it")
        return Proofs(proofs, {"checkouts": 2})

    monkeypatch.setattr(demo, "run", run)
    return asked


def test_a_demo_whose_proofs_hold_ends_well(run: Run, monkeypatch: pytest.MonkeyPatch, server_url: str) -> None:
    """The proofs are listed with what was expected and found; progress goes to stderr; the exit code is 0."""
    asked = _played(monkeypatch, HOLDS)
    answer = run(
        "demo", "--orders", "items.csv", "--matches", "one.csv", "--matches", "two.csv", "--statements", "s.zip"
    )
    assert answer.code == 0
    assert answer.out.splitlines() == [
        "holds\tproof\texpected\tactual",
        "yes\tthe platform's commission\t64159.77\t64159.77",
        "1 of 1 proofs hold",
    ]
    assert answer.err == "half of it\n"
    assert (asked["orders"], asked["url"]) == (Path("items.csv"), server_url)
    assert (asked["matches"], asked["statements"]) == ([Path("one.csv"), Path("two.csv")], Path("s.zip"))


def test_a_demo_with_a_proof_that_fails_ends_with_1(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """One proof that fails makes the exit code 1, in JSON too; without any proof nothing is proved."""
    _played(monkeypatch, HOLDS, FAILS)
    assert "NO\torders counted\t4532\t4531" in run("demo").out
    answer = run("demo", "--json")
    assert (answer.code, answer.err) == (1, "")
    assert answer.json()["proofs"][1] == {"name": "orders counted", "holds": False, "expected": 4532, "actual": 4531}
    _played(monkeypatch)
    assert run("demo").code == 1


def test_parts_of_later_releases_are_said_to_be_missing(run: Run) -> None:
    """What this release can't do is a usage error that says so, never silently left out."""
    answer = run("rehearse", "checkout", "--report", "x.html")
    assert answer.code == 2
    assert "--report is for a later release" in answer.err


def test_a_file_that_is_not_there_is_a_refusal(run: Run) -> None:
    """Orders and criteria that can't be read are one typed error, without a traceback."""
    for words in (("demo", "--orders", "nowhere.csv"), ("rehearse", "checkout", "--criteria", "nowhere.toml")):
        answer = run(*words, "--json")
        assert (answer.code, answer.error()["kind"]) == (1, "refusal")


def test_a_short_rehearsal_is_judged(run: Run, tmp_path: Path) -> None:
    """A second of real checkouts is measured and judged by the criteria of a file; its exit code is the verdict's."""
    criteria = tmp_path / "criteria.toml"
    criteria.write_text("[checkout]\nerrors_max = 0\n")
    answer = run(
        "rehearse", "checkout", "--rate", "20", "--seconds", "1", "--clients", "4", "--criteria", str(criteria),
        "--beside-others", "--json",
    )  # fmt: skip
    judged = answer.json()
    assert {criterion["name"]: criterion["holds"] for criterion in judged["criteria"]} == {
        "balanced": True,
        "errors_max": True,
    }
    assert judged["measured"]["completed"] == judged["measured"]["arrivals"] > 0
    # A busy machine may not make the load in time; then the verdict says that and nothing else.
    assert {"met": 0, "inconclusive": 2}[judged["verdict"]] == answer.code


def test_the_defaults_are_the_rehearsals_own() -> None:
    """The help shows the figures that the rehearsal would take by itself."""
    assert (proving.RATE_PER_SECOND, proving.SECONDS, proving.CLIENTS, proving.PROCESSES) == (
        checkout.RATE_PER_SECOND,
        checkout.SECONDS,
        checkout.CLIENTS,
        checkout.PROCESSES,
    )


def test_the_json_of_a_verdict_is_json(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Figures that there are none of are null: NaN is no JSON."""
    measured = checkout.Measured(
        arrivals=1, completed=0, errors={"lock_timeout": 1}, lost_tries=0, intended_per_second=1.0,
        completed_per_second=0.0, p50_ms=float("nan"), p95_ms=float("nan"), p99_ms=float("nan"), max_ms=float("nan"),
        started_late=0, waited_for_a_client=0, payouts=0, debits_refused=0, tail_rows=0, tail_age_ms=0.0,
        tail_drained_ms=0.0, unbalanced=None,
    )  # fmt: skip
    verdict = checkout.Verdict("missed", (), measured)
    monkeypatch.setattr(checkout, "run", lambda **_: verdict)
    answer = run("rehearse", "checkout", "--json")
    assert answer.code == 1
    assert json.loads(answer.out, parse_constant=pytest.fail)["measured"]["p99_ms"] is None
