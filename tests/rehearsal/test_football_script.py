"""What is played and what must come of it: the script by seed, and the second opinion's own arithmetic."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from math import floor

import pytest

from lastro.rehearsal.football.expectation import (
    DueBet,
    PricedLeg,
    Settled,
    expectation_of,
    returned_of,
    settled_transfers,
    thousandths,
)
from lastro.rehearsal.football.match_rows import make_season
from lastro.rehearsal.football.script import MATCHES_A_ROUND, Script, write_script


@pytest.fixture(scope="module")
def script() -> Script:
    """A made season of 56 matches, for three bettors."""
    return write_script([make_season(8, seed=5)], processes=3, seed=5)


def test_every_round_has_a_result_for_each_settler(script: Script) -> None:
    """No round has a single match, whatever the number of matches: the kill needs a market for each settler."""
    for matches in range(2, 2 * MATCHES_A_ROUND + 3):
        season = make_season(6, seed=1)
        cut = season._replace(rows=season.rows[:matches], matches=season.matches[:matches])
        rounds = write_script([cut], processes=1, seed=1).rounds
        assert [len(one.matches) for one in rounds if len(one.matches) < 2] == []
        assert sum(len(one.matches) for one in rounds) == matches
    assert sum(len(one.matches) for one in script.rounds) == 56


def test_no_leg_is_bet_on_after_its_result(script: Script) -> None:
    """Every bet is submitted before any of its markets' results is reported: else its answer would depend on luck."""
    reported: set[str] = set()
    seen: set[str] = set()
    for one in script.rounds:
        for hand in one.hands:
            for wager in hand:
                if wager.key not in seen:
                    assert not reported & {leg[0] for leg in wager.legs}
        seen |= {wager.key for hand in one.hands for wager in hand}
        reported |= {report.market for report in one.reports}
    assert seen == {wager.key for wager in script.wagers}


def test_a_tenth_is_repeated_and_a_tenth_is_wrong_at_first(script: Script) -> None:
    """A tenth of the submissions comes twice; a tenth of the results has a first version that isn't the file's."""
    submitted = Counter(wager.key for one in script.rounds for hand in one.hands for wager in hand)
    assert Counter(submitted.values()) == {1: len(script.wagers) - script.repeats, 2: script.repeats}
    assert script.repeats == -(-len(script.wagers) // 10)
    winners = {match.market: match.winner for match in script.matches}
    wrong = [report for report in script.reports if report.winner != winners[report.market]]
    assert [report.version for report in wrong] == [1] * 6
    assert {report.market: report.winner for report in script.reports} == winners
    assert script.late_reports != ()


def test_singles_multiples_and_refusals_are_all_there(script: Script) -> None:
    """Bets have one leg or several, on different markets; each kind of refusal comes in every round."""
    legs = Counter(len(wager.legs) for wager in script.wagers)
    assert set(legs) == {1, 2, 3, 4, 5}
    assert all(len({leg[0] for leg in wager.legs}) == len(wager.legs) for wager in script.wagers)
    refusals = Counter(wager.refusal for wager in script.wagers if wager.refusal)
    assert refusals == dict.fromkeys(("account_barred", "insufficient_funds", "odds_changed"), len(script.rounds))


@pytest.mark.parametrize(("text", "value"), [("2", 2000), ("1.95", 1950), ("26.0", 26000), ("1.061", 1061)])
def test_odds_are_whole_thousandths(text: str, value: int) -> None:
    """Decimal text becomes thousandths by its digits."""
    assert thousandths(text) == value


def test_the_second_opinion_by_hand() -> None:
    """12.34 at 1.95 × 3.4 returns 81.81: rounded down once, at the end; void legs count as one, a lost one as nothing."""
    bet = DueBet("ana", 1234, (PricedLeg("a", "home", 1950), PricedLeg("b", "draw", 3400)), 0, (), 0)
    assert returned_of(bet, ("won", "won")) == floor(Fraction(1234) * Fraction("1.95") * Fraction("3.4")) == 8181
    assert returned_of(bet, ("won", "void")) == 2406
    assert returned_of(bet, ("won", "lost")) == 0
    assert returned_of(bet, ("void", "void")) == 1234


def test_a_bets_entries_by_hand() -> None:
    """Void, then won, then lost: nothing moves; then stake and return; then both undone, and the stake taken again."""
    bet = DueBet("ana", 100, (PricedLeg("a", "home", 2050),), 205, ("lost",), 0)
    versions = [Settled(1, 100, True, ("void",)), Settled(2, 205, False, ("won",)), Settled(3, 0, False, ("lost",))]
    assert {key: tuple(booked) for key, booked in settled_transfers(7, bet, versions).items()} == {
        "bet:7:stake:2": ("bet_stake", "ana", "betting:house", 100),
        "bet:7:return:2": ("bet_return", "betting:house", "ana", 205),
        "bet:7:stake_reversed:3": ("reversal", "betting:house", "ana", 100),
        "bet:7:return_reversed:3": ("reversal", "ana", "betting:house", 205),
        "bet:7:stake:3": ("bet_stake", "ana", "betting:house", 100),
    }
    assert settled_transfers(7, bet, versions[:1]) == {}


def test_what_the_accounts_and_the_house_have_adds_up_to_nothing(script: Script) -> None:
    """The second opinion's own balances are a ledger's: what one side has the other lacks, and all stakes are covered."""
    expected = expectation_of(script)
    assert sum(expected.balances.values()) == 0
    assert expected.balances["betting:house"] == sum(expected.house.values())
    assert all(rest >= 0 for account, rest in expected.balances.items() if account.startswith("punter:"))
    assert expected.answers["accepted"] == len(expected.bets)
