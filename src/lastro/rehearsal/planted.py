"""
Two designs that can't bear a match, planted so that a rehearsal can be seen to fail: `rehearse match --planted …`.

They are made of the library's own parts, put together as they must not be: what a sportsbook does that grew until the
night of the final.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any, Final

import psycopg

import lastro
from lastro.betting.settling import settle_batch
from lastro.ledger.asking import Ask
from lastro.model.limits import BETS_SETTLED_MAX, MARKETS_DUE_MAX
from lastro.plans.plan import Effect, Plan, step
from lastro.plans.transfers import Terms
from lastro.rehearsal.holders import CURRENCY
from lastro.rehearsal.marketplace.retrying import until_through
from lastro.rehearsal.match import HOUSE, Match, arriving_bet
from lastro.rehearsal.open_loop import Visit
from lastro.rehearsal.persisting import persistently
from lastro.rehearsal.programme import Programme
from lastro.rehearsal.stage import Stage
from lastro.workers.loop import Facts, Worker

INTERVAL_MS: Final = 50
# What an answer of another service takes, that is asked within the transaction.
RISK_CHECK_S: Final = 0.02


class DirectHouse(Match):
    """
    The house's account is kept direct; each placement begins by booking its stake there, and asks the risk service
    before it commits.

    One row is held by every placement while it waits for somebody else, and by every batch of settlement until its
    end: they queue for it, and since each takes the bettors' rows in another order they deadlock besides.
    """

    planted = "direct-house"

    def open_markets(self, ledger: lastro.Ledger) -> None:
        """Open the house's account as one row that everybody updates."""
        ledger.open_account(HOUSE, CURRENCY, keeping="direct", floor=None)
        super().open_markets(ledger)

    @contextmanager
    def open_clients(self, stage: Stage, programme: Programme, count: int) -> Iterator[Sequence[Visit]]:
        """Give clients that credit the house and place a bet in one transaction of their own."""
        with stage.open_ledger() as ledger, ExitStack() as held:
            tills = [held.enter_context(stage.connect("rehearsal placement")) for _ in range(count)]
            visits = [partial(_credit_and_place, ledger, till, programme) for till in tills]
            yield [persistently(visit, seconds=programme.seconds) for visit in visits]


class OneTransaction(Match):
    """
    Settlement marks every bet of the market in one transaction, and holds the rows of all their accounts until its end.
    """

    planted = "one-transaction"

    def hire_settler(self, stage: Stage, stopping: Callable[[], bool]) -> Sequence[Worker]:
        """Return a settler whose only batch is the whole market."""
        del stopping
        return [SettlerOfAll(stage.open_ledger("rehearsal settlement"))]


class SettlerOfAll:
    """
    Settles everything that is due in one transaction.
    """

    name = "settler"
    interval_ms = INTERVAL_MS
    jitter = 0.0

    def __init__(self, ledger: lastro.Ledger) -> None:
        self._ledger = ledger

    def run_once(self) -> Facts:
        """Settle all."""
        terms = self._ledger._operations.terms()  # noqa: SLF001
        settled = self._ledger._run(Ask(lambda: _settle_all(terms), Effect.KEYED))  # noqa: SLF001
        return Facts({"settled": settled})

    def close(self) -> None:
        """Let go of the connections."""
        self._ledger.close()


def _credit_and_place(ledger: lastro.Ledger, till: psycopg.Connection[Any], programme: Programme, number: int) -> int:
    bet = arriving_bet(programme, number)

    def place() -> None:
        with till.transaction():
            held = ledger.within(till)
            staked = {"kind": "staked", "debit": "world", "credit": HOUSE, "amount": bet["stake"]}
            held.post(key=f"staked:{bet['key']}", currency=CURRENCY, **staked)
            held.betting.place(**bet)
            time.sleep(RISK_CHECK_S)

    return until_through(place)[1]


def _settle_all(terms: Terms) -> Plan[int]:
    settled = 0
    rows = yield step("betting_settling.due", seen_ids=[], rows_max=MARKETS_DUE_MAX)
    for row in rows:
        while (batch := (yield from settle_batch(row["market_id"], terms, bets_max=BETS_SETTLED_MAX))) is not None:
            settled += batch.settled
    return settled


PLANTED: Final[dict[str, type[Match]]] = {str(each.planted): each for each in (DirectHouse, OneTransaction)}
