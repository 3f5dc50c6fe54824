"""Part two of the demo proves what it says, on the real seasons and on a made one, and each of its proofs can fail."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import pytest

from lastro.rehearsal.football import playing
from lastro.rehearsal.football.books import read_books
from lastro.rehearsal.football.expectation import expectation_of
from lastro.rehearsal.football.match_rows import make_season, read_seasons
from lastro.rehearsal.football.proofs import Played, prove
from lastro.rehearsal.football.script import Script, write_script
from lastro.rehearsal.progress import silent
from lastro.rehearsal.proof import Proof, Proofs
from lastro.rehearsal.stage import Stage, set_stage
from tests.rehearsal.real_data import REAL_SEASONS, needs_real_seasons


def refuted(proofs: tuple[Proof, ...]) -> set[str]:
    """The names of the proofs that don't hold."""
    return {proof.name for proof in proofs if not proof.holds}


@needs_real_seasons
@pytest.mark.req("3.5")
@pytest.mark.req("3.7")
@pytest.mark.req("3.8")
def test_the_real_seasons_come_out_to_the_cent(server_url: str) -> None:
    """On the real files every proof holds, and the house's result is the one this test works out from the CSV."""
    won: dict[str, dict[str, str]] = {}
    cents_for_one: dict[tuple[str, str], int] = {}
    for path in REAL_SEASONS:
        with path.open(encoding="utf-8-sig", newline="") as file:
            for row in csv.DictReader(file):
                market = f"{path.stem}: {row['Date']} {row['HomeTeam']} v {row['AwayTeam']}"
                won[market] = {"H": "home", "D": "draw", "A": "away"}[row["FTR"]]
                for selection, column in (("home", "B365H"), ("draw", "B365D"), ("away", "B365A")):
                    whole, _, part = row[column].partition(".")
                    cents_for_one[market, selection] = int(whole + f"{part:0<2}")
    assert len(won) == 760
    script = write_script(read_seasons(REAL_SEASONS), processes=2, seed=1, singles=1)
    house = Counter[str]()
    for wager in script.wagers:
        if wager.refusal is None:
            returned, divisor = wager.stake, 1
            for market, selection, _ in wager.legs:
                returned *= cents_for_one[market, selection] if won[market] == selection else 0
                divisor *= 100
            house[wager.key.partition(":")[0]] += wager.stake - returned // divisor

    said: list[str] = []
    proofs = playing.run(script, url=server_url, progress=said.append)

    assert refuted(proofs.proofs) == set()
    actual = {proof.name: proof.actual for proof in proofs.proofs}
    assert len(actual) == len(proofs.proofs)
    for season in ("epl2122", "epl2223"):
        cents = house[season]
        sign = "-" if cents < 0 else ""
        assert actual[f"house's result, season {season} (GBP)"] == f"{sign}{abs(cents) // 100}.{abs(cents) % 100:02}"
    assert actual["markets, one a match"] == 760
    assert actual["results first wrong and then corrected"] == 76
    assert actual["results that two feeds brought"] == "duplicate 836, recorded 836"
    assert actual["markets settled at their last version"] == "all 760"
    assert actual["settler killed in the middle of a batch: its exit code"] == -9
    assert proofs.counts["bets_corrected_by_the_others"] != 0
    assert any("settler killed" in line for line in said)


class Finished(NamedTuple):
    """A play that is over, with its books still there."""

    stage: Stage
    script: Script
    played: Played


@pytest.fixture(scope="module")
def finished(server_url: str) -> Iterator[Finished]:
    """A made season of twenty matches, played to the end."""
    script = write_script([make_season(5, seed=4)], processes=2, seed=4, singles=3)
    with set_stage(server_url, beside_others=True) as stage:
        played, _ = playing.play(stage, script, progress=silent)
        assert refuted(playing.judge(stage, script, played)) == set()
        yield Finished(stage, script, played)


STRAY = """
INSERT INTO {ledger}.transfer (id, debit_id, credit_id, amount, occurred_at, recorded_at, key, kind)
SELECT nextval('{ledger}.transfer_id'), %s, credit_id, amount, occurred_at, recorded_at, %s, kind
FROM {ledger}.transfer WHERE kind = 'bet_stake' LIMIT 1
"""
A_PUNTER = "(SELECT account_id FROM {ledger}.balance WHERE account LIKE 'punter:0%' AND posted > 0 LIMIT 1)"

# A defect, as somebody's SQL would plant it, and the proofs that have to see it.
DEFECTS: dict[str, tuple[str, set[str]]] = {
    "a market that no match has": (
        """
        INSERT INTO {ledger}.market (id, name, currency, state, stake_min, stake_max, opened_at, changed_at)
        SELECT nextval('{ledger}.market_id'), 'stray', currency, 'open', 1, 1, now(), now() FROM {ledger}.market LIMIT 1
        """,
        {"markets, one a match", "markets settled at their last version"},
    ),
    "a market left open": (
        "UPDATE {ledger}.market SET state = 'closed' WHERE id = (SELECT min(id) FROM {ledger}.market)",
        {"markets settled at their last version"},
    ),
    "other odds than the file's": (
        "UPDATE {ledger}.selection SET odds = odds + 1 WHERE id = (SELECT min(id) FROM {ledger}.selection)",
        {"selections at the odds of the file"},
    ),
    "a bet struck at other odds": (
        "UPDATE {ledger}.bet_leg SET odds = odds + 1 WHERE bet_id = (SELECT min(id) FROM {ledger}.bet)",
        {"bets as they were accepted"},
    ),
    "a bet that nobody submitted": (
        """
        INSERT INTO {ledger}.bet (id, account_id, stake, potential_return, return_max, placed_at, settle_by, key)
        SELECT nextval('{ledger}.bet_id'), account_id, stake, 1, return_max, placed_at, settle_by, 'stray'
        FROM {ledger}.bet LIMIT 1
        """,
        {"bets as they were accepted"},
    ),
    "a refusal that nobody met": (
        "INSERT INTO {ledger}.submission (key, refused, asked, recorded_at) VALUES ('stray', 'odds_changed', '{{}}', now())",
        {"first answers to submissions"},
    ),
    "a slice of exposure lost": (
        "DELETE FROM {ledger}.exposure WHERE bets > 0 AND slice = (SELECT min(slice) FROM {ledger}.exposure WHERE bets > 0)",
        {"selections with the exposure of their bets"},
    ),
    "a wrong result that never was": (
        """
        UPDATE {ledger}.market_result SET outcomes = right_one.outcomes
        FROM {ledger}.market_result AS right_one
        WHERE right_one.market_id = market_result.market_id AND right_one.version = 2
        """,
        {"results first wrong and then corrected"},
    ),
    "a correction lost": (
        "DELETE FROM {ledger}.market_result WHERE version = 2",
        {"results first wrong and then corrected", "markets settled at their last version"},
    ),
    "a bet settled for one cent more": (
        "UPDATE {ledger}.bet_settlement SET returned = returned + 1 WHERE bet_id = (SELECT min(id) FROM {ledger}.bet)",
        {"bets settled as the file says"},
    ),
    "a bet settled by an outcome that nobody reported": (
        """
        UPDATE {ledger}.bet_settlement SET outcomes = 'half_won'
        WHERE bet_id = (SELECT bet_id FROM {ledger}.bet_leg GROUP BY bet_id HAVING count(*) = 1 LIMIT 1)
        """,
        {"bets settled as the file says", "bets with a settlement by no report"},
    ),
    "a version of a settlement left out": (
        """
        UPDATE {ledger}.bet_settlement SET version = version + 1
        WHERE bet_id = (SELECT bet_id FROM {ledger}.bet_settlement GROUP BY bet_id HAVING count(*) = 1 LIMIT 1)
        """,
        {"bets with a settlement by no report", "transfers other than expected"},
    ),
    "a bet that was never settled": (
        """
        DELETE FROM {ledger}.bet_settlement WHERE bet_id = (
            SELECT leg.bet_id FROM {ledger}.bet_leg AS leg INNER JOIN {ledger}.market AS market ON leg.market_id = market.id
            WHERE market.name = %(caught)s LIMIT 1
        )
        """,
        {
            "bets settled as the file says",
            "markets that waited then, settled by others",
            "stakes set aside, then taken or given back",
            "transfers: one a bet, entry kind and version",
            "transfers other than expected",
        },
    ),
    "more set aside than was staked": (
        "UPDATE {ledger}.hold SET amount = amount + 1 WHERE id = (SELECT min(id) FROM {ledger}.hold)",
        {"stakes set aside, then taken or given back"},
    ),
    "a stake still held by its account": (
        f"UPDATE {{ledger}}.base SET held = held + 1 WHERE account_id = {A_PUNTER}",
        {"still held (GBP)"},
    ),
    "a result that waits": (
        """
        INSERT INTO {ledger}.open_result (market_id, version, opened_at)
        SELECT market_id, version, now() FROM {ledger}.market_result LIMIT 1
        """,
        {"left to settle"},
    ),
    "a leg that waits": (
        "INSERT INTO {ledger}.open_bet (market_id, bet_id) SELECT market_id, bet_id FROM {ledger}.bet_leg LIMIT 1",
        {"left to settle"},
    ),
    "a settlement twice under another key": (
        STRAY % ("debit_id", "replace(key, ':stake:', ':bonus:')"),
        {
            "house's result, season made (GBP)",
            "transfers: one a bet, entry kind and version",
            "transfers other than expected",
            "accounts whose balance isn't the sum of their history",
        },
    ),
    "a settlement twice under its own key": (
        STRAY % ("debit_id", "key"),
        {"transfers under a key that another has", "transfers: one a bet, entry kind and version"},
    ),
    "an entry whose other side is nobody": (STRAY % ("1", "'half'"), {"sum of all entries (GBP)"}),
    "an account one cent richer": (
        f"UPDATE {{ledger}}.base SET amount = amount + 1 WHERE account_id = {A_PUNTER}",
        {
            "accounts whose balance is right to the cent",
            "sum of all balances (GBP)",
            "accounts whose balance isn't the sum of their history",
        },
    ),
    "an account below its floor": (
        f"UPDATE {{ledger}}.base SET amount = -1 WHERE account_id = {A_PUNTER}",
        {"balances below their floor", "accounts whose balance is right to the cent"},
    ),
    "an entry left in the tail": (
        """
        INSERT INTO {ledger}.tail (account_id, transfer_id, amount)
        SELECT account_id, 1, 1 FROM {ledger}.base WHERE keeping = 'hot'
        """,
        {"entries left in the tail"},
    ),
}
CHANGED = ("bet", "bet_leg", "bet_settlement", "market_result", "hold")

# What a process would have said otherwise, and the proof that has to see it.
OTHERWISE: list[tuple[dict[str, Any], str]] = [
    ({"answers": {"accepted": 1}}, "first answers that the bettors were given"),
    ({"answered_again": 0}, "submissions answered again under the same keys"),
    ({"results": {"recorded": 1}}, "results that two feeds brought"),
    ({"settler_exit_code": 0}, "settler killed in the middle of a batch: its exit code"),
    ({"caught": ()}, "markets that waited then, settled by others"),
]


@pytest.mark.parametrize("defect", DEFECTS)
def test_a_defect_in_the_books_is_seen(finished: Finished, defect: str) -> None:
    """Each proof about the books fails when the books are wrong: one defect each, planted by raw SQL."""
    statement, seen_by = DEFECTS[defect]
    stage, script, played = finished
    with stage.connect() as connection, connection.transaction(force_rollback=True):
        for table in CHANGED:
            connection.execute(f"ALTER TABLE {stage.ledger}.{table} DISABLE TRIGGER USER")
        planted = statement.format(ledger=stage.ledger).replace("%(caught)s", f"'{played.caught[0]}'")
        assert connection.execute(planted).rowcount > 0
        proofs = prove(expectation_of(script), read_books(connection, stage), played)
    assert refuted(proofs) >= seen_by
    assert not Proofs(proofs, {}).hold


@pytest.mark.parametrize(("what", "seen_by"), OTHERWISE)
def test_a_process_that_did_otherwise_is_seen(finished: Finished, what: dict[str, Any], seen_by: str) -> None:
    """Each proof about what the processes did fails when one says that it did otherwise."""
    stage, script, played = finished
    assert refuted(playing.judge(stage, script, replace(played, **what))) == {seen_by}


def test_every_proof_has_a_defect_that_it_sees(finished: Finished) -> None:
    """No proof is there that nothing in this file makes fail."""
    names = {proof.name for proof in playing.judge(*finished)}
    assert names == {name for _, by in DEFECTS.values() for name in by} | {by for _, by in OTHERWISE}
