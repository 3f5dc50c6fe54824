"""
`rehearse match`: bets are placed on live markets while another market's result settles thousands of open bets.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from typing import Any, NamedTuple

import psycopg
from psycopg import sql

import lastro
from lastro.rehearsal.crew import work
from lastro.rehearsal.criteria import Criteria
from lastro.rehearsal.holders import CURRENCY, arrival_key, holder_of, open_holders
from lastro.rehearsal.open_loop import Visit
from lastro.rehearsal.persisting import persistently
from lastro.rehearsal.programme import Programme
from lastro.rehearsal.scenario import Defaults, Part, Queue, Tell
from lastro.rehearsal.stage import Stage
from lastro.rehearsal.taken import Taken
from lastro.workers.consolidator import Consolidator
from lastro.workers.loop import Worker
from lastro.workers.outbox_relay import OutboxRelay
from lastro.workers.settler import Settler

DECIDED = "match"
HOUSE = "betting:house"
LIVE_MARKETS = 8
SELECTIONS = ("home", "draw", "away")
ODDS = {"home": "2.05", "draw": "3.30", "away": "4.00"}
WON = "home"
# A queue that delivers at least once delivers twice.
DELIVERIES = 2
STAKE = 100
STAKE_SPREAD = 900
# Threads of each process that place the open bets: while one waits for its commit another goes on.
PREPARERS = 4
TOLD_EVERY = 500

DEFAULTS = Defaults(rate=100.0, seconds=30.0, burst=5_000, clients=16, processes=2, accounts=10_000, workers=1)
CRITERIA = Criteria(
    {
        "placement.p99_ms_max": 1_000.0,
        "placement.errors_max": 0,
        "burst.p99_ms_max": 1_000.0,
        "burst.p99_ratio_max": 2.0,
        # Whatever the machine: who waits for a batch doesn't wait for the settlement.
        "burst.longest_over_drain_max": 0.5,
        # Below it nobody notices, and a ratio of two small numbers says how busy the machine was.
        "burst.ratio_counts_from_ms": 500.0,
        "burst.longest_counts_from_ms": 100.0,
        "afterwards.backlog_age_ms_max": 15_000.0,
        "afterwards.backlog_drained_ms_max": 30_000.0,
        "afterwards.tail_drained_ms_max": 10_000.0,
        "database.deadlocks_max": 0,
        "books.drift_max": 0,
        "books.incidents_max": 0,
    }
)

_QUEUE = """
SELECT count(*), coalesce(extract(epoch FROM clock_timestamp() - min(opened_at)) * 1000, 0)::double precision
FROM {ledger}.open_result
"""

# What was answered must be there; what is settled must be settled once, and each cent of it at the house or with its bettor.
_AUDIT = """
SELECT
    (
        SELECT count(*)
        FROM unnest(%(keys)s::text[]) AS answered (key)
        LEFT JOIN {ledger}.bet AS bet ON bet.key = answered.key
        WHERE bet.id IS NULL
    ),
    (
        SELECT count(*)
        FROM {ledger}.open_bet AS open_bet
        INNER JOIN {ledger}.market AS market ON open_bet.market_id = market.id
        WHERE market.name = %(decided)s
    ),
    (SELECT count(*) FROM {ledger}.bet_settlement),
    (SELECT count(DISTINCT bet_id) FROM {ledger}.bet_settlement),
    (
        SELECT coalesce(sum(bet.stake - settlement.returned), 0)::bigint
        FROM {ledger}.bet_settlement AS settlement
        INNER JOIN {ledger}.bet AS bet ON settlement.bet_id = bet.id
    ),
    (
        SELECT coalesce(sum(movement.amount) FILTER (WHERE movement.kind = 'bet_stake'), 0)::bigint
            - coalesce(sum(movement.amount) FILTER (WHERE movement.kind = 'bet_return'), 0)::bigint
        FROM {ledger}.movement AS movement
    ),
    (
        SELECT coalesce(sum(bet.stake), 0)::bigint
        FROM {ledger}.bet AS bet
        LEFT JOIN {ledger}.bet_settlement AS settlement ON bet.id = settlement.bet_id
        WHERE settlement.bet_id IS NULL
    ),
    (SELECT coalesce(sum(held), 0)::bigint FROM {ledger}.balance)
"""


class _Audited(NamedTuple):
    """What the audit's statement returns, in its order."""

    missing: int
    open_of_decided: int
    settlements: int
    settled: int
    kept_by_bets: int
    kept_by_ledger: int
    staked: int
    held: int


class Match:
    """
    Placements on live markets, and at the burst the result of a market with `burst` open bets on the same accounts.
    """

    name: str = "match"
    waits_for: str = "placement"
    queue: str = "settlement"
    queue_unit: str = "results"
    burst: str = "results: a market with {burst} open bets is decided"
    arrives_at_once: bool = False
    planted: str | None = None
    defaults: Defaults = DEFAULTS
    criteria: Criteria = CRITERIA

    def set_up(self, stage: Stage, programme: Programme) -> None:
        """Open the markets, and an account with money for everybody who bets."""
        with stage.open_ledger() as ledger:
            ledger.migrate()
            self.open_markets(ledger)
        open_holders(stage, programme, bettor, kind="deposit")

    def open_markets(self, ledger: lastro.Ledger) -> None:
        """Open the market that will be decided, and those that go on; with the first the house gets its account."""
        for name in (DECIDED, *(live_market(number) for number in range(LIVE_MARKETS))):
            ledger.betting.open_market(name, CURRENCY, odds=ODDS)

    def prepare(self, stage: Stage, programme: Programme, process: int, tell: Tell) -> None:
        """Place this process's part of the bets that the burst settles."""
        mine = range(process, programme.burst, programme.processes)

        # Each bet its own transaction: of many in one, two processes would take the slices of exposure in a circle.
        def place(number: int) -> None:
            ledger.betting.place(key=f"open:{number}", **_bet(number, bettor(number % programme.accounts), DECIDED))

        with (
            stage.open_ledger(pool_max=PREPARERS) as ledger,
            ThreadPoolExecutor(PREPARERS) as preparers,
        ):
            for start in range(0, len(mine), TOLD_EVERY):
                tell(f"{start} of {len(mine)} open bets placed")
                # Exhausted, so that what one of them raises is raised here.
                deque(preparers.map(place, mine[start : start + TOLD_EVERY]), maxlen=0)

    @contextmanager
    def open_clients(self, stage: Stage, programme: Programme, count: int) -> Iterator[Sequence[Visit]]:
        """Give clients that place one bet an arrival, each by the ledger's own method."""
        with stage.open_ledger("rehearsal placement", pool_max=count) as ledger:
            place = partial(self.place, ledger, programme)
            yield [persistently(place, seconds=programme.seconds) for _ in range(count)]

    def place(self, ledger: lastro.Ledger, programme: Programme, number: int) -> int:
        """Place the bet of one arrival."""
        ledger.betting.place(**arriving_bet(programme, number))
        return 0

    def members(self, programme: Programme) -> Sequence[Part]:
        """Return as many settlers as were asked for, and the consolidator with the relay in a process of their own."""
        settlers = [Part(f"settler {number}", work, (self.hire_settler,)) for number in range(1, programme.workers + 1)]
        return [*settlers, Part("consolidator and relay", work, (hire_keepers,))]

    def figures(self, results: Mapping[str, Any]) -> dict[str, int]:
        """Return how many bets were settled."""
        settlers = [facts for name, facts in results.items() if name.startswith("settler")]
        return {"settled": sum(facts.figures["settler"].get("settled", 0) for facts in settlers)}

    def hire_settler(self, stage: Stage, stopping: Callable[[], bool]) -> Sequence[Worker]:
        """Return the product's own settler."""
        return [Settler(stage.open_ledger("rehearsal settlement"), stopping=stopping)]

    def begin_burst(self, stage: Stage, programme: Programme) -> None:
        """Take the result of the market, and take it again, as a queue that delivers at least once does."""
        message = {"market": DECIDED, "version": 1, "outcomes": {WON: "won"}, "others": "lost", "source": "rehearsal"}
        with stage.open_ledger() as ledger:
            taken = [ledger.betting.take(message, market=DECIDED).outcome for _ in range(DELIVERIES)]
        assert taken == ["recorded", "duplicate"], f"a result and its repetition were {taken}"

    def waiting(self, connection: psycopg.Connection[Any], stage: Stage) -> Queue:
        """Return the results that aren't settled through."""
        row = connection.execute(sql.SQL(_QUEUE).format(**stage.names())).fetchone()
        assert row is not None, "an aggregate has one row"
        return Queue(*row)

    def audit(
        self, ledger: lastro.Ledger, connection: psycopg.Connection[Any], stage: Stage, answered: Collection[int]
    ) -> str | None:
        """Say what is wrong between the answers, the bets and the money."""
        keys = [arrival_key(number) for number in answered]
        row = connection.execute(sql.SQL(_AUDIT).format(**stage.names()), {"keys": keys, "decided": DECIDED}).fetchone()
        assert row is not None, "a row of sub-selects is one row"
        return _said(_Audited(*row))


def hire_keepers(stage: Stage, stopping: Callable[[], bool]) -> Sequence[Worker]:
    """
    Return the consolidator, and a relay whose target takes everything at once.
    """

    def open_ledger() -> lastro.Ledger:
        return stage.open_ledger("rehearsal workers", pool_max=2)

    return [
        Consolidator(open_ledger(), stopping=stopping),
        OutboxRelay(open_ledger(), target=Taken(), stopping=stopping),
    ]


def arriving_bet(programme: Programme, number: int) -> dict[str, Any]:
    """
    Return the arguments of the placement of one arrival.
    """
    account = bettor(holder_of(programme, number))
    return {"key": arrival_key(number), **_bet(number, account, live_market(number % LIVE_MARKETS))}


def bettor(number: int) -> str:
    """
    Return the name of an account.
    """
    return f"bettor:{number}"


def live_market(number: int) -> str:
    """
    Return the name of a market that stays open.
    """
    return f"live:{number}"


def _bet(number: int, account: str, market: str) -> dict[str, Any]:
    selection = SELECTIONS[number % len(SELECTIONS)]
    return {
        "account": account,
        "currency": CURRENCY,
        "stake": STAKE + number % STAKE_SPREAD,
        "market": market,
        "selection": selection,
        "odds": ODDS[selection],
    }


def _said(found: _Audited) -> str | None:
    if found.missing:
        return f"{found.missing} placements were accepted, and their bets aren't stored"
    if found.open_of_decided:
        return f"{found.open_of_decided} bets of the decided market aren't settled"
    if found.settlements != found.settled:
        return f"{found.settled} bets have {found.settlements} settlements of one result"
    if found.kept_by_bets != found.kept_by_ledger:
        return f"by its bets the house keeps {found.kept_by_bets}, by the ledger {found.kept_by_ledger} (cents)"
    if found.staked != found.held:
        return f"{found.staked} are staked on open bets, and {found.held} are held (cents)"
    return None
