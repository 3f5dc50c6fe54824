"""
What the processes of a rehearsal do: cashiers check out, the paymaster pays out, the product's own workers work.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import lastro
from lastro.rehearsal.cast import Line
from lastro.rehearsal.marketplace import CURRENCY, PLATFORM, Order, check_out, pay_out
from lastro.rehearsal.stage import Stage
from lastro.workers.consolidator import Consolidator
from lastro.workers.loop import Loop, Totals, Worker

TOLD_EVERY = 50
# More than any account will ever hold here: a payout of it has to be refused.
BEYOND_CENTS = 10**12
SELLERS_A_ROUND = 8
DRAINING_ROUNDS_MAX = 1_000


@dataclass
class CashierFacts:
    """
    What one cashier did: checkouts that stored a new order, repeats that found one, transfers posted and replayed.
    """

    new: int = 0
    repeated: int = 0
    posted: int = 0
    replayed: int = 0
    lost_tries: int = 0


@dataclass
class PaymasterFacts:
    """
    What the paymaster did, by its own account: cents paid by account, payouts, repeats, and debits refused.
    """

    paid: dict[str, int] = field(default_factory=dict)
    payouts: int = 0
    repeated: int = 0
    beyond: int = 0
    refused: int = 0


def work_as_cashier(line: Line, stage: Stage, orders: Sequence[Order]) -> CashierFacts:
    """Check out the orders one after the other, telling every so often how many are through."""
    facts = CashierFacts()
    with stage.open_shop() as shop, stage.connect() as connection:
        line.wait_for_start()
        for done, order in enumerate(orders, start=1):
            receipt = check_out(connection, shop, order)
            facts.new += receipt.new
            facts.repeated += not receipt.new
            facts.posted += receipt.posted
            facts.replayed += receipt.replayed
            facts.lost_tries += receipt.lost_tries
            if done % TOLD_EVERY == 0:
                line.tell(TOLD_EVERY)
        line.tell(len(orders) % TOLD_EVERY)
    return facts


def work_as_consolidator(line: Line, stage: Stage, interval_ms: int) -> int:
    """Be the product's own consolidator until told to stop; return how many rows were folded in."""
    return be_worker(line, stage, Consolidator, interval_ms).figures.get("rows", 0)


def be_worker(line: Line, stage: Stage, make: Callable[..., Worker], interval_ms: int) -> Totals:
    """Be a worker of the product's, made by `make(ledger, stopping=…)`, until told to stop; return what it did."""
    stop = threading.Event()
    with stage.open_ledger() as ledger:
        worker = make(ledger, stopping=stop.is_set)
        worker.interval_ms = interval_ms
        line.wait_for_start()

        def wait_for_stop() -> None:
            line.stopped(None)
            stop.set()

        threading.Thread(target=wait_for_stop, daemon=True).start()
        return Loop(worker, stop).run()


def fold_the_rest(ledger: lastro.Ledger) -> None:
    """Fold in whatever the consolidators left, when nobody posts any more."""
    for _ in range(DRAINING_ROUNDS_MAX):
        if not ledger.consolidate().rows:
            return


def work_as_paymaster(
    line: Line, stage: Stage, sellers: Sequence[str], *, name: str, seed: int, pause_s: float
) -> PaymasterFacts:
    """
    Pay out round by round until told to stop: the platform, some sellers, one repeat, one debit beyond the balance.
    """
    facts = PaymasterFacts()
    chance = random.Random(seed)  # noqa: S311 - it must be repeatable, and guards nothing
    with stage.open_shop() as shop, stage.connect() as connection:
        line.wait_for_start()
        turn, stopping = 0, False
        while not stopping:
            stopping = line.stopped(pause_s)
            turn += 1
            chosen = [PLATFORM, *chance.sample(sellers, min(SELLERS_A_ROUND, len(sellers)))]
            for account in chosen:
                payout_id = f"{name}:{turn}:{account}"
                # The platform keeps half of what it has, so that its payouts stay partial.
                amount = shop.books.balance(PLATFORM, CURRENCY).available // 2 if account is PLATFORM else None
                paid = pay_out(connection, shop, payout_id=payout_id, account=account, amount=amount)
                facts.paid[account] = facts.paid.get(account, 0) + paid
                facts.payouts += paid > 0
                if account is PLATFORM and paid:
                    again = pay_out(connection, shop, payout_id=payout_id, account=account)
                    facts.repeated += again == paid
            facts.beyond += 1
            account = chance.choice(chosen)
            beyond = shop.books.balance(account, CURRENCY).available + BEYOND_CENTS
            try:
                pay_out(connection, shop, payout_id=f"{name}:{turn}:beyond", account=account, amount=beyond)
            except lastro.InsufficientFunds:
                facts.refused += 1
    return facts
