"""`lastro bet …`: each command does what it says, for people and for machines."""

from __future__ import annotations

import pytest

from lastro import Ledger
from tests.cli.conftest import Run
from tests.cli.test_points import told

OPEN = ("bet", "market", "match", "--currency", "BRL", "--odds", "home=2.05", "--odds", "away=4")
PLACE = ("bet", "place", "--account", "ana", "--currency", "BRL", "--amount", "1.00")


@pytest.fixture
def player(ledger: Ledger) -> Ledger:
    """A ledger with a player."""
    ledger.open_account("ana", "BRL")
    ledger.post(key="f", kind="fund", debit="world", credit="ana", amount=1_000, currency="BRL")
    return ledger


@pytest.mark.req("3.2")
@pytest.mark.req("3.6")
def test_a_bet_from_the_terminal(run: Run, player: Ledger) -> None:
    """A market is opened and changed, a bet placed once, settled, corrected, voided, and shown with what became of it."""
    assert told(run, *OPEN)["market"]["selections"][0] == {"name": "home", "odds": "2.05", "state": "open"}
    first = told(run, *PLACE, "--key", "b", "--leg", "match/home@2.05")
    assert (first["replayed"], first["bet"]["stake"], first["bet"]["potential_return"]) == (False, "100", "205")
    assert told(run, *PLACE, "--key", "b", "--leg", "match/home@2.05")["replayed"]
    assert "accepted" in run(*PLACE, "--key", "c", "--leg", "match/away@4").out
    refused = run(*PLACE, "--key", "d", "--leg", "match/home@9.9", "--json")
    assert (refused.code, refused.error()["code"]) == (1, "odds_changed")
    assert [bet["key"] for bet in told(run, "bet", "list", "ana", "BRL")["bets"]] == ["b", "c"]
    assert told(run, "bet", "list", "--market", "match", "--limit", "1")["next"] == "b"
    settled = told(run, "bet", "settle", "match", "--outcome", "home=won", "--others", "lost")
    assert (settled["result"]["outcome"], settled["settlement"]["settled"]) == ("recorded", 2)
    again = told(run, "bet", "settle", "match", "--outcome", "home=won", "--others", "lost")
    assert (again["result"]["outcome"], again["settlement"]["batches"]) == ("duplicate", 0)
    corrected = told(run, "bet", "correct", "match", "--version", "2", "--outcome", "away=won", "--others", "lost")
    assert corrected["settlement"]["corrected"] == 2
    assert told(run, "bet", "void", "match")["result"]["version"] == 3
    shown = told(run, "bet", "show", "b")
    assert (shown["state"], [event["kind"] for event in shown["events"]]) == ("void", ["settled", *["corrected"] * 2])
    assert "corrected" in run("bet", "show", "b").out
    assert told(run, "bet", "settle") == {
        "result": None,
        "settlement": dict.fromkeys(again["settlement"], 0) | {"full": False},
    }
    assert player.balance("ana", "BRL").available == 1_000


def test_markets_from_the_terminal(run: Run, player: Ledger) -> None:
    """Odds and states change; what is wrong with a command line is said."""
    run(*OPEN, "--closes-at", "2100-01-01T00:00:00Z", "--stake-max-minor", "500", "--liability-max-minor", "1000")
    changed = told(run, "bet", "market", "match", "--odds", "home=2.10", "--odds", "draw=3.3", "--withdraw", "away")
    assert [selection["state"] for selection in changed["market"]["selections"]] == ["open", "suspended", "open"]
    for option, state in (("--suspend", "suspended"), ("--resume", "open"), ("--close", "closed")):
        assert told(run, "bet", "market", "match", option)["market"]["state"] == state
    assert told(run, "bet", "markets", "--state", "closed")["markets"][0]["stake_max"] == "500"
    assert "2.10" in run("bet", "market", "match").out
    assert "match" in run("bet", "markets").out
    assert run("bet", "market", "nowhere", "--json").error()["code"] == "unknown_market"
    for wrong in ("match", "match/home", "home@2"):
        assert run(*PLACE, "--key", "x", "--leg", wrong).code == 2
    assert run("bet", "market", "match", "--odds", "home").code == 2
    assert run("bet", "settle", "match", "--outcome", "home=won", "--outcome", "home=lost").code == 2
    assert run("bet", "markets", "--state", "shut").code == 1


def test_what_waits_for_a_person(run: Run, player: Ledger) -> None:
    """Overdue and stuck bets are listed, and stuck ones tried again."""
    run(*OPEN)
    told(run, *PLACE, "--key", "b", "--leg", "match/home@2.05")
    assert told(run, "bet", "overdue") == {"bets": []}
    player.post(key="bet:1:stake:1", kind="other", debit="world", credit="ana", amount=1, currency="BRL")
    assert told(run, "bet", "settle", "match", "--outcome", "home=won", "--others", "lost")["settlement"]["stuck"] == 1
    assert told(run, "bet", "stuck")["stuck"][0]["code"] == "transfer_conflict"
    assert "transfer_conflict" in run("bet", "stuck").out
    assert told(run, "bet", "retry", "b")["bets"] == 1
    assert told(run, "bet", "retry")["settlement"]["stuck"] == 1


def test_a_bet_is_voided_from_the_terminal(run: Run, player: Ledger) -> None:
    """One bet, with a reason and a name, once; what doesn't go together is refused by name."""
    told(run, *OPEN)
    told(run, *PLACE, "--key", "b", "--leg", "match/home@2.05")
    wrong = (
        (), ("match", "--bet", "b"), ("--bet", "b"), ("--bet", "b", "--reason", "r"), ("match", "--reason", "r"),
        ("--bet", "b", "--reason", "r", "--actor", "a", "--version", "2"),
    )  # fmt: skip
    assert {run("bet", "void", *arguments).code for arguments in wrong} == {2}
    by_hand = ("bet", "void", "--bet", "b", "--reason", "wrong price", "--actor", "ana")
    assert "voided" in run(*by_hand).out
    again = told(run, *by_hand)
    assert (again["replayed"], again["bet"]["state"]) == (True, "void")
    assert player.balance("ana", "BRL").held == 0
    assert told(run, "bet", "letters")["letters"] == []
    player.betting.take(b"\xff{", topic="feed")
    (letter,) = told(run, "bet", "letters")["letters"]
    assert (letter["topic"], letter["code"], letter["message"]) == ("feed", "poison", "\\xff{")
    assert "poison" in run("bet", "letters").out
