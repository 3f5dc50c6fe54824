"""
Placing a bet: checks that lock nothing, then the bet in one statement, last the hold of its stake, and the commit.
"""

from __future__ import annotations

import random
from functools import partial
from typing import Final

from lastro.betting.answers import KEPT, Answer, again, asked_json, given_before, in_progress, keep
from lastro.betting.striking import Struck, strike
from lastro.errors import BetInProgress, Fault, HoldConflict, LockTimeout, Refusal
from lastro.model.account import Facts
from lastro.model.bet import Bet, BetIntent, BetLeg, PlacedBet
from lastro.model.hold import BETTING_OWNER, HoldIntent
from lastro.model.limits import BET_RETURN_MAX, EXPOSURE_SLICES, PLACEMENT_PAUSE_MS, PLACEMENT_TRIES_MAX
from lastro.model.odds import shown_odds
from lastro.model.text import read_metadata
from lastro.plans.accounts import kept_changing, open_facts
from lastro.plans.course import Act, Course, Pause
from lastro.plans.outbox import Event, emit
from lastro.plans.placing import place as place_hold
from lastro.plans.plan import TOGETHER, Plan, Row, step
from lastro.plans.transfers import Terms
from lastro.plans.waiting import patiently, undone_when_refused
from lastro.telemetry import measure

TOPIC: Final = "bets"


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
    struck = strike(wanted, rows)
    account = (wanted.account, wanted.currency)
    facts = (yield from open_facts(terms.directory, (account,)))[account]
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


def _record(wanted: BetIntent, struck: Struck, facts: Facts, terms: Terms) -> Plan[Row]:
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
        owner=BETTING_OWNER,
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


def _bet(wanted: BetIntent, struck: Struck, bet_id: int) -> Bet:
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
    # By the key: an id may be handed out again after a failover, and a receiver remembers for longer.
    return Event(f"bet:{bet.key}:placed", TOPIC, cause_of(bet.id), payload)
