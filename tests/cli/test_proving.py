"""`lastro demo` passes on what was asked, and ends by what was found."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from lastro.rehearsal import demo
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


def test_a_file_that_is_not_there_is_a_refusal(run: Run) -> None:
    """Orders that can't be read are one typed error, without a traceback."""
    answer = run("demo", "--orders", "nowhere.csv", "--json")
    assert (answer.code, answer.error()["kind"]) == (1, "refusal")
