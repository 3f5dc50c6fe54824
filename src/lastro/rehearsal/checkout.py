"""
`rehearse checkout`: checkouts by the clock, payouts and a consolidator beside them, and many more at one moment.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

import psycopg
from psycopg import sql

import lastro
from lastro.rehearsal.books_kept import look_at_tail
from lastro.rehearsal.crew import work
from lastro.rehearsal.criteria import Criteria
from lastro.rehearsal.marketplace import Order, Shop, check_out, seller_account
from lastro.rehearsal.member import Line
from lastro.rehearsal.open_loop import Visit
from lastro.rehearsal.order_rows import make_rows, orders_of
from lastro.rehearsal.persisting import persistently
from lastro.rehearsal.programme import Programme
from lastro.rehearsal.roles import PaymasterFacts, work_as_paymaster
from lastro.rehearsal.scenario import Defaults, Part, Queue, Tell
from lastro.rehearsal.stage import Stage
from lastro.workers.consolidator import Consolidator
from lastro.workers.loop import Worker

ORDER_SHAPES = 2_000
PAYMASTER_PAUSE_S = 0.1

DEFAULTS = Defaults(rate=100.0, seconds=10.0, burst=0, clients=16, processes=2, accounts=ORDER_SHAPES, workers=1)
CRITERIA = Criteria(
    {
        "checkout.p99_ms_max": 250.0,
        "checkout.errors_max": 0,
        "burst.p99_ms_max": 5_000.0,
        "afterwards.tail_age_ms_max": 2_000.0,
        "afterwards.tail_drained_ms_max": 5_000.0,
        "database.deadlocks_max": 0,
        "books.drift_max": 0,
        "books.incidents_max": 0,
    }
)

# What one transaction wrote in the marketplace's tables, in the ledger and in the metric must agree.
_AUDIT = """
SELECT
    (SELECT count(*) FROM {marketplace}.orders),
    (SELECT coalesce(sum(amount), 0)::bigint FROM {marketplace}.payments),
    (SELECT coalesce(sum(amount), 0)::bigint FROM {ledger}.movement WHERE kind IN ('sale', 'commission')),
    (SELECT coalesce(sum(amount), 0)::bigint FROM {marketplace}.payouts),
    (SELECT coalesce(sum(amount), 0)::bigint FROM {ledger}.movement WHERE kind = 'payout'),
    (
        SELECT count(*)
        FROM unnest(%(ids)s::text[]) AS answered (order_id)
        LEFT JOIN {marketplace}.orders AS stored ON stored.order_id = answered.order_id
        WHERE stored.order_id IS NULL
    )
"""


class Checkout:
    """
    A marketplace's checkouts, each one transaction of the application's with the ledger's postings in it.
    """

    name: str = "checkout"
    waits_for: str = "checkout"
    queue: str = "consolidation"
    queue_unit: str = "entries"
    burst: str = "{burst} checkouts at one moment"
    arrives_at_once: bool = True
    planted: str | None = None
    defaults: Defaults = DEFAULTS
    criteria: Criteria = CRITERIA

    def set_up(self, stage: Stage, programme: Programme) -> None:
        """Create the marketplace's tables and the accounts of all who sell."""
        with stage.open_shop() as shop, stage.connect() as connection:
            shop.set_up(connection)
            shop.register(connection, _sellers(order_shapes(programme)))

    def prepare(self, stage: Stage, programme: Programme, process: int, tell: Tell) -> None:
        """There is nothing long to prepare."""

    @contextmanager
    def open_clients(self, stage: Stage, programme: Programme, count: int) -> Iterator[Sequence[Visit]]:
        """Give clients with a connection of the application's each."""
        shapes = order_shapes(programme)
        with stage.open_shop() as shop, ExitStack() as held:
            tills = [Till(stage, shop, shapes) for _ in range(count)]
            for till in tills:
                held.callback(till.close)
            yield [persistently(till.check_out, seconds=programme.seconds) for till in tills]

    def members(self, programme: Programme) -> Sequence[Part]:
        """Return the consolidator and the paymaster."""
        accounts = [seller_account(seller) for seller in _sellers(order_shapes(programme))]
        return [Part("consolidator", work, (hire_consolidator,)), Part("paymaster", pay, (accounts, programme.seed))]

    def figures(self, results: Mapping[str, Any]) -> dict[str, int]:
        """Return what the paymaster did."""
        paid: PaymasterFacts = results["paymaster"]
        return {"payouts": paid.payouts, "debits_refused": paid.refused}

    def begin_burst(self, stage: Stage, programme: Programme) -> None:
        """The burst is arrivals: nobody else makes it."""

    def waiting(self, connection: psycopg.Connection[Any], stage: Stage) -> Queue:
        """Return what isn't consolidated."""
        return look_at_tail(connection, stage)

    def audit(
        self, ledger: lastro.Ledger, connection: psycopg.Connection[Any], stage: Stage, answered: Collection[int]
    ) -> str | None:
        """Say what is wrong: orders against answers and metric, the marketplace's money against the ledger's."""
        ids = [order_id(number) for number in answered]
        row = connection.execute(sql.SQL(_AUDIT).format(**stage.names()), {"ids": ids}).fetchone()
        assert row is not None, "a row of sub-selects is one row"
        orders, payments, booked, payouts, paid, missing = row
        counted = ledger.count("orders")
        if missing or counted != orders:
            return f"of {len(ids)} orders that were answered {missing} aren't stored; the metric counts {counted} of {orders}"
        if (payments, payouts) != (booked, paid):
            return f"the marketplace took {payments} and paid {payouts}, its ledger says {booked} and {paid} (cents)"
        return None


class Till:
    """
    One client of the marketplace: a connection of the application's, opened again where it was lost.
    """

    def __init__(self, stage: Stage, shop: Shop, shapes: Sequence[Order]) -> None:
        self._stage, self._shop, self._shapes = stage, shop, shapes
        self._connection: psycopg.Connection[Any] | None = self._connect()

    def check_out(self, number: int) -> int:
        """Check out the order of one arrival. A lost connection is the ledger's ConnectionLost, whoever met it."""
        try:
            if self._connection is None or self._connection.closed:
                self._connection = self._connect()
            order = self._shapes[number % len(self._shapes)]._replace(id=order_id(number))
            return check_out(self._connection, self._shop, order).lost_tries
        except psycopg.OperationalError as error:
            if self._connection is not None and not self._connection.broken:
                raise
            self.close()
            raise lastro.ConnectionLost(f"the database can't be reached: {error}") from error

    def close(self) -> None:
        """Let go of the connection."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _connect(self) -> psycopg.Connection[Any]:
        return self._stage.connect("rehearsal checkout")


def hire_consolidator(stage: Stage, stopping: Callable[[], bool]) -> Sequence[Worker]:
    """
    Return the product's own consolidator.
    """
    return [Consolidator(stage.open_ledger("rehearsal workers"), stopping=stopping)]


def pay(line: Line, stage: Stage, accounts: Sequence[str], seed: int) -> PaymasterFacts:
    """
    Pay out beside the checkouts until told to stop.
    """
    return work_as_paymaster(line, stage, accounts, name="load", seed=seed, pause_s=PAYMASTER_PAUSE_S)


def order_shapes(programme: Programme) -> list[Order]:
    """
    Return the orders that load is made of; each arrival takes one under an id of its own.
    """
    return orders_of(make_rows(programme.accounts, seed=programme.seed))


def order_id(number: int) -> str:
    """
    Return the id of the order of one arrival.
    """
    return f"arrival-{number}"


def _sellers(shapes: Sequence[Order]) -> list[str]:
    return sorted({item.seller for order in shapes for item in order.items})
