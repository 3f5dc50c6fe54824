"""Settlers and placements that are killed anywhere: what was committed stays, the rest is done once by whoever comes next."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from lastro import Ledger
from tests.betting.betting_books import HOUSE, bet, market, money, nothing_is_held, players, result

ROOT = Path(__file__).resolve().parents[2]
PATIENCE_S = 60


def killed_in_every_gap(url: str, ledger: Ledger, what: str) -> int:
    """Kill one in every gap, and return how many gaps there were."""
    command = [sys.executable, "-m", "tests.betting.settler_process", url, ledger._operations.ledger, what]
    done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True, timeout=PATIENCE_S)
    return int(done.stdout)


@pytest.mark.req("3.5")
@pytest.mark.req("3.7")
@pytest.mark.req("3.17")
@pytest.mark.case("C055")
@pytest.mark.parametrize("corrected", [False, True])
def test_a_settler_killed_in_any_gap(books: Ledger, server_url: str, *, corrected: bool) -> None:
    """It leaves whole batches or nothing: the next one goes on from the last commit, and every bet is settled once."""
    players(books, "ana", amount=100_000)
    for name in ("match", "second", "third"):
        market(books, name)
        for number in range(4):
            bet(books, f"{name}:{number}", market=name)
        result(books, name)
    if corrected:
        books.betting.settle()
        for name in ("match", "second", "third"):
            result(books, name, "away", version=2)
    assert killed_in_every_gap(server_url, books, "settle") > 15
    left = books.betting.settle()
    assert left.settled + left.corrected in (8, 10)
    assert books.betting.backlog().results == 0
    assert nothing_is_held(books, "ana")
    keys = [entry.key for entry in books.entries("ana", "BRL", limit=1_000) if entry.key.startswith("bet:")]
    assert len(keys) == len(set(keys)) == 12 * (5 if corrected else 2)
    assert money(books, HOUSE)[0] == (1_200 if corrected else -1_260)


@pytest.mark.req("3.2")
@pytest.mark.case("C038")
def test_a_placement_killed_in_any_gap(books: Ledger, server_url: str) -> None:
    """All of a bet is there or nothing: the same submission again is accepted once, whatever became of the first try."""
    players(books, "ana", amount=100_000)
    market(books)
    bet(books, "warm", stake=1)
    gaps = killed_in_every_gap(server_url, books, "place")
    assert gaps >= 5
    replayed = [bet(books, f"killed:{gap}", stake=7).replayed for gap in range(gaps + 1)]
    assert replayed == [False] * gaps + [True]
    assert money(books, "ana") == (100_000, 1 + 7 * (gaps + 1))
    assert books.betting.exposure("match")[0].bets == gaps + 2
