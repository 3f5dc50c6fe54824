"""
Markets and bets written short.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from lastro import LastroError, Ledger
from lastro.ledger import HeldLedger
from lastro.model.bet import Market, PlacedBet
from tests.support.money import fund

CURRENCY = "BRL"
ODDS = {"home": "2.05", "draw": "3.30", "away": "4.00"}
HOUSE = "betting:house"


def players(ledger: Ledger, *names: str, amount: int = 1_000, **more: Any) -> None:
    """Open accounts with so much on each."""
    for name in names:
        fund(ledger, name, amount, **more)


def market(ledger: HeldLedger, name: str = "match", **more: Any) -> Market:
    """Open a market of three selections."""
    return ledger.betting.open_market(name, CURRENCY, **({"odds": ODDS} | more))


def bet(ledger: HeldLedger, key: str, account: str = "ana", stake: int = 100, **more: Any) -> PlacedBet:
    """Place a bet: on the home side of the match, unless other things are said."""
    on = {} if "legs" in more else {"market": "match", "selection": "home", "odds": "2.05"}
    return ledger.betting.place(key=key, account=account, currency=CURRENCY, stake=stake, **(on | more))


def result(ledger: HeldLedger, name: str = "match", winner: str = "home", **more: Any) -> str:
    """Report who won; the outcome of the report."""
    return ledger.betting.result(name, {winner: "won"}, others="lost", **more).outcome


def money(ledger: HeldLedger, name: str) -> tuple[int, int]:
    """Return what is posted on an account, and what is held."""
    balance = ledger.balance(name, CURRENCY)
    return balance.posted, balance.held


def nothing_is_held(ledger: HeldLedger, *names: str) -> bool:
    """Say whether nothing is set aside on these accounts."""
    return all(ledger.balance(name, CURRENCY).held == 0 for name in names)


def fund_all(ledger: Ledger, names: Iterable[str], amount: int) -> int:
    """Open accounts with so much on each; return what the house has before they bet."""
    for name in names:
        fund(ledger, name, amount)
    try:
        return money(ledger, HOUSE)[0]
    except LastroError:
        return 0
