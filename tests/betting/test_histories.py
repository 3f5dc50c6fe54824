"""Random markets, bets, results and corrections, against a naive bookmaker who works in fractions and knows no database."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable
from fractions import Fraction
from itertools import count

import pytest

from lastro import InsufficientFunds, Ledger
from lastro.testing import assert_balanced
from tests.betting.betting_books import CURRENCY, HOUSE, fund_all, money
from tests.support.money import transfer

FUNDS = 1_000
PLAYERS = ("p0", "p1", "p2")
SELECTIONS = ("a", "b", "c")
SHARES = {
    "won": (Fraction(1), Fraction(0)), "lost": (Fraction(0), Fraction(0)), "void": (Fraction(0), Fraction(1)),
    "half_won": (Fraction(1, 2), Fraction(1, 2)), "half_lost": (Fraction(0), Fraction(1, 2)),
    "dead_heat:1/2": (Fraction(1, 2), Fraction(0)), "dead_heat:2/3": (Fraction(2, 3), Fraction(0)),
}  # fmt: skip
MARKETS = 4
OPERATIONS = 36
EXAMPLES = 10
EXAMPLES_SOAK = 400

examples = count()
# How often each thing was done: a history that reaches nothing proves nothing.
reached: Counter[str] = Counter()


class Naive:
    """What a bookmaker with a pencil does: bets, the newest results, and the sums when all is decided."""

    def __init__(self, prices: list[dict[str, int]]) -> None:
        self.prices = prices
        self.bets: dict[str, tuple[str, int, list[tuple[int, str]]]] = {}
        self.results: dict[int, dict[str, str]] = {}
        self.voided: set[str] = set()
        self.spent: Counter[str] = Counter()

    def factor(self, leg: tuple[int, str]) -> Fraction:
        """What a stake of one becomes on a leg."""
        wins, back = SHARES[self.results[leg[0]][leg[1]]]
        return Fraction(self.prices[leg[0]][leg[1]], 1000) * wins + back

    def returned(self, key: str) -> int | None:
        """What a bet gives back; None while a market of it is undecided."""
        _, stake, chosen = self.bets[key]
        if key in self.voided:
            return stake
        if any(number not in self.results for number, _ in chosen):
            return None
        product = Fraction(stake)
        for leg in chosen:
            product *= self.factor(leg)
        return int(product // 1)

    def balance(self, player: str) -> int:
        """What a player has when every bet is settled by what is known last."""
        return (
            FUNDS
            - self.spent[player]
            + sum((self.returned(key) or 0) - stake for key, (who, stake, _) in self.bets.items() if who == player)
        )


class History:
    """One history, by its seed, in markets and with players of its own; both books, side by side."""

    def __init__(self, ledger: Ledger, seed: int) -> None:
        self.ledger, self.run, self.chance = ledger, next(examples), random.Random(seed)
        self.naive = Naive([{one: self.chance.randint(1_001, 9_000) for one in SELECTIONS} for _ in range(MARKETS)])
        self.names = [f"{self.run}:m{number}" for number in range(MARKETS)]
        self.players = {name: f"{self.run}:{name}" for name in PLAYERS}
        self.house_before = fund_all(ledger, self.players.values(), FUNDS)
        for name, prices in zip(self.names, self.naive.prices, strict=True):
            ledger.betting.open_market(name, CURRENCY, odds={one: decimal(odds) for one, odds in prices.items()})

    def play(self) -> None:
        """Bets at first, then results, corrections and rounds of settlement among them; in the end all is decided."""
        for place in range(OPERATIONS):
            what = self.chance.choices(
                ("bet", "result", "settle", "spend", "void"), (6, 0 if place < OPERATIONS // 3 else 3, 2, 2, 0.5)
            )[0]
            getattr(self, what)(place + 1)
        for number in range(MARKETS):
            if number not in self.naive.results or self.chance.random() < 0.5:
                self.result(OPERATIONS + 1, number)
        while self.ledger.betting.backlog().results:
            self.settle(0)

    def bet(self, place: int) -> None:
        """Bet on markets that have no result yet: that would end the bets on them."""
        open_markets = [number for number in range(MARKETS) if number not in self.naive.results]
        numbers = self.chance.sample(open_markets, k=min(len(open_markets), self.chance.choice((1, 1, 2, 3))))
        if not numbers:
            return
        chosen = [(number, self.chance.choice(SELECTIONS)) for number in numbers]
        key, who, stake = f"{self.run}:{place}", self.chance.choice(PLAYERS), self.chance.randint(1, 300)
        legs = [(self.names[number], one, decimal(self.naive.prices[number][one])) for number, one in chosen]
        account = self.players[who]
        try:
            self.ledger.betting.place(key=key, account=account, currency=CURRENCY, stake=stake, legs=legs)
        except InsufficientFunds:
            assert self.ledger.balance(account, CURRENCY).available < stake
            reached["refused"] += 1
        else:
            self.naive.bets[key] = (who, stake, chosen)

    def result(self, version: int, number: int | None = None) -> None:
        """Say what became of a market, or otherwise than before; often twice, sometimes that it is void."""
        number = self.chance.randrange(MARKETS) if number is None else number
        every = sorted(SHARES)
        words = ["void"] * 3 if self.chance.random() < 0.2 else self.chance.choices(every, k=3)
        outcomes = dict(zip(SELECTIONS, words, strict=True))
        for _ in range(self.chance.randint(1, 2)):
            self.ledger.betting.result(self.names[number], outcomes, version=version)
        self.naive.results[number] = outcomes

    def spend(self, place: int) -> None:
        """A player takes out what there is, which a correction may claim back."""
        who = self.chance.choice(PLAYERS)
        amount = self.ledger.balance(self.players[who], CURRENCY).available
        if amount > 0:
            out = transfer(f"{self.run}:out:{place}", self.players[who], "world", amount)
            self.ledger.post(**out)
            self.naive.spent[who] += amount

    def void(self, _: int) -> None:
        """A bet is voided by hand, open or settled, perhaps once more."""
        if self.naive.bets:
            key = self.chance.choice(sorted(self.naive.bets))
            voided = self.ledger.betting.void_bet(key, reason="r", actor="a")
            assert voided.replayed is (key in self.naive.voided)
            self.naive.voided.add(key)
            reached["by hand"] += 1

    def settle(self, _: int) -> None:
        """Run a round of settlement in small batches."""
        reached.update(self.ledger.betting.settle(bets_max=self.chance.randint(1, 4))._asdict())

    def compare(self) -> None:
        """Each bet, each balance, nothing held, and each (bet, entry, version) once."""
        for key, (_, _, legs) in self.naive.bets.items():
            found = self.ledger.betting.bet(key)
            assert found.returned == self.naive.returned(key), key
            chosen = [self.naive.results[number][one] for number, one in legs]
            if key in self.naive.voided:
                chosen = ["void"] * len(legs)
            assert [leg.outcome for leg in found.legs] == chosen
            assert found.state == ("void" if set(chosen) == {"void"} else "settled")
        for name, account in self.players.items():
            assert money(self.ledger, account) == (self.naive.balance(name), 0)
            entries = Counter(entry.key for entry in self.ledger.entries(account, CURRENCY, limit=1_000))
            assert set(entries.values()) <= {1}
        won = sum(self.naive.balance(name) + self.naive.spent[name] - FUNDS for name in self.players)
        assert money(self.ledger, HOUSE)[0] == self.house_before - won


def decimal(thousandths: int) -> str:
    """Odds as people write them."""
    return f"{thousandths // 1000}.{thousandths % 1000:03}"


def histories_agree(ledger: Ledger, seeds: Iterable[int]) -> None:
    """Play a history for each seed, and prove the books at the end."""
    for seed in seeds:
        history = History(ledger, seed)
        history.play()
        history.compare()
    assert_balanced(ledger)
    assert min(reached[what] for what in ("settled", "voided", "corrected", "shortfalls", "refused", "by hand")) > 0, (
        reached
    )


@pytest.mark.req("3.6")
@pytest.mark.req("3.7")
@pytest.mark.req("3.17")
@pytest.mark.case("C053")
def test_histories_agree(ledger: Ledger) -> None:
    """Whatever comes in whatever order, in the end it is as the naive bookmaker says."""
    histories_agree(ledger, range(EXAMPLES))


@pytest.mark.soak
def test_many_histories_agree(ledger: Ledger) -> None:
    """The same with many more, by chance."""
    seed = random.randrange(10**9)
    print(f"from seed {seed} on")  # noqa: T201  (to play it again)
    histories_agree(ledger, range(seed, seed + EXAMPLES_SOAK))
