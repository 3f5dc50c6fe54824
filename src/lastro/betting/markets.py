"""
Opening and changing markets: their odds, their state, and who may not bet.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Final

from lastro.betting.reading import get_market, unknown_market
from lastro.errors import InvalidInput, MarketClosed, MarketConflict
from lastro.model.bet import Market, MarketIntent, MarketState
from lastro.model.limits import EXPOSURE_SLICES, SELECTIONS_MAX
from lastro.plans.accounts import find_facts, open_account
from lastro.plans.plan import TOGETHER, Plan, Row, step
from lastro.plans.transfers import Terms

# Whoever takes the other side of every bet: stakes go there, and returns come from there.
HOUSE: Final = "betting:house"

# From which states each one may be reached. What was settled stays so; a correction is a new result.
_FROM: Final[dict[MarketState, tuple[MarketState, ...]]] = {
    "open": ("open", "suspended"),
    "suspended": ("open", "suspended"),
    "closed": ("open", "suspended", "closed"),
}


def open_market(wanted: MarketIntent, terms: Terms) -> Plan[Market]:
    """
    Open a market with its selections, and the house's account of its currency where this is the first. On equal terms
    it may be opened again, whatever its odds and its state are by then. Raises MarketConflict.
    """
    yield TOGETHER
    yield from _open_house(wanted.currency, terms)
    rows = yield step(
        "betting_markets.open",
        market=wanted.name,
        currency=wanted.currency,
        closes_at=wanted.closes_at,
        settle_by=wanted.settle_by,
        stake_min=wanted.stake_min,
        stake_max=wanted.stake_max,
        liability_max=wanted.liability_max,
        now=terms.now,
    )
    if rows:
        yield from _offer(rows[0]["id"], wanted.odds, terms)
        return (yield from get_market(wanted.name))
    stored = yield from get_market(wanted.name)
    _refuse_other(stored, wanted)
    return stored


def offer(name: str, odds: Mapping[str, int], terms: Terms) -> Plan[Market]:
    """
    Offer odds in a market that isn't closed: new ones for selections that are there, and new selections.

    Locks the market's row, which no placement waits for. Raises UnknownMarket, MarketClosed.
    """
    yield TOGETHER
    row = yield from lock_market(name)
    _refuse_closed(name, row)
    selections = yield step("betting_markets.selections", market_ids=[row["id"]])
    if len({found["name"] for found in selections} | set(odds)) > SELECTIONS_MAX:
        raise InvalidInput(f"market {name!r} would have more than {SELECTIONS_MAX} selections", argument="odds")
    yield from _offer(row["id"], odds, terms)
    return (yield from get_market(name))


def withdraw(name: str, selection: str, terms: Terms) -> Plan[Market]:
    """
    Take no more bets on one selection, until odds are offered on it again. Raises UnknownMarket, MarketClosed.
    """
    yield TOGETHER
    row = yield from lock_market(name)
    _refuse_closed(name, row)
    rows = yield step("betting_markets.withdraw", market_id=row["id"], selection=selection, now=terms.now)
    if not rows:
        raise unknown_market(name, selection)
    return (yield from get_market(name))


def change_state(name: str, state: MarketState, terms: Terms) -> Plan[Market]:
    """
    Suspend a market, open it again, or close it for good. Raises UnknownMarket, MarketClosed.
    """
    yield TOGETHER
    row = yield from lock_market(name)
    if row["state"] not in _FROM[state]:
        raise _closed(name, row)
    if row["state"] != state:
        yield step("betting_markets.change_state", market_id=row["id"], state=state, now=terms.now)
    return (yield from get_market(name))


def lock_market(name: str) -> Plan[Row]:
    """
    Lock a market's row, for whoever changes it. Raises UnknownMarket.
    """
    rows = yield step("betting_markets.lock", market=name)
    if not rows:
        raise unknown_market(name)
    return rows[0]


def bar(account: str, *, reason: str | None, actor: str | None, now: datetime | None) -> Plan[None]:
    """
    Let an account place no more bets; what it has placed is settled all the same.
    """
    yield step("betting_markets.bar", account=account, reason=reason, actor=actor, now=now)


def let_in(account: str) -> Plan[bool]:
    """
    Let an account bet again; False where it wasn't barred.
    """
    rows = yield step("betting_markets.let_in", account=account)
    return bool(rows)


def _open_house(currency: str, terms: Terms) -> Plan[None]:
    found = yield from find_facts(terms.directory, [(HOUSE, currency)])
    if (HOUSE, currency) not in found:
        # Hot and without a floor: settlers of all markets credit and debit it, and none of them waits for it.
        yield from open_account(HOUSE, currency, keeping="hot", floor=None, metadata=None, now=terms.now)


def _offer(market_id: int, odds: Mapping[str, int], terms: Terms) -> Plan[None]:
    yield step(
        "betting_markets.offer",
        market_id=market_id,
        names=list(odds),
        odds=list(odds.values()),
        slices=EXPOSURE_SLICES,
        now=terms.now,
    )


def _refuse_other(stored: Market, wanted: MarketIntent) -> None:
    names = ("currency", "closes_at", "settle_by", "stake_min", "stake_max", "liability_max")
    fields = {
        name: (getattr(stored, name), getattr(wanted, name))
        for name in names
        if getattr(stored, name) != getattr(wanted, name)
    }
    missing = set(wanted.odds) - {selection.name for selection in stored.selections}
    if missing:
        fields["selections"] = ([selection.name for selection in stored.selections], list(wanted.odds))
    if fields:
        differences = "; ".join(f"{name} is {there!r}, asked for {given!r}" for name, (there, given) in fields.items())
        raise MarketConflict(
            f"market {stored.name!r} is there on other terms ({differences}); its odds are changed by offer()",
            market=stored.name,
            fields=fields,
        )


def _refuse_closed(name: str, row: Row) -> None:
    if row["state"] not in ("open", "suspended"):
        raise _closed(name, row)


def _closed(name: str, row: Row) -> MarketClosed:
    return MarketClosed(
        f"market {name!r} is {row['state']} and is changed no more; a result that was wrong is corrected by a result of "
        "a higher version",
        market=name,
        state=row["state"],
        closes_at=None,
    )
