"""
Voiding one bet by hand: a settlement like any other, for good, whatever its markets' results are or become.
"""

from __future__ import annotations

from lastro.betting.reading import get_bet
from lastro.betting.settling import settle_bets
from lastro.model.bet import VoidedBet
from lastro.plans.plan import TOGETHER, Plan, step
from lastro.plans.transfers import Terms


def void_bet(key: str, *, reason: str, actor: str, terms: Terms) -> Plan[VoidedBet]:
    """
    Give a bet's stake back, and where it was settled otherwise reverse that: once, as its next version. Raises UnknownBet.

    Locks the bet's row and then its account's, as settlers do: whoever comes second sees what the first one did.
    """
    yield TOGETHER
    bet = yield from get_bet(key)
    yield step("betting_settling.lock_bets", bet_ids=[bet.id])
    noted = yield step("betting_settling.void_bet", bet_id=bet.id, reason=reason, actor=actor, now=terms.now)
    if noted:
        yield from settle_bets(None, [bet.id], terms)
    return VoidedBet((yield from get_bet(key)), replayed=not noted)
