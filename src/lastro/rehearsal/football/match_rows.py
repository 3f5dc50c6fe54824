"""
Where matches come from: rows of text, read from a CSV or made by seed, and the seasons that they say.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Iterator
from datetime import date, timedelta
from itertools import permutations
from pathlib import Path
from typing import NamedTuple

import lastro
from lastro.rehearsal.csv_rows import read_csv

TEAMS_MADE = 8
TEAMS_MAX = 26
SEASON_MADE = "made"

# The columns of football-data.co.uk, in the order of MatchRow; the odds are those of one bookmaker before the match.
COLUMNS = ("Date", "HomeTeam", "AwayTeam", "FTHG", "FTAG", "FTR", "B365H", "B365D", "B365A")
WINNERS = {"H": "home", "D": "draw", "A": "away"}

_ODDS = re.compile(r"[1-9][0-9]{0,3}(\.[0-9]{1,3})?", re.ASCII)
_GOALS = re.compile(r"[0-9]{1,2}", re.ASCII)

# How matches are made: each team has a strength, the home side some more, and the house keeps a share of the odds.
_STRENGTHS = (20, 80)
_AT_HOME = 15
_DRAW_CENTS = 26
_HOUSE_KEEPS_CENTS = 6
_GOALS_MOST = 4
_FIRST_DAY = date(2026, 8, 14)
_MATCHES_A_DAY = 5
_DAYS_BETWEEN = 7


class MatchRow(NamedTuple):
    """
    One match as the file says it, all of it text: goals, H, D or A for who won, and the odds on each.
    """

    day: str
    home: str
    away: str
    home_goals: str
    away_goals: str
    won: str
    home_odds: str
    draw_odds: str
    away_odds: str


class Match(NamedTuple):
    """
    A match as its market: the odds on each selection, and which of them won.
    """

    market: str
    odds: dict[str, str]
    winner: str


class Season(NamedTuple):
    """
    A season, named after its file: its rows, and the matches they say, in the order of the file.
    """

    name: str
    rows: tuple[MatchRow, ...]
    matches: tuple[Match, ...]


def read_seasons(paths: Iterable[Path]) -> tuple[Season, ...]:
    """
    Read a season a file. Raises InvalidInput with the line or the match.
    """
    seasons = tuple(
        season_of(path.stem, (MatchRow(*texts) for texts in read_csv(path, COLUMNS, of="matches"))) for path in paths
    )
    if len({season.name for season in seasons}) < len(seasons):
        raise lastro.InvalidInput("two files of matches have one name: a season is called after its file")
    return seasons


def season_of(name: str, rows: Iterable[MatchRow]) -> Season:
    """
    Return the season that the rows say. Raises InvalidInput for fewer than two matches, or one that isn't right.
    """
    kept = tuple(rows)
    matches = tuple(_match(name, row) for row in kept)
    if len(matches) < 2:
        raise lastro.InvalidInput(f"season {name} has {len(matches)} match(es); expected 2 or more")
    if len({match.market for match in matches}) < len(matches):
        raise lastro.InvalidInput(f"season {name} has a match twice: the same teams on the same day")
    return Season(name, kept, matches)


def _match(season: str, row: MatchRow) -> Match:
    market = f"{season}: {row.day} {row.home} v {row.away}"
    odds = {"home": row.home_odds, "draw": row.draw_odds, "away": row.away_odds}
    for selection, text in odds.items():
        if _ODDS.fullmatch(text) is None:
            raise lastro.InvalidInput(f"{market}: odds on {selection} are decimals like 2.05; got {text!r}")
    if _GOALS.fullmatch(row.home_goals) is None or _GOALS.fullmatch(row.away_goals) is None:
        raise lastro.InvalidInput(f"{market}: goals are whole numbers; got {row.home_goals!r} and {row.away_goals!r}")
    home, away = int(row.home_goals), int(row.away_goals)
    won = "D" if home == away else "H" if home > away else "A"
    if row.won != won:
        raise lastro.InvalidInput(f"{market}: {home} goals to {away} make it {won}, and the row says {row.won!r}")
    return Match(market, odds, WINNERS[won])


def make_season(teams: int = TEAMS_MADE, *, seed: int) -> Season:
    """
    Make a season in which each of 2 … 26 *teams* is at home to each other once, by *seed*: the same seed, the same season.
    """
    if not 2 <= teams <= TEAMS_MAX:
        raise lastro.InvalidInput(f"teams must be 2 … {TEAMS_MAX}; got {teams}", argument="teams")
    return season_of(SEASON_MADE, _made_rows(teams, random.Random(seed)))  # noqa: S311 - it must be repeatable


def _made_rows(teams: int, chance: random.Random) -> Iterator[MatchRow]:
    strengths = {f"Team {chr(ord('A') + number)}": chance.randint(*_STRENGTHS) for number in range(teams)}
    pairs = list(permutations(strengths, 2))
    chance.shuffle(pairs)
    for number, (home, away) in enumerate(pairs):
        at_home, on_the_road = strengths[home] + _AT_HOME, strengths[away]
        # In hundredths: the draw's share is fixed, and the sides share the rest by their strengths.
        home_cents = (100 - _DRAW_CENTS) * at_home // (at_home + on_the_road)
        shares = {"H": home_cents, "D": _DRAW_CENTS, "A": 100 - _DRAW_CENTS - home_cents}
        won = chance.choices(list(shares), list(shares.values()))[0]
        fewer = chance.randrange(_GOALS_MOST)
        more = fewer if won == "D" else chance.randint(fewer + 1, _GOALS_MOST)
        goals = (fewer, more) if won == "A" else (more, fewer)
        day = _FIRST_DAY + timedelta(days=number // _MATCHES_A_DAY * _DAYS_BETWEEN)
        odds = (_odds(share) for share in shares.values())
        yield MatchRow(f"{day:%d/%m/%Y}", home, away, str(goals[0]), str(goals[1]), won, *odds)


def _odds(share_cents: int) -> str:
    """Odds of so many chances in a hundred, with what the house keeps taken off, as text with two decimals."""
    cents = 100 * (100 - _HOUSE_KEEPS_CENTS) // share_cents
    return f"{cents // 100}.{cents % 100:02d}"
