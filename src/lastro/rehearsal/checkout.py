"""
`rehearse checkout`: checkouts by the clock with payouts and a consolidator beside them, judged by criteria set before.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import psycopg
from psycopg import sql

import lastro
from lastro.rehearsal.arrivals import arrival_times_s
from lastro.rehearsal.cast import Cast, Line, Member
from lastro.rehearsal.criteria import DEFAULT_CRITERIA, Criteria, read_criteria
from lastro.rehearsal.load import LoadFacts, arrivals_of, drive_closed_loop, drive_open_loop, order_shapes
from lastro.rehearsal.marketplace import Order, seller_account
from lastro.rehearsal.order_rows import SEED
from lastro.rehearsal.roles import PaymasterFacts, work_as_consolidator, work_as_paymaster
from lastro.rehearsal.stage import Stage, set_stage
from lastro.rehearsal.verdict import Criterion, Measured, Verdict, judge, percentile
from lastro.testing import assert_balanced

__all__ = ["Criteria", "Criterion", "Measured", "Verdict", "checkout_rate", "run"]

RATE_PER_SECOND = 100.0
SECONDS = 10.0
PROCESSES = 2
CLIENTS = 16
CLIENTS_MAX = 512
CLOSED_LOOP_PROCESSES = 4
WARM_UP_S = 1.0
CONSOLIDATOR_INTERVAL_MS = 500
PAYMASTER_PAUSE_S = 0.1
DRAINING_MAX_S = 60.0
DRAINING_LOOK_S = 0.02
MS = 1_000

Progress = Callable[[str], None]

_TAIL = """
SELECT count(*), coalesce(extract(epoch FROM clock_timestamp() - min(movement.recorded_at)), 0)::double precision
FROM {ledger}.tail AS tail
LEFT JOIN {ledger}.movement AS movement ON tail.transfer_id = movement.position
"""

# What one transaction wrote in the marketplace's tables, in the ledger and in the metric must agree.
_BOTH_SIDES = """
SELECT
    (SELECT count(*) FROM {marketplace}.orders),
    (SELECT coalesce(sum(amount), 0)::bigint FROM {marketplace}.payments),
    (SELECT coalesce(sum(amount), 0)::bigint FROM {ledger}.movement WHERE kind IN ('sale', 'commission')),
    (SELECT coalesce(sum(amount), 0)::bigint FROM {marketplace}.payouts),
    (SELECT coalesce(sum(amount), 0)::bigint FROM {ledger}.movement WHERE kind = 'payout')
"""


def run(
    *,
    url: str | None = None,
    rate: float = RATE_PER_SECOND,
    seconds: float = SECONDS,
    burst: int = 0,
    clients: int = CLIENTS,
    processes: int = PROCESSES,
    seed: int = SEED,
    criteria: Path | None = None,
    report: Path | None = None,
    beside_others: bool = False,
    progress: Progress | None = None,
) -> Verdict:
    """
    Let checkouts arrive at `rate` a second for `seconds`, and `burst` more at one moment halfway; judge what came.

    Arrivals don't wait for answers: a checkout that starts late because all `clients` (threads in `processes`) are busy
    counts its latency from when it should have started. `criteria`: a TOML file (see `read_criteria`). `url`: a
    database; schemas are made there and dropped again; one that holds other ledgers is refused unless `beside_others`.
    Without it an embedded server in a temporary directory. Raises InvalidInput, OtherLedgersThere, RehearsalBroken.
    """
    if report is not None:
        raise lastro.InvalidInput(
            "the HTML report isn't there yet; the verdict as JSON has the same figures", argument="report"
        )
    tell = progress or _silent
    limits = DEFAULT_CRITERIA if criteria is None else read_criteria(criteria)
    _check_clients(clients, processes)
    times_s = arrival_times_s(rate=rate, seconds=seconds, burst=burst, seed=seed)
    shapes = order_shapes(seed)
    arrivals = arrivals_of(times_s, shapes)
    with set_stage(url, beside_others=beside_others) as stage:
        hands = [arrivals[start::processes] for start in range(processes)]
        tell(f"{len(arrivals)} checkouts over {seconds:g} s, {clients} clients in {processes} processes")
        with Cast() as cast:
            drivers = [
                cast.hire(f"clients {number}", drive_open_loop, stage, hand, _share(clients, processes, number))
                for number, hand in enumerate(hands)
            ]
            measured = _play(cast, drivers, stage, shapes, intended_per_second=len(arrivals) / seconds, progress=tell)
    return judge(measured, limits)


def checkout_rate(
    url: str,
    *,
    clients: int,
    seconds: float,
    with_ledger: bool,
    processes: int = CLOSED_LOOP_PROCESSES,
    warm_up_s: float = WARM_UP_S,
    seed: int = SEED,
) -> float:
    """
    Return how many checkouts a second `clients` get through when each begins the next as soon as it is through.

    With the ledger a consolidator runs and payouts go on; without it the same application writes its own tables only.
    Leaves nothing behind. Raises RehearsalBroken where a checkout fails.
    """
    processes = min(processes, clients)
    _check_clients(clients, processes)
    shapes = order_shapes(seed)
    with set_stage(url, beside_others=True) as stage, Cast() as cast:
        _set_up(stage, shapes, with_ledger=with_ledger)
        drivers = [
            cast.hire(
                f"clients {number}",
                _drive_closed,
                stage,
                shapes,
                {
                    "name": f"closed-{number}",
                    "clients": _share(clients, processes, number),
                    "warm_up_s": warm_up_s,
                    "seconds": seconds,
                    "with_ledger": with_ledger,
                },
            )
            for number in range(processes)
        ]
        beside = _hire_workers(cast, stage, shapes) if with_ledger else []
        cast.start(*drivers, *beside)
        for _ in cast.listen(*drivers):
            pass
        for member in beside:
            cast.stop(member)
        done: int = sum(driver.result for driver in drivers)
        return done / seconds


def _play(
    cast: Cast,
    drivers: Sequence[Member],
    stage: Stage,
    shapes: Sequence[Order],
    *,
    intended_per_second: float,
    progress: Progress,
) -> Measured:
    """Run the load to its end, and look at what it left behind."""
    _set_up(stage, shapes, with_ledger=True)
    consolidator, paymaster = _hire_workers(cast, stage, shapes)
    cast.start(*drivers, consolidator, paymaster)
    progress("running")
    for _ in cast.listen(*drivers):
        pass
    with stage.connect() as connection:
        tail_rows, tail_age_ms = _look_at_tail(connection, stage)
        paid: PaymasterFacts = cast.stop(paymaster)
        drained_ms = _wait_for_the_tail(connection, stage)
    cast.stop(consolidator)
    progress("auditing the books")
    facts: list[LoadFacts] = [driver.result for driver in drivers]
    latencies = sorted(latency for fact in facts for latency in fact.latencies_ms)
    errors: dict[str, int] = {}
    for fact in facts:
        for code, count in fact.errors.items():
            errors[code] = errors.get(code, 0) + count
    return Measured(
        arrivals=len(latencies) + sum(errors.values()),
        completed=len(latencies),
        errors=errors,
        lost_tries=sum(fact.lost_tries for fact in facts),
        intended_per_second=intended_per_second,
        completed_per_second=len(latencies) / max(fact.ended_s for fact in facts) if latencies else 0.0,
        p50_ms=percentile(latencies, 50),
        p95_ms=percentile(latencies, 95),
        p99_ms=percentile(latencies, 99),
        max_ms=percentile(latencies, 100),
        started_late=sum(fact.started_late for fact in facts),
        waited_for_a_client=sum(fact.waited_for_a_client for fact in facts),
        payouts=paid.payouts,
        debits_refused=paid.refused,
        tail_rows=tail_rows,
        tail_age_ms=tail_age_ms,
        tail_drained_ms=drained_ms,
        unbalanced=_audit(stage, answered=len(latencies)),
    )


def _set_up(stage: Stage, shapes: Sequence[Order], *, with_ledger: bool) -> None:
    with stage.open_shop(with_ledger=with_ledger) as shop, stage.connect() as connection:
        shop.set_up(connection)
        if with_ledger:
            shop.register(connection, _sellers(shapes))


def _hire_workers(cast: Cast, stage: Stage, shapes: Sequence[Order]) -> list[Member]:
    accounts = [seller_account(seller) for seller in _sellers(shapes)]
    return [
        cast.hire("consolidator", work_as_consolidator, stage, CONSOLIDATOR_INTERVAL_MS),
        cast.hire("paymaster", _pay, stage, accounts),
    ]


def _sellers(shapes: Sequence[Order]) -> list[str]:
    return sorted({item.seller for order in shapes for item in order.items})


def _pay(line: Line, stage: Stage, accounts: Sequence[str]) -> PaymasterFacts:
    return work_as_paymaster(line, stage, accounts, name="load", seed=SEED, pause_s=PAYMASTER_PAUSE_S)


def _drive_closed(line: Line, stage: Stage, shapes: Sequence[Order], how: dict[str, Any]) -> int:
    return drive_closed_loop(line, stage, shapes, **how)


def _look_at_tail(connection: psycopg.Connection[Any], stage: Stage) -> tuple[int, float]:
    row = connection.execute(sql.SQL(_TAIL).format(**stage.names())).fetchone()
    assert row is not None, "an aggregate has one row"
    return row[0], row[1] * MS


def _wait_for_the_tail(connection: psycopg.Connection[Any], stage: Stage) -> float:
    """Wait until the consolidator has folded everything; return how long that took, in ms."""
    began = time.monotonic()
    while (waited_s := time.monotonic() - began) < DRAINING_MAX_S and _look_at_tail(connection, stage)[0]:
        time.sleep(DRAINING_LOOK_S)
    return waited_s * MS


def _audit(stage: Stage, *, answered: int) -> str | None:
    """Say what is wrong: orders against metric, the marketplace's money against the ledger's, the ledger in itself."""
    with stage.open_shop() as shop, stage.connect() as connection:
        row = connection.execute(sql.SQL(_BOTH_SIDES).format(**stage.names())).fetchone()
        assert row is not None, "a row of sub-selects is one row"
        orders, payments, booked, payouts, paid = row
        counted = shop.books.count("orders")
        # A checkout that failed may have been stored (its answer was lost); one that was answered must be.
        if counted != orders or orders < answered:
            return f"{answered} checkouts were answered, {orders} orders are stored and the metric counts {counted}"
        if (payments, payouts) != (booked, paid):
            return f"the marketplace took {payments} and paid {payouts}, its ledger says {booked} and {paid} (cents)"
        try:
            assert_balanced(shop.books)
        except AssertionError as error:
            return str(error)
    return None


def _check_clients(clients: int, processes: int) -> None:
    if not 1 <= processes <= clients <= CLIENTS_MAX:
        raise lastro.InvalidInput(
            f"clients must be 1 … {CLIENTS_MAX}, in 1 … as many processes; got {clients} and {processes}",
            argument="clients",
        )


def _share(clients: int, processes: int, number: int) -> int:
    return clients // processes + (number < clients % processes)


def _silent(_: str) -> None:
    pass
