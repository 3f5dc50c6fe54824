"""
Rivals that end one hold at the same moment, over and over: who won is counted, and the money is added up each time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, NamedTuple

import lastro
from lastro import Captured, HoldClosed, Ledger, Released
from lastro.plans.expiring import HoldsExpired
from lastro.testing.clock import Clock
from tests.support.sessions import together

CURRENCY = "BRL"
START = datetime(2026, 11, 30, 12, tzinfo=UTC)
DEADLINE = datetime(2026, 11, 30, 13, tzinfo=UTC)
HELD = 100

PAIRS = (
    ("capture", "capture"),
    ("capture", "release"),
    ("capture", "expire"),
    ("release", "release"),
    ("release", "expire"),
    ("expire", "expire"),
)


class Rival(NamedTuple):
    """One of two that end a hold: its ledger, as a process of its own would have it, and its place."""

    ledger: Ledger
    place: int

    def call(self, what: str, hold: str) -> Callable[[], Any]:
        """Return the call that ends the hold under a key of this rival's own."""
        key = f"{what}:{self.place}:{hold}"
        match what:
            case "capture":
                return lambda: self.ledger.capture(key=key, hold=hold, credit="shop", kind="sale")
            case "release":
                return lambda: self.ledger.release(key=key, hold=hold)
            case _:
                return self.ledger.expire_holds


def won(answer: object) -> bool:
    """Whether an answer says that this rival ended the hold; any error but HoldClosed is raised."""
    if isinstance(answer, Captured):
        return not answer.replayed and answer.transfer.amount == HELD
    if isinstance(answer, Released):
        return answer.amount == HELD
    if isinstance(answer, HoldsExpired):
        return answer.holds == 1
    if isinstance(answer, BaseException) and not isinstance(answer, HoldClosed):
        raise answer
    return False


def race(url: str, name: str, pair: tuple[str, str], rounds: int, *, keeping: str = "direct") -> Counter[str]:
    """
    Let two rivals end one hold after the other, each round at one moment; return how often each of the two won.

    Each round: exactly one won, the hold's parts add up to it, and the account holds what is left of it.
    """
    clock = Clock(START)
    account = f"racer:{':'.join(pair)}:{keeping}"
    with (
        lastro.connect(url, ledger=name, clock=clock, pool_max=2) as one,
        lastro.connect(url, ledger=name, clock=clock, pool_max=2) as two,
    ):
        one.open_account(account, CURRENCY, keeping=keeping)  # type: ignore[arg-type]
        one.open_account("shop", CURRENCY, keeping="hot")
        funds = HELD * rounds
        one.post(key=f"fund:{account}", kind="fund", debit="world", credit=account, amount=funds, currency=CURRENCY)
        wins: Counter[str] = Counter()
        captured = 0
        for number in range(rounds):
            hold = f"{account}:{number}"
            clock.set(START)
            one.place_hold(key=hold, account=account, currency=CURRENCY, amount=HELD, owner="race", expires_at=DEADLINE)
            clock.set(DEADLINE)
            calls = [rival.call(what, hold) for rival, what in zip((Rival(one, 1), Rival(two, 2)), pair, strict=True)]
            answers = together(calls)
            winners = [what for what, answer in zip(pair, answers, strict=True) if won(answer)]
            assert len(winners) == 1, (number, answers)
            wins[winners[0]] += 1
            captured += _add_up(one, account, hold, funds - captured)
    return wins


def _add_up(ledger: Ledger, account: str, key: str, posted: int) -> int:
    hold = ledger.hold(key)
    assert hold.captured + hold.released + hold.expired + hold.left == HELD
    assert (hold.left, len(ledger.hold_events(key))) == (0, 1)
    balance = ledger.balance(account, CURRENCY)
    assert (balance.posted, balance.held) == (posted - hold.captured, 0)
    return hold.captured
