"""
Part one of the demo: a marketplace's orders through one hot account from several processes, and the proof of every cent.
"""

from __future__ import annotations

import random
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import lastro
from lastro.rehearsal.books import read_books
from lastro.rehearsal.cast import Cast, Member
from lastro.rehearsal.expectation import Expectation, expectation_of
from lastro.rehearsal.marketplace import Order
from lastro.rehearsal.order_rows import make_rows, orders_of, read_rows
from lastro.rehearsal.progress import Progress, silent
from lastro.rehearsal.proof import Proof, Proofs
from lastro.rehearsal.proofs import Played, prove
from lastro.rehearsal.roles import (
    CashierFacts,
    PaymasterFacts,
    fold_the_rest,
    work_as_cashier,
    work_as_consolidator,
    work_as_paymaster,
)
from lastro.rehearsal.stage import Stage, set_stage

PROCESSES_MAX = 64
ORDERS_MAX = 1_000_000
REPEATED_SHARE = 10
# The one that is killed folds nearly without a pause, so that the signal meets it at work; its successor as usual.
VICTIM_INTERVAL_MS = 5
CONSOLIDATOR_INTERVAL_MS = 500
PAYMASTER_PAUSE_S = 0.25
TOLD_SHARES = 5


@dataclass(frozen=True)
class Script:
    """
    What will be played: the orders, what they must lead to, and the checkouts dealt to each cashier.
    """

    expected: Expectation
    orders: tuple[Order, ...]
    hands: tuple[tuple[Order, ...], ...]
    seed: int

    @property
    def attempts(self) -> int:
        """How many checkouts there will be, repeats included."""
        return sum(len(hand) for hand in self.hands)

    @property
    def sellers(self) -> list[str]:
        """Who sells, each once."""
        return sorted({item.seller for order in self.orders for item in order.items})


def write_script(orders: Path | None, *, processes: int, orders_made: int, seed: int) -> Script:
    """
    Read or make the orders, choose a tenth for repetition, shuffle all and deal them to so many *processes* (1 … 64).

    `orders`: a CSV of order items; without it `orders_made` orders of the same shape are made by `seed`. Raises
    InvalidInput for what can't be read.
    """
    if not 1 <= processes <= PROCESSES_MAX:
        raise lastro.InvalidInput(f"processes must be 1 … {PROCESSES_MAX}; got {processes}", argument="processes")
    if not 1 <= orders_made <= ORDERS_MAX:
        raise lastro.InvalidInput(f"orders_made must be 1 … {ORDERS_MAX}; got {orders_made}", argument="orders_made")
    rows = make_rows(orders_made, seed=seed) if orders is None else read_rows(orders)
    found = orders_of(rows)
    chance = random.Random(seed)  # noqa: S311 - it must be repeatable, and guards nothing
    repeats = chance.sample(found, -(-len(found) // REPEATED_SHARE))
    # Shuffled together and dealt round: a repeat may come before, beside or after the first, from another process.
    attempts = [*found, *repeats]
    chance.shuffle(attempts)
    hands = tuple(tuple(attempts[start::processes]) for start in range(processes))
    return Script(expectation_of(rows), tuple(found), hands, seed)


def run(script: Script, *, url: str | None, progress: Progress = silent) -> Proofs:
    """
    Check out every order once and a tenth of them again, pay out and kill a consolidator meanwhile, then prove it all.

    `url`: a database, in which two schemas are made and dropped again; without it an embedded server in a temporary
    directory. Raises RehearsalBroken where a process failed.
    """
    progress(f"{len(script.orders)} orders, {script.expected.items} items, {len(script.sellers)} sellers")
    with set_stage(url, beside_others=True) as stage:
        played, counts = play(stage, script, progress=progress)
        progress("proving")
        return Proofs(judge(stage, script.expected, played), counts)


def play(stage: Stage, script: Script, *, progress: Progress) -> tuple[Played, dict[str, int | float | str]]:
    """Play the whole script on the stage, and return what was done and how fast."""
    with stage.open_shop() as shop, stage.connect() as connection, Cast() as cast:
        shop.set_up(connection)
        shop.register(connection, script.sellers)
        cashiers = [
            cast.hire(f"cashier {number}", work_as_cashier, stage, hand)
            for number, hand in enumerate(script.hands, start=1)
        ]
        paymaster = cast.hire("paymaster", _pay, stage, script.sellers, script.seed)
        victim = cast.hire("consolidator", work_as_consolidator, stage, VICTIM_INTERVAL_MS)
        successor = cast.hire("next consolidator", work_as_consolidator, stage, CONSOLIDATOR_INTERVAL_MS)
        cast.start(*cashiers, paymaster, victim)
        began = time.monotonic()
        exit_code = _watch(cast, cashiers, victim, successor, attempts=script.attempts, progress=progress)
        seconds = time.monotonic() - began
        paid: PaymasterFacts = cast.stop(paymaster)
        folded_by_successor: int = cast.stop(successor)
        fold_the_rest(shop.books)
        facts: list[CashierFacts] = [cashier.result for cashier in cashiers]
        played = Played(
            repeats_dealt=script.attempts - len(script.orders),
            orders_new=sum(fact.new for fact in facts),
            orders_repeated=sum(fact.repeated for fact in facts),
            transfers_posted=sum(fact.posted for fact in facts),
            paid=paid.paid,
            payouts=paid.payouts,
            beyond=paid.beyond,
            refused=paid.refused,
            orders_counted=shop.books.count("orders"),
            consolidator_exit_code=exit_code,
        )
    counts: dict[str, int | float | str] = {
        "processes": len(cashiers),
        "checkouts": script.attempts,
        "seconds": round(seconds, 2),
        "checkouts_per_second": round(script.attempts / seconds, 1),
        "transfers_replayed": sum(fact.replayed for fact in facts),
        "tries_lost_to_rivals": sum(fact.lost_tries for fact in facts),
        "payouts": paid.payouts,
        "payouts_repeated": paid.repeated,
        "tail_rows_folded_after_the_kill": folded_by_successor,
    }
    return played, counts


def judge(stage: Stage, expected: Expectation, played: Played) -> tuple[Proof, ...]:
    """Read the books and hold them against what was expected and played."""
    with stage.connect() as connection, connection.transaction():
        connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
        return prove(expected, read_books(connection, stage), played)


def _pay(line: Any, stage: Stage, sellers: Sequence[str], seed: int) -> PaymasterFacts:
    accounts = [f"seller:{seller}" for seller in sellers]
    return work_as_paymaster(line, stage, accounts, name="demo", seed=seed, pause_s=PAYMASTER_PAUSE_S)


def _watch(
    cast: Cast,
    cashiers: Sequence[Member],
    victim: Member,
    successor: Member,
    *,
    attempts: int,
    progress: Progress,
) -> int:
    """Follow the cashiers to their end, and kill the consolidator when half of the checkouts are through."""
    through, told = 0, 0
    exit_code: int | None = None
    for _, count in cast.listen(*cashiers):
        through += count
        if exit_code is None and 2 * through >= attempts:
            exit_code = cast.kill(victim)
            cast.start(successor)
            progress(f"{through} of {attempts} checkouts; consolidator killed (exit code {exit_code}), another started")
        elif TOLD_SHARES * through >= (told + 1) * attempts:
            told = TOLD_SHARES * through // attempts
            progress(f"{through} of {attempts} checkouts")
    assert exit_code is not None, "the cashiers told less than they did"
    return exit_code
