"""What the audit finds of bets: drift of each kind, planted past the library."""

from __future__ import annotations

import psycopg
import pytest

from lastro import Ledger
from lastro.testing import assert_balanced
from tests.betting.betting_books import bet, market, players, result

POSTED = (
    "INSERT INTO transfer (id, debit_id, credit_id, amount, occurred_at, recorded_at, key, kind, cause, source) "
    "SELECT nextval('transfer_id'), {sides}, {amount}, occurred_at, recorded_at, '{key}', kind, cause, source "
    "FROM transfer WHERE key = '{of}'"
)
SETTLED = (
    "INSERT INTO bet_settlement (bet_id, version, returned, is_void, outcomes, recorded_at) "
    "SELECT bet_id, {version}, {returned}, {is_void}, outcomes, recorded_at FROM bet_settlement "
    "WHERE bet_id = {bet} AND version = 1"
)
TOLD = (
    "INSERT INTO bet_event (bet_id, number, kind, version, recorded_at) "
    "SELECT bet_id, number + 1, kind, {version}, recorded_at FROM bet_event WHERE bet_id = 1 AND number = {number}"
)
# What is planted -> the rule that finds it, and words of what it says. Bet 1 was settled and corrected, bet 2 was lost,
# bet 3 is open.
PLANTED: dict[str, tuple[str, str]] = {
    POSTED.format(sides="debit_id, credit_id", amount="amount", key="again", of="bet:1:stake:2"): (
        "bet_entries", "entry again: expected none",
    ),
    POSTED.format(sides="credit_id, debit_id", amount="1", key="bet:2:return:1", of="bet:2:stake:1"): (
        "bet_entries", "entry bet:2:return:1: expected none",
    ),
    SETTLED.format(bet=2, version=2, returned=7, is_void=False): ("bet_entries", "entry bet:2:return:2: expected 7"),
    SETTLED.format(bet=2, version=2, returned=100, is_void=True): (
        "bet_entries", "entry bet:2:stake_reversed:2: expected 100",
    ),
    SETTLED.format(bet=1, version=4, returned=205, is_void=False): (
        "bet_versions", "settlement 4 of bet 1: expected version 3 with an event, found version 4 with 0 events",
    ),
    TOLD.format(version=2, number=2): ("bet_versions", "settlement 2 of bet 1: expected version 2 with an event, found"),
    TOLD.format(version=3, number=2): ("bet_versions", "settlement 3 of bet 1: expected none"),
    "INSERT INTO bet_event (bet_id, number, kind, version, recorded_at) VALUES (2, 2, 'corrected', 1, now())": (
        "bet_versions", "found version 1 with 2 events by their names",
    ),
    "DELETE FROM open_hold": ("open_bets", "bet c: expected 100 held"),
    "UPDATE open_hold SET left_over = 99": ("open_bets", "found 99 held"),
    "UPDATE open_hold SET account_id = account_id + 1": ("open_bets", "bet c: expected 100 held"),
    "DELETE FROM open_bet": ("open_bets", "not to be settled"),
    "INSERT INTO bet_settlement (bet_id, version, returned, is_void, outcomes, recorded_at) "
    "VALUES (3, 1, 0, false, 'lost', now())": ("open_bets", "bet bet:c: expected no open hold"),
    "UPDATE exposure SET bets = bets + 1 WHERE slice = 3": ("exposures", "expected 1 bets, stakes 100, returns 205"),
    "UPDATE exposure SET stakes = stakes - 1 WHERE slice = 3": ("exposures", "expected 1 bets, stakes 100, returns 205"),
    "UPDATE exposure SET returns = returns + 1 WHERE slice = 3": ("exposures", "expected 1 bets, stakes 100, returns 205"),
    "DELETE FROM exposure": ("exposures", "found 0 bets, stakes 0, returns 0"),
}  # fmt: skip


@pytest.fixture
def book(ledger: Ledger) -> Ledger:
    """A ledger with a bet that was won and then lost, one that was lost and then won, and one that is open."""
    players(ledger, "ana")
    market(ledger)
    bet(ledger, "a")
    market(ledger, "second")
    bet(ledger, "b", market="second")
    result(ledger)
    result(ledger, "second", "away")
    ledger.betting.settle()
    result(ledger, winner="away", version=2)
    ledger.betting.settle()
    market(ledger, "third")
    bet(ledger, "c", market="third")
    assert_balanced(ledger)
    return ledger


@pytest.mark.req("3.7")
@pytest.mark.req("3.17")
@pytest.mark.case("C041")
def test_the_audit_finds(book: Ledger, connection: psycopg.Connection) -> None:
    """
    Each settlement has the entries of its version, each version once, each open bet its hold, and exposures are sums.
    """
    held = book.within(connection)
    for planted, (rule, words) in PLANTED.items():
        connection.execute(planted.encode())
        with pytest.raises(AssertionError) as caught:
            assert_balanced(held)
        connection.rollback()
        found = [line for line in str(caught.value).splitlines() if line.startswith(f"  {rule}: ")]
        assert any(words in line for line in found), (planted, str(caught.value))
    assert_balanced(book)
