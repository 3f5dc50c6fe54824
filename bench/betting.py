"""
Betting: placing by SQL beside the limit, settling beside post_many, and placing while a whole market is settled.
"""

from __future__ import annotations

import math
import random
import time
from concurrent.futures import ThreadPoolExecutor
from statistics import median
from typing import Any

from bench import pgbench
from bench.bet_scripts import SELECTION, place_bet
from bench.books import CURRENCY, SPREAD_ACCOUNTS, Books, books
from bench.figures import FAST, Run, in_process
from bench.loads import Load, percentile
from bench.pgbench import Script, Timed
from lastro.betting.markets import HOUSE
from lastro.model.limits import BATCH_TRANSFERS_MAX, BETS_SETTLED_MAX

CLIENTS = 32
MARKETS = 100
FUNDS = 10**15
# Of the rate at which bets can be placed here, while a market is settled.
BURST_SHARE = 0.6
# The settler begins when bets are being placed, and they go on being placed for so many times what settling took alone.
SETTLER_WAIT_S = 1.0
SLACK = 4.0
KEY_BITS = 128
STAKE = 50
ODDS = {"home": "2.05", "draw": "3.30", "away": "4.00"}


def measure(run: Run) -> None:
    """Placing with 32 clients over 10,000 accounts; then, with the machine's own flush, settling, and both at once."""
    with books(run.server, f"bench_betting_{run.flush.lower()}") as made:
        # Not by postings, of which there would be as many; the ledger is dropped afterwards.
        made.execute(f"UPDATE base SET amount = {FUNDS} WHERE account_id <= {SPREAD_ACCOUNTS}")
        for name in ("many_markets", "one_market"):
            markets = MARKETS if name == "many_markets" else 1
            _open(made, name, markets)
            _place(run, made, f"betting.place.{name}.{CLIENTS}", _script(made, name, markets))
        if run.flush == FAST:
            quiet_s = _settle(run, made)
            _burst(run, made, quiet_s)


def _open(made: Books, prefix: str, markets: int) -> None:
    for number in range(1, markets + 1):
        made.ledger.betting.open_market(f"{prefix}:{number}", CURRENCY, odds=ODDS)


def _script(made: Books, prefix: str, markets: int) -> Script:
    return place_bet(made.name, prefix=prefix, markets=markets, accounts=SPREAD_ACCOUNTS)


def _place(run: Run, made: Books, name: str, script: Script) -> None:
    """Place bets beside the limit, and check that what pgbench counted was placed, each with its hold."""

    def subject() -> Load:
        before = _written(made)
        load = pgbench.run(
            run.server.embedded, script, clients=CLIENTS, seconds=run.scale.subject_s, seed=run.next_seed()
        )
        counted = int(load.more["processed"])
        for there, was in zip(_written(made), before, strict=True):
            # A client that is stopped between its commit and its count may leave one more.
            if not counted <= there - was <= counted + CLIENTS:
                raise RuntimeError(f"{name}: pgbench counted {counted} bets, but {there - was} rows are there")
        return load

    run.beside_limit(name, subject, clients=CLIENTS)


def _settle(run: Run, made: Books) -> float:
    """Settle a market of many bets beside posting as many transfers; the seconds that settling took."""
    rates: list[float] = []
    beside: dict[str, list[float]] = {"as_a_batch": [], "largest": []}
    took: list[float] = []
    transfers = 0
    for number in range(run.scale.rounds):
        name = f"quiet_{number}"
        _fill(run, made, name)
        posted, began = made.posted(), time.perf_counter()
        batches = settled = 0
        while made.ledger.betting.backlog().results:
            done = made.ledger.betting.settle()
            batches, settled = batches + done.batches, settled + done.settled
        took.append(time.perf_counter() - began)
        transfers = made.posted() - posted
        _expect_settled(settled, run)
        rates.append(transfers / took[-1])
        beside["as_a_batch"].append(_post_many(run, made, transfers, max(1, transfers // batches)))
        beside["largest"].append(_post_many(run, made, transfers, BATCH_TRANSFERS_MAX))
    ratios = [mine / bare for mine, bare in zip(rates, beside["as_a_batch"], strict=True)]
    run.note(
        "betting.settle",
        bets=run.scale.burst_bets,
        bets_a_batch_max=BETS_SETTLED_MAX,
        bets_per_s=run.scale.burst_bets / median(took),
        transfers=transfers,
        per_s=median(rates),
        post_many_per_s=median(beside["as_a_batch"]),
        ratio=median(ratios),
        ratios=[round(ratio, 3) for ratio in ratios],
        largest_post_many_per_s=median(beside["largest"]),
        ratio_to_largest=median(mine / bare for mine, bare in zip(rates, beside["largest"], strict=True)),
    )
    return median(took)


def _fill(run: Run, made: Books, prefix: str) -> None:
    """Place the bets of one market, and report who won."""
    _open(made, prefix, 1)
    pgbench.run_so_many(
        run.server.embedded, _script(made, prefix, 1), clients=CLIENTS, transactions=run.scale.burst_bets,
        seed=run.next_seed(),
    )  # fmt: skip
    made.execute("VACUUM ANALYZE open_bet, bet, bet_leg, hold, open_hold, exposure, base")
    made.ledger.betting.result(f"{prefix}:1", {SELECTION: "won"}, others="lost")


def _expect_settled(settled: int, run: Run) -> None:
    if settled < run.scale.burst_bets:
        raise RuntimeError(f"{run.scale.burst_bets} bets were to be settled, {settled} were")


def _post_many(run: Run, made: Books, transfers: int, size: int) -> float:
    """Transfers a second of plain postings between the same accounts, so many a call; half of them each way."""
    drawn = random.Random(run.next_seed())
    batches = [
        [_wanted(drawn, number) for number in range(min(size, transfers - start))]
        for start in range(0, transfers, size)
    ]
    began = time.perf_counter()
    for batch in batches:
        made.ledger.post_many(batch)
    return transfers / (time.perf_counter() - began)


def _wanted(drawn: random.Random, number: int) -> dict[str, Any]:
    player = f"spread:{drawn.randint(1, SPREAD_ACCOUNTS)}"
    debit, credit = (player, HOUSE) if number % 2 else (HOUSE, player)
    return {
        "key": f"{drawn.getrandbits(KEY_BITS):032x}", "kind": "bet_return", "debit": debit, "credit": credit,
        "amount": STAKE, "currency": CURRENCY, "cause": "bet:8812", "source": "betting",
    }  # fmt: skip


def _burst(run: Run, made: Books, quiet_s: float) -> None:
    """Bets arrive by the clock on other markets, by the same accounts, before a market is settled and while it is."""
    rate = BURST_SHARE * run.figure(f"betting.place.many_markets.{CLIENTS}")["per_s"]
    script = _script(made, "many_markets", MARKETS)
    _fill(run, made, "burst")
    deadlocks = _deadlocks(made)

    def arrive(seconds: int) -> list[Timed]:
        return pgbench.run_at_rate(
            run.server.embedded, script, clients=CLIENTS, seconds=seconds, rate=rate, seed=run.next_seed()
        )

    before_ms = sorted(one.ms for one in arrive(run.scale.burst_s))
    with ThreadPoolExecutor(1) as pool:
        order = {"url": run.server.url, "ledger": made.name, "wait_s": SETTLER_WAIT_S}
        settling = pool.submit(in_process, "bench.settler", order)
        placed = arrive(math.ceil(quiet_s * SLACK + SETTLER_WAIT_S + run.scale.burst_s))
        done = settling.result()
    _expect_settled(done["settled"], run)
    if done["ended_s"] > max(one.ended_s for one in placed):
        raise RuntimeError("settling outlasted the bets that were to be placed meanwhile")
    # Whatever was under way while the settler was.
    during_ms = sorted(
        one.ms
        for one in placed
        if one.ended_s >= done["began_s"] and one.ended_s - one.ms / pgbench.US_A_MS <= done["ended_s"]
    )
    before_p50, before_p99, p99 = percentile(before_ms, 0.5), percentile(before_ms, 0.99), percentile(during_ms, 0.99)
    backlog = made.ledger.betting.backlog()
    run.note(
        "betting.burst",
        bets=done["settled"],
        settled_per_s=done["settled"] / (done["ended_s"] - done["began_s"]),
        batch_p50_ms=median(done["batches_ms"]),
        batch_max_ms=max(done["batches_ms"]),
        rate_per_s=rate,
        placed=len(during_ms),
        before_p50_ms=before_p50,
        before_p99_ms=before_p99,
        p50_ms=percentile(during_ms, 0.5),
        p99_ms=p99,
        max_ms=during_ms[-1],
        p99_ratio=p99 / before_p99,
        # Who waits no longer than the longest batch takes was held up by one batch at most; placing takes time too.
        wait_over_batch=(during_ms[-1] - before_p50) / max(done["batches_ms"]),
        deadlocks=_deadlocks(made) - deadlocks,
        backlog_results=backlog.results,
        backlog_age_ms=backlog.age_ms,
    )


def _deadlocks(made: Books) -> int:
    return int(made.value("SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()"))


def _written(made: Books) -> tuple[int, int]:
    return int(made.value("SELECT count(*) FROM bet")), int(made.value("SELECT count(*) FROM hold"))
