"""
What will be played: who bets what when, by seed, and which results are reported first wrong and then right.
"""

from __future__ import annotations

import json
import random
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from lastro.rehearsal.football.match_rows import Match, Season

MATCHES_A_ROUND: Final = 10
SINGLES_A_MATCH: Final = 4
# A multiple begins with its match, and has further legs on matches that follow within so many.
LEGS_MAX: Final = 5
LEGS_AHEAD: Final = 30
REPEATED_SHARE: Final = 10
REPEATED_ROUNDS_LATER: Final = 3
WRONG_SHARE: Final = 10
CORRECTED_ROUNDS_LATER: Final = 3
WAGERS_AN_ACCOUNT: Final = 12
ACCOUNTS_MIN: Final = 3
STAKES_CENTS: Final = (100, 50_00)
SPARE_CENTS_MAX: Final = 10_00

BARRED: Final = "punter:barred"
PENNILESS: Final = "punter:penniless"

Leg = tuple[str, str, str]


class Wager(NamedTuple):
    """
    A bet to be submitted: its legs are (market, selection, odds), its stake cents. `refusal`: the code it must meet.
    """

    key: str
    account: str
    stake: int
    legs: tuple[Leg, ...]
    refusal: str | None = None


class Report(NamedTuple):
    """
    A version of a market's result. `winner` None says that the match counts for nothing.
    """

    market: str
    version: int
    winner: str | None

    def message(self) -> bytes:
        """Return it as a feed sends it."""
        said = {"market": self.market, "version": self.version, "source": "feed"}
        outcome = {"void": True} if self.winner is None else {"outcomes": {self.winner: "won"}, "others": "lost"}
        return json.dumps(said | outcome).encode()


class Round(NamedTuple):
    """
    Matches that are played together: first all hands submit their wagers, then the results are reported.
    """

    season: str
    matches: tuple[Match, ...]
    hands: tuple[tuple[Wager, ...], ...]
    reports: tuple[Report, ...]


@dataclass(frozen=True)
class Script:
    """
    All of it: seasons, accounts with what they begin with in cents, wagers, rounds, and corrections that come last.
    """

    seasons: tuple[Season, ...]
    deposits: dict[str, int]
    wagers: tuple[Wager, ...]
    repeats: int
    rounds: tuple[Round, ...]
    late_reports: tuple[Report, ...]

    @property
    def matches(self) -> list[Match]:
        """Every match of every season."""
        return [match for season in self.seasons for match in season.matches]

    @property
    def reports(self) -> list[Report]:
        """Every report, in the order in which they come."""
        return [*(report for one in self.rounds for report in one.reports), *self.late_reports]


def write_script(seasons: Sequence[Season], *, processes: int, seed: int, singles: int = SINGLES_A_MATCH) -> Script:
    """
    Write what is played on the seasons, by *seed*, with so many *singles* a match and as many hands as *processes*.
    """
    chance = random.Random(seed)  # noqa: S311 - it must be repeatable, and guards nothing
    accounts = sum(len(season.matches) for season in seasons) * (singles + 1) // WAGERS_AN_ACCOUNT
    punters = [f"punter:{number:04d}" for number in range(max(ACCOUNTS_MIN, accounts))]
    rounds = [(season, matches) for season in seasons for matches in _rounds_of(season)]
    wagers = [
        [*_chosen(number, season, matches, punters, singles=singles, chance=chance)]
        for number, (season, matches) in enumerate(rounds)
    ]
    submitted, repeats = _with_repeats(wagers, chance)
    reports = _reports(seasons, [matches for _, matches in rounds], chance)
    every_wager = tuple(wager for of_round in wagers for wager in of_round)
    return Script(
        seasons=tuple(seasons),
        deposits=_deposits(punters, every_wager, chance),
        wagers=every_wager,
        repeats=repeats,
        rounds=tuple(
            Round(season.name, matches, _dealt(submitted[number], processes), tuple(reports[number]))
            for number, (season, matches) in enumerate(rounds)
        ),
        late_reports=tuple(report for number in sorted(reports) if number >= len(rounds) for report in reports[number]),
    )


def _rounds_of(season: Season) -> Iterator[tuple[Match, ...]]:
    """Ten matches a round; the last one takes what is left, so that none has a single match."""
    starts = [start for start in range(0, len(season.matches), MATCHES_A_ROUND) if start < len(season.matches) - 1]
    ends = [*starts[1:], len(season.matches)]
    return (season.matches[start:end] for start, end in zip(starts, ends, strict=True))


def _chosen(
    number: int,
    season: Season,
    matches: Sequence[Match],
    punters: Sequence[str],
    *,
    singles: int,
    chance: random.Random,
) -> Iterator[Wager]:
    """What is bet in one round: singles, multiples, and three that must be refused."""

    def wager(name: str, account: str, legs: Iterable[Leg], refusal: str | None = None) -> Wager:
        return Wager(f"{season.name}:{number}-{name}", account, chance.randint(*STAKES_CENTS), tuple(legs), refusal)

    first = season.matches.index(matches[0])
    for place, match in enumerate(matches, start=first):
        for single in range(singles):
            yield wager(f"{place}-{single}", chance.choice(punters), [_leg(match, chance)])
        following = season.matches[place + 1 : place + 1 + LEGS_AHEAD]
        if following:
            others = chance.sample(following, min(len(following), chance.randint(1, LEGS_MAX - 1)))
            yield wager(f"{place}-multiple", chance.choice(punters), map(_favourite, (match, *others)))
    market, selection, odds = leg = _leg(chance.choice(matches), chance)
    yield wager("barred", BARRED, [leg], "account_barred")
    yield wager("penniless", PENNILESS, [leg], "insufficient_funds")
    yield wager("better", chance.choice(punters), [(market, selection, _better(odds))], "odds_changed")


def _leg(match: Match, chance: random.Random) -> Leg:
    selection = chance.choice(list(match.odds))
    return match.market, selection, match.odds[selection]


def _favourite(match: Match) -> Leg:
    """The selection that is most likely by its odds: otherwise hardly a multiple would ever win."""
    selection = min(match.odds, key=lambda one: tuple(int(part) for part in _parts(match.odds[one])))
    return match.market, selection, match.odds[selection]


def _better(odds: str) -> str:
    whole, part = _parts(odds)
    return f"{int(whole) + 1}.{part}"


def _parts(odds: str) -> tuple[str, str]:
    whole, _, part = odds.partition(".")
    return whole, part.ljust(3, "0")


def _with_repeats(wagers: Sequence[Sequence[Wager]], chance: random.Random) -> tuple[list[list[Wager]], int]:
    """
    Return what is submitted in each round: its wagers, and a tenth of all again, in their own round or soon after.
    """
    submitted = [list(of_round) for of_round in wagers]
    everyone = [(number, wager) for number, of_round in enumerate(wagers) for wager in of_round]
    repeated = chance.sample(everyone, -(-len(everyone) // REPEATED_SHARE))
    for number, wager in repeated:
        again = min(number + chance.randrange(REPEATED_ROUNDS_LATER), len(wagers) - 1)
        submitted[again].append(wager)
    for of_round in submitted:
        # Shuffled together: a repeat may come before, beside or after the first, from another process.
        chance.shuffle(of_round)
    return submitted, len(repeated)


def _dealt(wagers: Sequence[Wager], processes: int) -> tuple[tuple[Wager, ...], ...]:
    return tuple(tuple(wagers[start::processes]) for start in range(processes))


def _reports(
    seasons: Sequence[Season], rounds: Sequence[Sequence[Match]], chance: random.Random
) -> dict[int, list[Report]]:
    """
    Return what is reported after which round. A tenth of each season's results is wrong at first: another winner, or void.
    """
    wrong = {
        match.market
        for season in seasons
        for match in chance.sample(season.matches, -(-len(season.matches) // WRONG_SHARE))
    }
    reports: dict[int, list[Report]] = defaultdict(list)
    for number, matches in enumerate(rounds):
        for match in matches:
            if match.market in wrong:
                others = [selection for selection in match.odds if selection != match.winner]
                reports[number].append(Report(match.market, 1, chance.choice([*others, None])))
                reports[number + CORRECTED_ROUNDS_LATER].append(Report(match.market, 2, match.winner))
            else:
                reports[number].append(Report(match.market, 1, match.winner))
    return reports


def _deposits(punters: Sequence[str], wagers: Sequence[Wager], chance: random.Random) -> dict[str, int]:
    """Enough for all that is staked, whatever comes back when: which bets are accepted mustn't depend on the moment."""
    deposits = {punter: chance.randrange(SPARE_CENTS_MAX) for punter in punters}
    for wager in wagers:
        if wager.refusal is None:
            deposits[wager.account] += wager.stake
    return deposits | {BARRED: SPARE_CENTS_MAX * len(wagers), PENNILESS: 0}
