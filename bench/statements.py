"""
The past of one account with a long history, closed day by day: its balance at a moment beside a plain balance read.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from bench.books import CURRENCY, Books, books
from bench.figures import Run
from bench.loads import percentile
from lastro import Balance
from lastro.plans.closing_days import close_days

BEGINS = datetime(2025, 1, 1, tzinfo=UTC)
ACCOUNT = "platform"


def measure(run: Run) -> None:
    """A year of a hot account's entries, a mark a day; moments drawn from all of it, by either clock."""
    days, entries = run.scale.history_days, run.scale.history_entries
    with books(run.server, "bench_statements") as made:
        closing_s = _fill(made, days=days, entries=entries)
        run.note("past.closing", days=days, entries=entries, mean_s=closing_s / days)
        chance = random.Random(run.next_seed())
        plain = _times(lambda: made.ledger.balance(ACCOUNT, CURRENCY), run.scale.reads)
        for by in ("recorded", "occurred"):

            def read(by: str = by) -> Balance:
                at = BEGINS + chance.random() * timedelta(days=days)
                return made.ledger.balance(ACCOUNT, CURRENCY, at=at, by=by)  # type: ignore[arg-type]

            times = _times(read, run.scale.reads)
            run.note(
                f"past.balance_at.{by}",
                p50_ms=percentile(times, 0.5) * 1000,
                p99_ms=percentile(times, 0.99) * 1000,
                times=percentile(times, 0.5) / percentile(plain, 0.5),
            )
        since = BEGINS + timedelta(days=days // 2)
        began = time.perf_counter()
        statement = made.ledger.statement(ACCOUNT, CURRENCY, since=since, until=since + timedelta(days=1))
        lines = sum(1 for _ in statement)
        took_s = time.perf_counter() - began
        assert lines == entries // days, lines
        run.note("past.statement_of_a_day", lines=lines, ms=took_s * 1000, lines_per_s=lines / took_s)


def _fill(made: Books, *, days: int, entries: int) -> float:
    """
    Write the history by SQL, a day and its mark after the other; return the seconds that the marks took.

    What is timed is the closing and the reading; ten million posts would take longer than all the rest. Each entry
    occurred up to two hours before it was recorded.
    """
    world_id, account_id = made.account_id("world"), made.account_id(ACCOUNT)
    a_day = entries // days
    closing_s = 0.0
    made.ledger.account(ACCOUNT, CURRENCY)
    for day in range(days):
        begins = BEGINS + timedelta(days=day)
        made.execute(
            f"""
            INSERT INTO transfer (id, debit_id, credit_id, amount, occurred_at, recorded_at, key, kind)
            SELECT
                nextval('transfer_id'), {world_id}, {account_id}, 1,
                moment - n %% 120 * interval '1 minute', moment, 'past:{day}:' || n, 'bench'
            FROM generate_series(0, {a_day - 1}) AS n
            CROSS JOIN LATERAL (SELECT '{begins.isoformat()}'::timestamptz + n * interval '1 day' / {a_day}) AS m (moment);
            UPDATE base SET amount = amount + {a_day} WHERE account_id = {account_id};
            """.replace("%%", "%")
        )
        began = time.perf_counter()
        closed = made.ledger._walk(  # noqa: SLF001  (by a clock of the past)
            close_days(now=begins + timedelta(days=1) - timedelta(microseconds=1))
        )
        closing_s += time.perf_counter() - began
        assert closed.marks == 1, closed
    made.execute("VACUUM ANALYZE transfer, closing, closing_block, mark")
    return closing_s


def _times(read: Callable[[], Balance], reads: int) -> list[float]:
    times = []
    for _ in range(reads):
        began = time.perf_counter()
        read()
        times.append(time.perf_counter() - began)
    return sorted(times)
