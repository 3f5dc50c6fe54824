"""
Part two of the demo: seasons of matches played through the sportsbook by several processes, and the proof of every bet.
"""

from __future__ import annotations

import time
from collections import Counter
from typing import Any, NamedTuple

import psycopg
from psycopg import sql

import lastro
from lastro.rehearsal.cast import Cast, Member, RehearsalBroken
from lastro.rehearsal.football.books import CURRENCY, read_books
from lastro.rehearsal.football.expectation import WORLD, expectation_of
from lastro.rehearsal.football.killing import LOOK_S, PATIENCE_S, Kill, held_up, kill_at_work
from lastro.rehearsal.football.proofs import Played, prove
from lastro.rehearsal.football.roles import BettorFacts, bring_results, work_as_bettor, work_as_settler
from lastro.rehearsal.football.script import BARRED, Script
from lastro.rehearsal.progress import Progress, silent
from lastro.rehearsal.proof import Proof, Proofs
from lastro.rehearsal.roles import fold_the_rest
from lastro.rehearsal.stage import Stage, set_stage

SETTLERS = 2
INTERVAL_MS = 250
TOLD_SHARES = 5

_UNSETTLED = "SELECT (SELECT count(*) FROM {ledger}.open_result) + (SELECT count(*) FROM {ledger}.open_bet)"


class Troupe(NamedTuple):
    """
    The processes: those who bet, those who settle from the beginning, and the settler that comes later.
    """

    bettors: list[Member]
    settlers: list[Member]
    successor: Member


def run(script: Script, *, url: str | None, progress: Progress = silent) -> Proofs:
    """
    Bet on every match, settle it, correct a tenth of the results and kill a settler meanwhile, then prove it all.

    `url`: a database, in which a schema is made and dropped again; without it an embedded server in a temporary
    directory. Raises RehearsalBroken where a process failed.
    """
    progress(f"{len(script.matches)} matches, {len(script.wagers)} bets, {len(script.deposits)} accounts")
    with set_stage(url, beside_others=True) as stage:
        played, counts = play(stage, script, progress=progress)
        progress("proving")
        return Proofs(judge(stage, script, played), counts)


def play(stage: Stage, script: Script, *, progress: Progress) -> tuple[Played, dict[str, int | float | str]]:
    """Play the whole script on the stage, and return what was done and how fast."""
    with stage.open_ledger() as ledger, stage.connect() as connection, Cast() as cast:
        began = time.monotonic()
        set_up(ledger, script)
        set_up_s = time.monotonic() - began
        troupe = _hire(cast, stage, script)
        cast.start(*troupe.bettors, *troupe.settlers)
        began = time.monotonic()
        results, kill = _follow(cast, troupe, stage, ledger, script, progress=progress)
        betting_s = time.monotonic() - began
        _wait_until_settled(connection, stage)
        # Those whose matches were the last: by now each of them corrects what was settled.
        results += bring_results(ledger, script.late_reports)
        _wait_until_settled(connection, stage)
        seconds = time.monotonic() - began
        settled: list[dict[str, int]] = [cast.stop(member) for member in (*troupe.settlers[1:], troupe.successor)]
        fold_the_rest(ledger)
    facts: list[BettorFacts] = [bettor.result for bettor in troupe.bettors]
    played = Played(
        repeats_dealt=script.repeats,
        answers=sum((fact.answers for fact in facts), Counter()),
        answered_again=sum(fact.again for fact in facts),
        results=results,
        settler_exit_code=kill.exit_code,
        caught=kill.caught,
    )
    submitted = len(script.wagers) + script.repeats
    counts: dict[str, int | float | str] = {
        "processes": len(facts),
        "submissions": submitted,
        "set_up_seconds": round(set_up_s, 2),
        "seconds": round(seconds, 2),
        "submissions_per_second": round(submitted / betting_s, 1),
        "tries_lost_to_rivals": sum(fact.lost_tries for fact in facts),
        "settled_by_the_others": ", ".join(str(figures.get("bets", 0)) for figures in settled),
        "bets_corrected_by_the_others": sum(figures.get("corrected", 0) for figures in settled),
        "settler_rounds_that_failed": sum(figures["errors"] for figures in settled),
    }
    return played, counts


def set_up(ledger: lastro.Ledger, script: Script) -> None:
    """Make the ledger, open the accounts and pay into them, and open every market at the odds of the file."""
    ledger.migrate()
    for account in script.deposits:
        ledger.open_account(account, CURRENCY)
    ledger.post_many(
        [
            {
                "key": f"deposit:{account}",
                "kind": "deposit",
                "debit": WORLD,
                "credit": account,
                "amount": amount,
                "currency": CURRENCY,
            }
            for account, amount in script.deposits.items()
            if amount
        ]
    )
    ledger.betting.bar(BARRED, reason="by the demo")
    for match in script.matches:
        ledger.betting.open_market(match.market, CURRENCY, odds=match.odds)


def judge(stage: Stage, script: Script, played: Played) -> tuple[Proof, ...]:
    """Read the books in one snapshot, and hold them against what was expected and played."""
    with stage.connect() as connection, connection.transaction():
        connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
        return prove(expectation_of(script), read_books(connection, stage), played)


def _hire(cast: Cast, stage: Stage, script: Script) -> Troupe:
    hands = zip(*(one.hands for one in script.rounds), strict=True)
    return Troupe(
        [cast.hire(f"bettor {number}", work_as_bettor, stage, hand) for number, hand in enumerate(hands, start=1)],
        [cast.hire(f"settler {number}", work_as_settler, stage, INTERVAL_MS) for number in range(1, SETTLERS + 1)],
        cast.hire("next settler", work_as_settler, stage, INTERVAL_MS),
    )


def _follow(
    cast: Cast, troupe: Troupe, stage: Stage, ledger: lastro.Ledger, script: Script, *, progress: Progress
) -> tuple[Counter[str], Kill]:
    """Report the results of each round when all bettors are through with it; halfway kill a settler over them."""
    through: Counter[int] = Counter()
    results: Counter[str] = Counter()
    kill: Kill | None = None
    rounds = len(script.rounds)
    for _, number in cast.listen(*troupe.bettors):
        through[number] += 1
        if through[number] < len(troupe.bettors):
            continue
        one = script.rounds[number]
        if number == rounds // 2:
            with held_up(stage, one) as holder, stage.connect() as connection:
                results += bring_results(ledger, one.reports)
                kill = kill_at_work(cast, troupe.settlers, stage, connection, holder=holder)
            cast.start(troupe.successor)
            progress(f"{number + 1} of {rounds} rounds; settler killed (exit code {kill.exit_code}), another started")
        else:
            results += bring_results(ledger, one.reports)
            if TOLD_SHARES * (number + 1) // rounds > TOLD_SHARES * number // rounds:
                progress(f"{number + 1} of {rounds} rounds")
    assert kill is not None, "there is a round halfway"
    return results, kill


def _wait_until_settled(connection: psycopg.Connection[Any], stage: Stage) -> None:
    """Wait until every result is settled through; by now every market has one."""
    gives_up_s = time.monotonic() + PATIENCE_S
    unsettled = sql.SQL(_UNSETTLED).format(**stage.names())
    while connection.execute(unsettled).fetchone() != (0,):
        if time.monotonic() > gives_up_s:
            raise RehearsalBroken(f"bets were not settled within {PATIENCE_S:.0f} s", member="settlers")
        time.sleep(LOOK_S)
