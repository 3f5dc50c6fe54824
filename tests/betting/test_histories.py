"""Random markets, bets, results and corrections, against a naive bookmaker who works in fractions and knows no database."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import count
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lastro import InsufficientFunds, Ledger
from lastro.testing import assert_balanced
from tests.betting.betting_books import CURRENCY, HOUSE, fund_all
from tests.betting.betting_books import money as money_of

FUNDS = 1_000
PLAYERS = ("p0", "p1", "p2")
SELECTIONS = ("a", "b", "c")
SHARES = {
    "won": (Fraction(1), Fraction(0)), "lost": (Fraction(0), Fraction(0)), "void": (Fraction(0), Fraction(1)),
    "half_won": (Fraction(1, 2), Fraction(1, 2)), "half_lost": (Fraction(0), Fraction(1, 2)),
    "dead_heat:1/2": (Fraction(1, 2), Fraction(0)), "dead_heat:2/3": (Fraction(2, 3), Fraction(0)),
}  # fmt: skip
EXAMPLES = 25
EXAMPLES_SOAK = 400

odds = st.integers(1_001, 9_000)
legs = st.lists(
    st.tuples(st.integers(0, 3), st.sampled_from(SELECTIONS)), min_size=1, max_size=4, unique_by=lambda leg: leg[0]
)
outcomes = st.fixed_dictionaries({name: st.sampled_from(sorted(SHARES)) for name in SELECTIONS})
operation = st.one_of(
    st.tuples(st.just("bet"), st.sampled_from(PLAYERS), st.integers(1, 400), legs),
    st.tuples(st.just("result"), st.integers(0, 3), outcomes, st.booleans()),
    st.tuples(st.just("settle"), st.integers(1, 4)),
)
histories = st.tuples(
    st.lists(st.fixed_dictionaries(dict.fromkeys(SELECTIONS, odds)), min_size=4, max_size=4),
    st.lists(operation, min_size=4, max_size=30),
    st.fixed_dictionaries(dict.fromkeys(range(4), outcomes)),
)
examples = count()
# How often each thing was done: a history that reaches nothing proves nothing.
reached: Counter[str] = Counter()


class Naive:
    """What a bookmaker with a pencil does: bets, the newest results, and the sums when all is decided."""

    def __init__(self, prices: list[dict[str, int]]) -> None:
        self.prices = prices
        self.bets: dict[str, tuple[str, int, list[tuple[int, str]]]] = {}
        self.results: dict[int, dict[str, str]] = {}

    def factor(self, leg: tuple[int, str]) -> Fraction:
        """What a stake of one becomes on a leg."""
        wins, back = SHARES[self.results[leg[0]][leg[1]]]
        return Fraction(self.prices[leg[0]][leg[1]], 1000) * wins + back

    def returned(self, key: str) -> int | None:
        """What a bet gives back; None while a market of it is undecided."""
        _, stake, chosen = self.bets[key]
        if any(number not in self.results for number, _ in chosen):
            return None
        product = Fraction(stake)
        for leg in chosen:
            product *= self.factor(leg)
        return int(product // 1)

    def balance(self, player: str) -> int:
        """What a player has when every bet is settled by what is known last."""
        return FUNDS + sum(
            (self.returned(key) or 0) - stake for key, (who, stake, _) in self.bets.items() if who == player
        )


def play(ledger: Ledger, history: Any) -> None:
    """Play a history in markets and with players of its own, and compare."""
    prices, operations, last = history
    run = next(examples)
    naive = Naive(prices)
    names = [f"{run}:m{number}" for number in range(4)]
    players = {name: f"{run}:{name}" for name in PLAYERS}
    betting = ledger.betting
    house_before = fund_all(ledger, players.values(), FUNDS)
    for name, price in zip(names, prices, strict=True):
        betting.open_market(name, CURRENCY, odds={one: f"{value / 1000:.3f}" for one, value in price.items()})
    for place, operation in enumerate(operations):
        perform(ledger, naive, f"{run}:{place}", names, players, operation, version=place + 1)
    for number, found in last.items():
        if number not in naive.results or number % 2:
            betting.result(names[number], found, version=len(operations) + 1)
            naive.results[number] = found
    while betting.backlog().results:
        reached.update(betting.settle(bets_max=3)._asdict())
    compare(ledger, naive, run, players, house_before)


def perform(
    ledger: Ledger, naive: Naive, key: str, names: list[str], players: dict[str, str], operation: Any, *, version: int
) -> None:
    """Do one thing in both books. A result ends the bets on its market: later ones are for the markets that are left."""
    what, *said = operation
    if what == "settle":
        reached.update(ledger.betting.settle(bets_max=said[0])._asdict())
    elif what == "result":
        number, found, twice = said
        for _ in range(1 + twice):
            ledger.betting.result(names[number], found, version=version)
        naive.results[number] = found
    elif chosen := [leg for leg in said[2] if leg[0] not in naive.results]:
        who, stake, _ = said
        asked = [(names[number], one, f"{naive.prices[number][one] / 1000:.3f}") for number, one in chosen]
        try:
            ledger.betting.place(key=key, account=players[who], currency=CURRENCY, stake=stake, legs=asked)
        except InsufficientFunds:
            assert ledger.balance(players[who], CURRENCY).available < stake
        else:
            naive.bets[key] = (who, stake, chosen)


def compare(ledger: Ledger, naive: Naive, run: int, players: dict[str, str], house_before: int) -> None:
    """Each bet, each balance, nothing held, and each (bet, entry, version) once."""
    for key in naive.bets:
        found = ledger.betting.bet(key)
        assert found.returned == naive.returned(key), key
        chosen = [naive.results[number][one] for number, one in naive.bets[key][2]]
        assert [leg.outcome for leg in found.legs] == chosen
        assert found.state == ("void" if set(chosen) == {"void"} else "settled")
    for name, account in players.items():
        assert money_of(ledger, account) == (naive.balance(name), 0)
        entries = Counter(entry.key for entry in ledger.entries(account, CURRENCY, limit=1_000))
        assert set(entries.values()) <= {1}
    won = sum(naive.balance(name) - FUNDS for name in players)
    assert money_of(ledger, HOUSE)[0] == house_before - won


@pytest.mark.req("3.6")
@pytest.mark.req("3.7")
@pytest.mark.req("3.17")
@pytest.mark.case("C053")
def test_histories_agree(ledger: Ledger) -> None:
    """Whatever comes in whatever order, in the end it is as the naive bookmaker says."""

    @settings(
        max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True, database=None
    )
    @given(histories)
    def agree(history: Any) -> None:
        play(ledger, history)

    agree()
    assert_balanced(ledger)
    assert min(reached[what] for what in ("settled", "voided", "corrected")) > 0, reached


@pytest.mark.soak
def test_many_histories_agree(ledger: Ledger) -> None:
    """The same with many more, by chance."""

    @settings(max_examples=EXAMPLES_SOAK, deadline=None, suppress_health_check=list(HealthCheck))
    @given(histories)
    def agree(history: Any) -> None:
        play(ledger, history)

    agree()
    assert_balanced(ledger)
