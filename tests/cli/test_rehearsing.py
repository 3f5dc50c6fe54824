"""`lastro rehearse` passes on what was asked, and ends by what was found."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from lastro.rehearsal import rehearsing
from lastro.rehearsal.checkout import Checkout
from lastro.rehearsal.match import Match
from lastro.rehearsal.planted import DirectHouse, OneTransaction
from lastro.rehearsal.prepaid import Prepaid
from lastro.rehearsal.programme import Programme
from lastro.rehearsal.rehearsing import Rehearsed
from lastro.rehearsal.verdict import Criterion, Verdict
from tests.cli.conftest import Run
from tests.rehearsal.test_report import parsed, run_made

MISSED = Criterion("burst.p99_ms_max", 500.0, 1402.0, holds=False, note="99 % took up to 1,402 ms")


@pytest.fixture
def played(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What the rehearsal was asked; it answers at once, by the word that is put in `word`."""
    asked: dict[str, Any] = {"word": "failed"}

    def rehearse(scenario: Any, programme: Programme, **given: Any) -> Rehearsed:
        asked.update(scenario=scenario, programme=programme, **given)
        if given["progress"] is not None:
            given["progress"]("running")
        verdict = Verdict(asked["word"], (MISSED,), ("burst.p99_ms_max: too slow",))
        document = run_made() | {"scenario": scenario.name} | verdict.as_dict()
        measured = {"completed_per_second": 39.5, "p50_ms": 2.0, "p99_ms": None}
        return Rehearsed(verdict, document | {"measured": document["measured"] | measured})

    monkeypatch.setattr(rehearsing, "rehearse", rehearse)
    return asked


@pytest.mark.parametrize(
    ("words", "scenario"),
    [
        (("checkout",), Checkout),
        (("match",), Match),
        (("prepaid",), Prepaid),
        (("match", "--planted", "direct-house"), DirectHouse),
        (("match", "--planted", "one-transaction"), OneTransaction),
    ],
)
def test_a_scenario_is_played_by_its_defaults(
    run: Run, played: dict[str, Any], server_url: str, words: tuple[str, ...], scenario: type[Match]
) -> None:
    """What isn't said is the scenario's own; the database is the one that is named."""
    assert run("rehearse", *words).code == 1
    assert type(played["scenario"]) is scenario
    assert played["programme"] == Programme(**scenario.defaults._asdict(), seed=1)
    assert (played["url"], played["beside_others"], played["accept_load"]) == (server_url, False, False)


def test_every_option_reaches_the_programme(run: Run, played: dict[str, Any]) -> None:
    """What is said is what is played."""
    answer = run(
        "rehearse", "match", "--rate", "7", "--seconds", "8", "--burst", "9", "--clients", "10", "--processes", "2",
        "--accounts", "12", "--workers", "3", "--seed", "14", "--idle-transaction", "1.5", "--crash", "--criteria", "c.toml",
        "--beside-others", "--accept-load",
    )  # fmt: skip
    assert answer.code == 1
    assert played["programme"] == Programme(7.0, 8.0, 9, 14, 10, 2, 12, 3, 1.5, crash=True)
    assert (played["criteria"], played["beside_others"], played["accept_load"]) == (Path("c.toml"), True, True)
    assert "running" in answer.err


@pytest.mark.parametrize(("word", "code"), [("passed", 0), ("failed", 1), ("inconclusive", 2)])
def test_the_verdict_is_the_exit_code(run: Run, played: dict[str, Any], word: str, code: int) -> None:
    """0 passed, 1 failed, 2 couldn't be run; criteria, reasons and findings are told, in JSON everything."""
    played["word"] = word
    answer = run("rehearse", "match")
    assert answer.code == code
    assert "NO\tburst.p99_ms_max\t500.0\t1402.0" in answer.out
    assert "burst.p99_ms_max: too slow" in answer.out
    assert "found during the burst: hot_account_direct" in answer.out
    machines = run("rehearse", "match", "--json")
    assert (machines.code, machines.err) == (code, "")
    assert json.loads(machines.out, parse_constant=pytest.fail)["verdict"] == word


def test_the_report_is_written_beside_another_run(run: Run, played: dict[str, Any], tmp_path: Path) -> None:
    """One page; the other run is read before the load, and has to be one of the same scenario."""
    before, report = tmp_path / "before.json", tmp_path / "out.html"
    before.write_text(json.dumps(run_made()), "utf-8")
    assert run("rehearse", "match", "--report", str(report), "--against", str(before)).code == 1
    assert "Against the run of" in "".join(parsed(report.read_text("utf-8")).itertext())
    played.clear()
    refused = run("rehearse", "prepaid", "--against", str(before), "--json")
    assert (refused.code, refused.error()["code"]) == (2, "invalid_input")
    assert played == {}


def test_two_runs_are_compared(run: Run, tmp_path: Path) -> None:
    """Figure by figure, with what the programmes differ in, and as a page."""
    before, after, report = (tmp_path / name for name in ("a.json", "b.json", "out.html"))
    before.write_text(json.dumps(run_made()), "utf-8")
    later = run_made()
    later["programme"]["rate"] = 80.0
    later["phases"]["burst"]["p99_ms"] = 1600.0
    after.write_text(json.dumps(later), "utf-8")
    answer = run("rehearse", "compare", str(before), str(after), "--report", str(report))
    assert answer.code == 0
    assert "burst: p99 ms\t800\t1,600\t+100%\tworse" in answer.out
    assert "failed before, failed after; the programmes differ in rate" in answer.out
    parsed(report.read_text("utf-8"))
    machines = run("rehearse", "compare", str(before), str(after), "--json").json()
    assert machines["programmes_differ_in"] == ["rate"]


@pytest.mark.parametrize(
    "words",
    [
        ("match", "--planted", "nothing"),
        ("match", "--rate", "0"),
        ("match",),
        ("checkout", "--criteria", "nowhere.toml"),
        ("match", "--against", "nowhere.json"),
    ],
)
def test_what_cant_be_played_ends_with_2(run: Run, words: tuple[str, ...]) -> None:
    """One sentence before any load, and never 1, which says that a criterion was missed: nothing was judged."""
    answer = run("rehearse", *words, "--json")
    assert answer.code == 2
    assert answer.error()["message"]


def test_what_cant_be_compared_is_refused(run: Run) -> None:
    """A file that isn't there is one sentence."""
    answer = run("rehearse", "compare", "nowhere.json", "nowhere.json", "--json")
    assert (answer.code, answer.error()["kind"]) == (1, "refusal")
