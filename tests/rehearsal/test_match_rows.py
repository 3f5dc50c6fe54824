"""Seasons from a file or by seed: read exactly, refused with their place, made the same each time."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

import lastro
from lastro.rehearsal.football.match_rows import MatchRow, make_season, read_seasons, season_of

HEADER = "Div,Date,Time,HomeTeam,AwayTeam,FTHG,FTAG,FTR,Referee,B365H,B365D,B365A\n"
ROW = MatchRow("13/08/2021", "Brook", "Marsh", "2", "0", "H", "4", "3.4", "1.95")
OTHER = ROW._replace(away="Field", home_goals="1", away_goals="1", won="D")


def test_a_file_is_a_season_of_its_name(tmp_path: Path) -> None:
    """A season has its file's name, a match its teams and its day; the columns that aren't needed may be anything."""
    path = tmp_path / "epl.csv"
    path.write_text(
        HEADER
        + "E0,13/08/2021,20:00,Brook,Marsh,2,0,H,,4,3.4,1.95\n"
        + "E0,14/08/2021,12:30,Marsh,Brook,1,1,D,P T,1.53,4.5,5.75\n"
    )
    (season,) = read_seasons([path])
    assert season.name == "epl"
    assert season.matches[0] == ("epl: 13/08/2021 Brook v Marsh", {"home": "4", "draw": "3.4", "away": "1.95"}, "home")
    assert [match.winner for match in season.matches] == ["home", "draw"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Date,HomeTeam\n13/08/2021,Brook\n", "no column AwayTeam"),
        (HEADER, "0 rows"),
        (HEADER + "E0,13/08/2021,20:00,Brook,Marsh,2,0,H,R,4,3.4,\n", "line 2"),
        (HEADER + "E0,13/08/2021,20:00,Brook,Marsh,2,0,H,R,4,3.4,1.95\n", "1 match"),
    ],
)
def test_an_unreadable_file_is_refused_with_its_place(tmp_path: Path, text: str, said: str) -> None:
    """A missing column, no row, no odds, or a single match: refused, with what and where."""
    path = tmp_path / "epl.csv"
    path.write_text(text)
    with pytest.raises(lastro.InvalidInput, match=said):
        read_seasons([path])


def test_two_files_of_one_name_are_refused(tmp_path: Path) -> None:
    """Seasons are told apart by their files' names."""
    path = tmp_path / "epl.csv"
    path.write_text(HEADER + "E0,1,2,A,B,2,0,H,R,4,3.4,2\nE0,1,2,B,A,2,0,H,R,4,3.4,2\n")
    with pytest.raises(lastro.InvalidInput, match="one name"):
        read_seasons([path, path])


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"home_odds": "1,95"}, "odds on home"),
        ({"draw_odds": "3.4501"}, "odds on draw"),
        ({"away_odds": "nan"}, "odds on away"),
        ({"home_goals": "two"}, "goals"),
        ({"won": "D"}, "make it H"),
        ({"away": OTHER.away}, "twice"),
    ],
)
def test_a_match_that_is_not_right_is_refused(change: dict[str, str], said: str) -> None:
    """Odds that aren't exact decimals, goals that are none, a winner who didn't win, a match twice: refused by name."""
    with pytest.raises(lastro.InvalidInput, match=said):
        season_of("epl", [ROW._replace(**change), OTHER])


def test_the_same_seed_makes_the_same_season() -> None:
    """A season by seed is repeatable, has each pair of teams twice, and odds that leave the house its share."""
    season = make_season(6, seed=3)
    assert season == make_season(6, seed=3)
    assert season != make_season(6, seed=4)
    assert len({(row.home, row.away) for row in season.rows}) == len(season.matches) == 30
    assert set(Counter(match.winner for match in season.matches)) == {"home", "draw", "away"}
    for row in season.rows:
        # In whole numbers: the sum of 1 / odds lies a little above 1.
        odds = [int(text.replace(".", "")) for text in (row.home_odds, row.draw_odds, row.away_odds)]
        product = odds[0] * odds[1] * odds[2]
        assert product < 100 * sum(product // one for one in odds) < product * 125 // 100
