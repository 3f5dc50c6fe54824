"""`lastro points …`: each command does what it says, for people and for machines."""

from __future__ import annotations

from typing import Any

import pytest

from lastro import Ledger
from lastro.cli import points as commands
from lastro.cli.terminal import Terminal
from tests.cli.conftest import Run
from tests.cli.test_commands import _no_text

RULE = ("points", "rule", "game", "--activity", "game", "--points", "10", "--currency", "PTS")
EARN = ("points", "earn", "--activity", "game", "--member", "ana", "--occurred-at", "2026-01-07T12:00:00Z")
JANUARY = ("--since", "2026-01-01T00:00:00Z", "--until", "2026-02-01T00:00:00Z")


def told(run: Run, *arguments: str) -> Any:
    """What a command told machines, all of it well-formed."""
    answer = run(*arguments, "--json")
    assert (answer.code, answer.err) == (0, "")
    assert list(_no_text(answer.json())) == []
    return answer.json()


@pytest.mark.req("1.11")
def test_rules_from_the_terminal(run: Run) -> None:
    """A rule is defined, changed, shown, listed and ended."""
    first = told(run, *RULE, "--cap", "50", "--period", "week", "--time-zone", "Europe/Paris", "--lot-days", "30")
    assert (first["version"], first["points"], first["cap"], first["lot_days"]) == (1, "10", "50", 30)
    assert told(run, *RULE)["version"] == 2
    assert told(run, "points", "rule", "game")["cap"] is None
    assert [rule["name"] for rule in told(run, "points", "rules")["rules"]] == ["game"]
    assert "10 PTS" in run("points", "rules").out
    assert "50 for ever, fit" in run(*RULE, "--cap", "50").out
    assert told(run, "points", "rule", "game", "--end")["points"] == "0"
    unknown = run("points", "rule", "nothing", "--json")
    assert (unknown.code, unknown.error()["code"]) == (1, "unknown_rule")
    for missing in ("--activity", "--points", "--currency"):
        at = RULE.index(missing)
        answer = run(*RULE[:at], *RULE[at + 2 :])
        assert (answer.code, missing in answer.err) == (2, True)
    assert run(*RULE[:-4], "--points", "1.5", "--currency", "PTS").code == 1


@pytest.mark.req("1.12")
def test_activity_from_the_terminal(run: Run, ledger: Ledger) -> None:
    """An activity earns once, shows what it earned, and is cancelled once."""
    run(*RULE)
    first = told(run, *EARN, "--key", "g1", "--units", "2")
    assert (first["replayed"], first["activity"]["earnings"][0]["amount"]) == (False, "20")
    assert told(run, *EARN, "--key", "g1", "--units", "2")["replayed"]
    assert "nothing was given again" in run(*EARN, "--key", "g1", "--units", "2").out
    assert run(*EARN, "--key", "g1").code == 1
    other = ("points", "earn", "--activity", "gaem", "--member", "ana")
    assert "it earned nothing" in run(*other, "--key", "g0").out
    assert told(run, *other, "--key", "g0")["activity"]["earnings"] == []
    assert told(run, "points", "activity", "g1")["member"] == "ana"
    assert "20 PTS (game)" in run("points", "activity", "g1").out
    assert run("points", "activity", "g2").code == 1
    assert told(run, "points", "cancel", "--key", "g1")["taken"][0]["amount"] == "20"
    assert told(run, "points", "cancel", "--key", "g1")["replayed"]
    assert run("points", "cancel", "--key", "g2").code == 1
    assert ledger.balance("ana", "PTS").posted == 0


@pytest.mark.req("1.13")
def test_a_rebuild_from_the_terminal(run: Run, ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    """A dry run tells what the run then does; the bar moves for people and is silent for machines."""
    run(*RULE)
    run(*EARN, "--key", "g1")
    run("points", "rule", "game", "--activity", "game", "--points", "15", "--currency", "PTS")
    dry = told(run, "points", "rebuild", "game", *JANUARY, "--dry-run")
    assert (dry["dry_run"], dry["changes"], dry["given"]) == (True, 1, "5")
    assert ledger.balance("ana", "PTS").posted == 10
    assert told(run, "points", "rebuild", "game", *JANUARY) == dry | {"dry_run": False}
    assert ledger.balance("ana", "PTS").posted == 15
    assert "nothing was written" in run("points", "rebuild", "game", *JANUARY, "--dry-run").out
    assert run("points", "rebuild", "game", "--since", "2026-01-01", "--until", "2026-02-01").code == 1

    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    with commands._progress(Terminal(None, None, as_json=False)) as progress:
        assert progress is not None
        ledger.points.rebuild(
            "game", ledger.points.activity("g1").occurred_at, ledger.points.rule("game").defined_at, progress=progress
        )  # type: ignore[union-attr]
    with commands._progress(Terminal(None, None, as_json=True)) as silent:
        assert silent is None


def test_points_are_spent_given_and_erased(run: Run, ledger: Ledger) -> None:
    """Spend, give, refund, list lots, expire, erase; each for people too."""
    ledger.open_account("reward:mug", "PTS", floor=None)
    run(*RULE, "--lot-days", "3650")
    run(*EARN, "--key", "g1", "--units", "10")
    spend = ("points", "spend", "--key", "s1", "--member", "ana", "--points", "30", "--currency", "PTS")
    assert told(run, *spend, "--reward", "reward:mug")["transfer"]["amount"] == "30"
    assert "nothing was moved again" in run(*spend, "--reward", "reward:mug").out
    give = ("points", "give", "--key", "p1", "--giver", "ana", "--receiver", "bea", "--points", "20")
    assert told(run, *give, "--currency", "PTS")["transfer"]["credit"] == "bea"
    assert told(run, "points", "refund", "--key", "r1", "--spend", "s1", "--points", "10")["transfer"]["amount"] == "10"
    assert [lot["left_over"] for lot in told(run, "points", "lots", "ana", "PTS")["lots"]] == ["60"]
    assert "60" in run("points", "lots", "ana", "PTS").out
    assert told(run, "points", "expire") == {"lots": 0, "accounts": 0, "points": "0", "skipped": 0}
    assert run("points", "erase", "bea").code == 2
    erased = told(run, "points", "erase", "bea", "--for-good")
    assert ledger.balance(erased["pseudonym"], "PTS").posted == 20
    assert run("points", "erase", "bea", "--for-good").code == 1
    assert run(*spend[:-4], "--points", "x", "--currency", "PTS", "--reward", "reward:mug").code == 1
