"""
Placing a bet: checks that lock nothing, then the bet in one statement, last the hold of its stake, and the commit.
"""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Final, NamedTuple

from lastro.betting.answers import KEPT, Answer, again, asked_json, given_before, in_progress, keep
from lastro.betting.reading import unknown_market
from lastro.errors import (
    AccountBarred,
    BetInProgress,
    CurrencyMismatch,
    Fault,
    HoldConflict,
    LiabilityExceeded,
    LockTimeout,
    MarketClosed,
    OddsChanged,
    Refusal,
    StakeOutOfRange,
)
from lastro.model.account import Facts
from lastro.model.bet import AskedLeg, Bet, BetIntent, BetLeg, PlacedBet
from lastro.model.hold import HoldIntent
from lastro.model.limits import (
    BET_RETURN_MAX,
    EXPOSURE_SLICES,
    PLACEMENT_PAUSE_MS,
    PLACEMENT_TRIES_MAX,
    SETTLEMENT_DUE_MS,
    SETTLEMENT_DUE_OPEN_END_MS,
)
from lastro.model.odds import potential_return, shown_odds
from lastro.model.text import read_metadata
from lastro.plans.accounts import find_facts, kept_changing, refuse_closed, refuse_unknown
from lastro.plans.course import Act, Course, Pause
from lastro.plans.outbox import Event, emit
from lastro.plans.placing import place as place_hold
from lastro.plans.plan import TOGETHER, Plan, Row, Rows, step
from lastro.plans.transfers import Terms
from lastro.plans.waiting import patiently, undone_when_refused
from lastro.telemetry import measure

OWNER: Final = "betting"
TOPIC: Final = "bets"


class _Struck(NamedTuple):
    """A bet that may be taken: its market rows, its moment, what it may bring back, and by when it must be settled."""

    rows: Rows
    placed_at: datetime
    potential_return: int
    settle_by: datetime


def place(wanted: BetIntent, terms: Terms) -> Course[PlacedBet]:
    """
    Place a bet in a transaction of its own; what is refused is kept as the answer in a following one.

    A lock that isn't granted in time, and a submission that is being placed elsewhere, are counted and tried again under
    the same key, PLACEMENT_TRIES_MAX times in all.
    """
    tries = 0
    while True:
        try:
            answer: Answer = yield Act(partial(_place, wanted, terms))
        except KEPT as refusal:
            answer = yield Act(partial(keep, wanted, refusal, terms))
        except (LockTimeout, BetInProgress) as fault:
            tries += 1
            _count(fault)
            if tries >= PLACEMENT_TRIES_MAX:
                raise
            yield Pause(PLACEMENT_PAUSE_MS)
            continue
        if isinstance(answer, Refusal):
            raise answer
        return answer


def place_within(wanted: BetIntent, terms: Terms) -> Plan[PlacedBet]:
    """
    Place a bet in the caller's transaction; what is refused is undone, and kept as the answer in that transaction.
    """
    return (yield from patiently(_place_within(wanted, terms), terms.lock_timeout_ms))


def _place_within(wanted: BetIntent, terms: Terms) -> Plan[PlacedBet]:
    try:
        answer = yield from undone_when_refused(_place(wanted, terms))
    except KEPT as refusal:
        answer = yield from keep(wanted, refusal, terms)
    if isinstance(answer, Refusal):
        raise answer
    return answer


def _count(fault: Fault) -> None:
    measure("lastro_placement_faults", 1, code=fault.code)


def _place(wanted: BetIntent, terms: Terms) -> Plan[Answer]:
    rows = yield step(
        "betting_placing.look",
        key=wanted.key,
        account=wanted.account,
        markets=[leg.market for leg in wanted.legs],
        selections=[leg.selection for leg in wanted.legs],
        now=terms.now,
    )
    if rows[0]["submitted"] is not None:
        # Once-only is judged before all else. A repetition may come when the market is long over.
        return (yield from again(wanted, rows[0]))
    struck = _struck(wanted, rows)
    facts = yield from _facts_of(wanted, terms)
    yield TOGETHER
    written = yield from _record(wanted, struck, facts, terms)
    if not written["is_free"]:
        raise in_progress(wanted.key)
    if written["bet_id"] is None:
        return (yield from given_before(wanted))
    bet = _bet(wanted, struck, written["bet_id"])
    yield from emit([_placed_event(bet)], now=terms.now)
    # Last, for others wait for this account's row until the commit, which follows at once.
    yield from _hold_stake(wanted, bet, terms)
    held_by = terms.directory.get(wanted.account, wanted.currency)
    if held_by is not None and held_by.id != facts.id:
        # What this process believed of the name was of an account that is closed: bet and stake would part.
        raise kept_changing((wanted.account,))
    return PlacedBet(bet, replayed=False)


def _struck(wanted: BetIntent, rows: Rows) -> _Struck:
    """
    Judge what was looked at, and return the bet as it may be taken.
    """
    now: datetime = rows[0]["looked_at"].astimezone(UTC)
    for leg, row in zip(wanted.legs, rows, strict=True):
        _refuse_market(leg, row, now)
        _refuse_terms(wanted, leg, row)
    most = potential_return(wanted.stake, (row["odds"] for row in rows), return_max=BET_RETURN_MAX)
    for leg, row in zip(wanted.legs, rows, strict=True):
        _refuse_liability(leg, row, most - wanted.stake)
    if rows[0]["is_barred"]:
        raise AccountBarred(f"account {wanted.account!r} may not bet", account=wanted.account)
    return _Struck(rows, now, most, max(_settle_by(row, now) for row in rows))


def _refuse_market(leg: AskedLeg, row: Row, now: datetime) -> None:
    if row["market_id"] is None:
        raise unknown_market(leg.market)
    if row["selection_id"] is None:
        raise unknown_market(leg.market, leg.selection)
    closes_at = row["closes_at"]
    is_over = closes_at is not None and closes_at <= now
    if row["state"] != "open" or is_over or row["selection_state"] != "open":
        state = "closed" if is_over and row["state"] == "open" else row["state"]
        if state == "open":
            state = row["selection_state"]
        raise MarketClosed(
            f"market {leg.market!r} takes no bets on {leg.selection!r}: it is {state}"
            + ("" if closes_at is None else f" (it closes at {closes_at.astimezone(UTC).isoformat()})"),
            market=leg.market,
            selection=leg.selection,
            state=state,
            closes_at=None if closes_at is None else closes_at.astimezone(UTC),
        )


def _refuse_terms(wanted: BetIntent, leg: AskedLeg, row: Row) -> None:
    if row["currency"] != wanted.currency:
        raise CurrencyMismatch(
            f"market {leg.market!r} is in {row['currency']}, and the bet in {wanted.currency}",
            account=wanted.account,
            currency=wanted.currency,
            currencies=[row["currency"]],
        )
    if row["odds"] < leg.odds - wanted.tolerance:
        raise OddsChanged(
            f"{leg.selection!r} of market {leg.market!r} is on offer at {shown_odds(row['odds'])}, "
            f"and {shown_odds(leg.odds)} was asked for; ask again at the new odds, under a new key",
            market=leg.market,
            selection=leg.selection,
            asked=shown_odds(leg.odds),
            offered=shown_odds(row["odds"]),
        )
    if not row["stake_min"] <= wanted.stake <= row["stake_max"]:
        raise StakeOutOfRange(
            f"market {leg.market!r} takes stakes of {row['stake_min']} … {row['stake_max']} minor units; "
            f"this is {wanted.stake}",
            market=leg.market,
            stake=wanted.stake,
            stake_min=row["stake_min"],
            stake_max=row["stake_max"],
        )


def _refuse_liability(leg: AskedLeg, row: Row, win: int) -> None:
    limit = row["liability_max"]
    if limit is None:
        return
    liability = int(row["liability"] or 0)
    if liability + win > limit:
        raise LiabilityExceeded(
            f"the bets on {leg.selection!r} of market {leg.market!r} may win {liability} minor units, this one "
            f"{win} more, and the limit is {limit}: ask for a smaller stake, under a new key",
            market=leg.market,
            selection=leg.selection,
            limit=limit,
            liability=liability,
            win=win,
        )


def _settle_by(row: Row, now: datetime) -> datetime:
    if row["settle_by"] is not None:
        due: datetime = row["settle_by"].astimezone(UTC)
    elif row["closes_at"] is not None:
        due = row["closes_at"].astimezone(UTC) + timedelta(milliseconds=SETTLEMENT_DUE_MS)
    else:
        due = now + timedelta(milliseconds=SETTLEMENT_DUE_OPEN_END_MS)
    # The deadline of a hold lies ahead, whatever the market's terms say.
    return due if due > now else now + timedelta(milliseconds=SETTLEMENT_DUE_MS)


def _facts_of(wanted: BetIntent, terms: Terms) -> Plan[Facts]:
    account = (wanted.account, wanted.currency)
    found = yield from find_facts(terms.directory, (account,))
    if account not in found:
        yield from refuse_unknown(*account)
    refuse_closed(found[account])
    return found[account]


def _record(wanted: BetIntent, struck: _Struck, facts: Facts, terms: Terms) -> Plan[Row]:
    rows = yield step(
        "betting_placing.record",
        key=wanted.key,
        asked=asked_json(wanted),
        placed_at=struck.placed_at,
        account_id=facts.id,
        stake=wanted.stake,
        potential_return=struck.potential_return,
        return_max=BET_RETURN_MAX,
        settle_by=struck.settle_by,
        actor=wanted.actor,
        metadata=wanted.metadata,
        market_ids=[row["market_id"] for row in struck.rows],
        selection_ids=[row["selection_id"] for row in struck.rows],
        odds=[row["odds"] for row in struck.rows],
        slices=[random.randrange(EXPOSURE_SLICES) for _ in struck.rows],  # noqa: S311 - spreads writers, hides nothing
        lock_timeout=f"{terms.lock_timeout_ms}ms",
    )
    return rows[0]


def _hold_stake(wanted: BetIntent, bet: Bet, terms: Terms) -> Plan[None]:
    hold = HoldIntent(
        key=hold_key(wanted.key),
        account=wanted.account,
        currency=wanted.currency,
        amount=wanted.stake,
        owner=OWNER,
        expires_at=bet.settle_by,
        group=None,
        capture_max=None,
        # Never given back in silence: past its deadline it stands in the list of its owner.
        overdue="list",
        cause=cause_of(bet.id),
        source=None,
        actor=wanted.actor,
        metadata=None,
    )
    placed = yield from place_hold(hold, terms)
    if placed.replayed:
        raise HoldConflict(
            f"hold {hold.key!r} is there already and isn't this bet's: keys of holds that begin with 'bet:' are the "
            "sportsbook's",
            key=hold.key,
            fields={},
        )


def hold_key(submission: str) -> str:
    """
    Return the key of the hold of a bet's stake.
    """
    return f"bet:{submission}"


def cause_of(bet_id: int) -> str:
    """
    Return the cause that all money of a bet moves for.
    """
    return f"bet:{bet_id}"


def _bet(wanted: BetIntent, struck: _Struck, bet_id: int) -> Bet:
    return Bet(
        key=wanted.key,
        account=wanted.account,
        currency=wanted.currency,
        stake=wanted.stake,
        potential_return=struck.potential_return,
        legs=tuple(
            BetLeg(leg.market, leg.selection, shown_odds(row["odds"]), None)
            for leg, row in zip(wanted.legs, struck.rows, strict=True)
        ),
        state="open",
        version=0,
        returned=None,
        placed_at=struck.placed_at,
        settle_by=struck.settle_by,
        settled_at=None,
        actor=wanted.actor,
        metadata=read_metadata(wanted.metadata),
        id=bet_id,
    )


def _placed_event(bet: Bet) -> Event:
    payload = {
        "event": "placed",
        "bet": bet.key,
        "id": str(bet.id),
        "account": bet.account,
        "currency": bet.currency,
        "stake": str(bet.stake),
        "potential_return": str(bet.potential_return),
        "legs": [{"market": leg.market, "selection": leg.selection, "odds": leg.odds} for leg in bet.legs],
        "placed_at": bet.placed_at.isoformat(),
    }
    return Event(f"bet:{bet.id}:placed", TOPIC, cause_of(bet.id), payload)
