"""
`rehearse prepaid`: debits and top-ups of prepaid balances, and a charging run over every job beside them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import psycopg
from psycopg import sql

import lastro
from lastro.charging import Charger
from lastro.rehearsal.checkout import hire_consolidator
from lastro.rehearsal.crew import work
from lastro.rehearsal.criteria import Criteria
from lastro.rehearsal.holders import CURRENCY, arrival_key, holder_of, open_holders
from lastro.rehearsal.open_loop import Visit
from lastro.rehearsal.persisting import persistently
from lastro.rehearsal.prepaid_jobs import WAITING, JobTable
from lastro.rehearsal.programme import Programme
from lastro.rehearsal.scenario import Defaults, Part, Queue, Tell
from lastro.rehearsal.stage import Stage
from lastro.workers.loop import Worker

PRICE = 100
PRICE_SPREAD = 400
JOB_PRICE = 1_000
TOP_UP = 5_000
# Every so manieth arrival brings money; the others take it.
TOP_UP_EVERY = 10
PREFIX = "customer:"

DEFAULTS = Defaults(rate=100.0, seconds=30.0, burst=3_000, clients=16, processes=2, accounts=2_000, workers=1)
CRITERIA = Criteria(
    {
        "debit.p99_ms_max": 1_000.0,
        "debit.errors_max": 0,
        "burst.p99_ms_max": 1_000.0,
        "burst.p99_ratio_max": 2.0,
        "burst.longest_over_drain_max": 0.5,
        "burst.ratio_counts_from_ms": 500.0,
        "burst.longest_counts_from_ms": 100.0,
        "afterwards.backlog_age_ms_max": 15_000.0,
        "afterwards.backlog_drained_ms_max": 60_000.0,
        "database.deadlocks_max": 0,
        "books.drift_max": 0,
        "books.incidents_max": 0,
    }
)

_AUDIT = """
SELECT
    (
        SELECT count(*)
        FROM unnest(%(keys)s::text[]) AS answered (key)
        LEFT JOIN {ledger}.transfer_key AS stored ON stored.key = answered.key
        WHERE stored.key IS NULL
    ),
    (SELECT count(*) FROM {marketplace}.jobs WHERE charged_until > now()),
    (SELECT count(*) FROM {ledger}.movement WHERE movement_key LIKE 'job:%%'),
    (SELECT count(*) FROM {ledger}.balance WHERE account LIKE %(accounts)s AND posted < 0)
"""


class Prepaid:
    """
    Customers spend and top up, and at the burst `burst` running jobs on the same accounts are due for their next day.
    """

    name: str = "prepaid"
    waits_for: str = "debit"
    queue: str = "charging"
    queue_unit: str = "jobs"
    burst: str = "{burst} running jobs are due to be charged"
    arrives_at_once: bool = False
    planted: str | None = None
    defaults: Defaults = DEFAULTS
    criteria: Criteria = CRITERIA

    def set_up(self, stage: Stage, programme: Programme) -> None:
        """Open an account with money for every customer, and begin the jobs."""
        with stage.open_ledger() as ledger:
            ledger.migrate()
            ledger.register_kinds(lastro.PREPAID)
        open_holders(stage, programme, customer, kind="credit")
        with stage.connect() as connection:
            jobs = {"jobs": programme.burst, "accounts": programme.accounts}
            JobTable(stage).begin(connection, prefix=PREFIX, currency=CURRENCY, amount=JOB_PRICE, **jobs)

    def prepare(self, stage: Stage, programme: Programme, process: int, tell: Tell) -> None:
        """There is nothing long to prepare."""

    @contextmanager
    def open_clients(self, stage: Stage, programme: Programme, count: int) -> Iterator[Sequence[Visit]]:
        """Give clients that spend or top up once an arrival."""
        with stage.open_ledger("rehearsal debit", pool_max=count) as ledger:

            def move(number: int) -> int:
                account = customer(holder_of(programme, number))
                if number % TOP_UP_EVERY:
                    amount = PRICE + number % PRICE_SPREAD
                    ledger.debit(account, CURRENCY, key=arrival_key(number), amount=amount, kind="debit")
                else:
                    ledger.credit(account, CURRENCY, key=arrival_key(number), amount=TOP_UP, kind="credit")
                return 0

            yield [persistently(move, seconds=programme.seconds) for _ in range(count)]

    def members(self, programme: Programme) -> Sequence[Part]:
        """Return as many chargers as were asked for."""
        chargers = [Part(f"charger {number}", work, (hire_charger,)) for number in range(1, programme.workers + 1)]
        return [*chargers, Part("consolidator", work, (hire_consolidator,))]

    def figures(self, results: Mapping[str, Any]) -> dict[str, int]:
        """Return how many jobs were charged."""
        chargers = [facts for name, facts in results.items() if name.startswith("charger")]
        return {"charged": sum(facts.figures["charger"].get("charged", 0) for facts in chargers)}

    def begin_burst(self, stage: Stage, programme: Programme) -> None:
        """Let every job fall due."""
        with stage.connect() as connection:
            JobTable(stage).fall_due(connection)

    def waiting(self, connection: psycopg.Connection[Any], stage: Stage) -> Queue:
        """Return the jobs that are due."""
        row = connection.execute(sql.SQL(WAITING).format(**stage.names())).fetchone()
        assert row is not None, "an aggregate has one row"
        return Queue(*row)

    def audit(
        self, ledger: lastro.Ledger, connection: psycopg.Connection[Any], stage: Stage, answered: Collection[int]
    ) -> str | None:
        """Say what is wrong between the answers, the jobs and the ledger."""
        asked = {"keys": [arrival_key(number) for number in answered], "accounts": f"{PREFIX}%"}
        row = connection.execute(sql.SQL(_AUDIT).format(**stage.names()), asked).fetchone()
        assert row is not None, "a row of sub-selects is one row"
        missing, charged, charges, negative = row
        if missing:
            return f"{missing} debits and top-ups were answered, and aren't in the ledger"
        if charged != charges:
            return f"{charged} jobs say that they are charged, the ledger has {charges} charges"
        return f"{negative} balances are below zero" if negative else None


def hire_charger(stage: Stage, stopping: Callable[[], bool]) -> Sequence[Worker]:
    """
    Return the product's own charger, on the stage's table of jobs.
    """
    ledger = stage.open_ledger("rehearsal charging")
    return [Charger(ledger, JobTable(stage), stopping=stopping)]


def customer(number: int) -> str:
    """
    Return the name of an account.
    """
    return f"{PREFIX}{number}"
