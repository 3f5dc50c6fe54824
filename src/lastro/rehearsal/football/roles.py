"""
What the processes of a season do: bettors submit their wagers, feeds bring the results, the product's settlers settle.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import lastro
from lastro.rehearsal.cast import Line
from lastro.rehearsal.football.books import CURRENCY
from lastro.rehearsal.football.script import Report, Wager
from lastro.rehearsal.marketplace.retrying import until_through
from lastro.rehearsal.roles import be_worker
from lastro.rehearsal.stage import Stage
from lastro.workers.settler import Settler

FEEDS = 2


@dataclass
class BettorFacts:
    """
    What one bettor was told: first answers by their kind (accepted, or the code of a refusal), and answers given again.
    """

    answers: Counter[str] = field(default_factory=Counter)
    again: int = 0
    lost_tries: int = 0


def work_as_bettor(line: Line, stage: Stage, hands: Sequence[Sequence[Wager]]) -> BettorFacts:
    """Submit the wagers of round after round, telling the number of each round that is through."""
    facts = BettorFacts()
    with stage.open_ledger() as ledger:
        line.wait_for_start()
        for number, wagers in enumerate(hands):
            for wager in wagers:
                (answer, replayed), lost = until_through(lambda: _submit(ledger, wager))  # noqa: B023 - it is called at once
                facts.lost_tries += lost
                if replayed:
                    facts.again += 1
                else:
                    facts.answers[answer] += 1
            line.tell(number)
    return facts


def _submit(ledger: lastro.Ledger, wager: Wager) -> tuple[str, bool]:
    """Submit a wager; return the answer, and whether it was given before."""
    try:
        placed = ledger.betting.place(
            key=wager.key, account=wager.account, currency=CURRENCY, stake=wager.stake, legs=wager.legs
        )
    except lastro.Refusal as refused:
        return refused.code, bool(refused.details.get("replayed"))
    return "accepted", placed.replayed


def work_as_settler(line: Line, stage: Stage, interval_ms: int) -> dict[str, int]:
    """Be the product's own settler until told to stop; return its figures, and how many of its ticks failed."""
    totals = be_worker(line, stage, Settler, interval_ms)
    return totals.figures | {"errors": totals.errors}


def bring_results(ledger: lastro.Ledger, reports: Sequence[Report]) -> Counter[str]:
    """
    Have two feeds bring all of these at the same time, in opposite orders, as messages; return what became of them.
    """

    def bring(messages: Iterable[Report]) -> Counter[str]:
        return Counter(_take(ledger, one) for one in messages)

    with ThreadPoolExecutor(FEEDS) as feeds:
        return sum(feeds.map(bring, (reports, reports[::-1])), Counter())


def _take(ledger: lastro.Ledger, report: Report) -> str:
    taken, _ = until_through(lambda: ledger.betting.take(report.message(), market=report.market))
    return taken.outcome
