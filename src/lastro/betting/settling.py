"""
Settling one batch of a market's bets in one transaction: entries, holds, events and progress together, or nothing.

Bets are locked before the results of their legs are read, and the results in a following statement. So of two settlers
whose markets share a multiple the second one sees what the first one knew, and the last of its markets settles it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from lastro.betting.deciding import LockedBet, decide, read_bets, read_results
from lastro.betting.entries import Change, entries_of, find_originals, reversed_keys
from lastro.betting.markets import HOUSE
from lastro.betting.placing import TOPIC, cause_of
from lastro.errors import AlreadyReversed, Refusal, TransferConflict
from lastro.model.transfer import Posted, Transfer
from lastro.plans.accounts import find_facts
from lastro.plans.batch import post_many
from lastro.plans.ending import Event as HoldEvent
from lastro.plans.ending import Notes, note, open_holds
from lastro.plans.outbox import Event, emit
from lastro.plans.plan import Plan, Row, step
from lastro.plans.stored import whole
from lastro.plans.transfers import Terms
from lastro.plans.waiting import patiently


class BatchRefused(Refusal):
    """A batch that one of its bets made impossible; nothing of it was written. Carries what refused it as its cause."""

    code = "batch_refused"

    def __init__(self, message: str, *, market_id: int, bet_ids: list[int], refusal: Refusal) -> None:
        super().__init__(message)
        self.market_id, self.bet_ids, self.refusal = market_id, bet_ids, refusal


class Batch(NamedTuple):
    """
    What one batch did: bets it looked at, and those it settled, voided and corrected; accounts below their floor by it.
    """

    bets: int
    settled: int = 0
    voided: int = 0
    corrected: int = 0
    shortfalls: int = 0


def settle_batch(market_id: int, terms: Terms, *, bets_max: int) -> Plan[Batch | None]:
    """
    Settle up to *bets_max* bets of a market by its newest result; None where nothing is due, or somebody else has it.

    Locks the row of the queue, the bets in the order of their ids, then the base rows in account order; a placement waits
    for no more than one batch. Raises BatchRefused.
    """
    return (yield from patiently(_settle_batch(market_id, terms, bets_max), terms.lock_timeout_ms))


def _settle_batch(market_id: int, terms: Terms, bets_max: int) -> Plan[Batch | None]:
    rows = yield step("betting_settling.claim", market_id=market_id)
    if not rows:
        return None
    walked_to: int | None = rows[0]["walked_to"]
    found = yield step("betting_settling.open_bets", market_id=market_id, rows_max=bets_max)
    is_through = len(found) < bets_max and walked_to is None
    if not found and walked_to is not None:
        # Every open bet is reached. What was settled by an earlier result is gone through from the first bet on.
        found = yield step("betting_settling.settled_bets", market_id=market_id, walked_to=walked_to, rows_max=bets_max)
        is_through = len(found) < bets_max
        walked_to = found[-1]["bet_id"] if found else walked_to
    bet_ids = [row["bet_id"] for row in found]
    # Progress before effects, both in this transaction: the accounts are locked last.
    yield step(
        "betting_settling.go_on",
        market_id=market_id,
        version=rows[0]["version"],
        walked_to=walked_to,
        bets=len(bet_ids),
        is_through=is_through,
    )
    if not bet_ids:
        return Batch(0)
    try:
        return (yield from settle_bets(market_id, bet_ids, terms))
    except Refusal as refusal:
        raise BatchRefused(str(refusal), market_id=market_id, bet_ids=bet_ids, refusal=refusal) from refusal


def settle_bets(market_id: int | None, bet_ids: list[int], terms: Terms) -> Plan[Batch]:
    """
    Settle bets as far as they are decided, for the market that reaches them; for none where a person has them settled.
    """
    yield step("betting_settling.lock_bets", bet_ids=bet_ids)
    # Following statements: what was settled and decided while we waited for the bets is seen by now.
    bets = read_bets((yield step("betting_settling.read_bets", bet_ids=bet_ids, market_id=market_id)))
    market_ids = sorted({leg.market_id for bet in bets for leg in bet.legs})
    results = read_results((yield step("betting_settling.results", market_ids=market_ids)))
    changes: list[Change] = []
    for bet in bets:
        decision = decide(bet, results)
        if decision is None or (bet.settled is not None and bet.settled.outcomes == decision.outcomes):
            continue
        changes.append(Change(bet, decision, version=1 if bet.settled is None else bet.settled.version + 1))
    yield from _write(market_id, bets, changes, terms)
    shortfalls = (yield from _move_money(changes, terms)) if changes else 0
    kinds = [change.kind for change in changes]
    return Batch(len(bets), kinds.count("settled"), kinds.count("voided"), kinds.count("corrected"), shortfalls)


def _write(market_id: int | None, bets: Sequence[LockedBet], changes: Sequence[Change], terms: Terms) -> Plan[None]:
    reached = set() if market_id is None else {(market_id, bet.id) for bet in bets if bet.is_open}
    reached |= {(leg.market_id, change.bet.id) for change in changes for leg in change.bet.legs}
    in_order = sorted(reached)
    if not in_order:
        return
    yield step(
        "betting_settling.write",
        bet_ids=[change.bet.id for change in changes],
        versions=[change.version for change in changes],
        returneds=[change.decision.returned for change in changes],
        voids=[change.decision.is_void for change in changes],
        outcomes=[",".join(change.decision.outcomes) for change in changes],
        kinds=[change.kind for change in changes],
        reasons=[change.bet.void_reason for change in changes],
        reached_markets=[market for market, _ in in_order],
        reached_bets=[bet for _, bet in in_order],
        now=terms.now,
    )
    yield from emit([_event(change) for change in changes], now=terms.now)


def _move_money(changes: Sequence[Change], terms: Terms) -> Plan[int]:
    originals = yield from find_originals(changes)
    entries = yield from entries_of(changes, originals, terms)
    locked = yield from _lock_accounts(changes, terms)
    posted: dict[str, Transfer] = {}
    if entries:
        # What is held is covered, and a correction is written whatever it leaves: no floor stops a settlement.
        for outcome in (yield from post_many(entries, terms, partial=False, floor_guarded=False)):
            assert isinstance(outcome, Posted), "all of them are posted, or none"
            if outcome.replayed:
                raise _taken(outcome.transfer)
            posted[outcome.transfer.key] = outcome.transfer
    yield from _end_holds(changes, posted, terms)
    corrections = [change for change in changes if change.corrects]
    if not corrections:
        return 0
    yield from _note_reversals(originals, posted)
    return (yield from _note_corrected(corrections, locked, terms))


def _taken(transfer: Transfer) -> TransferConflict:
    # A version of a settlement is written once, with its entries: this one isn't ours, however much it looks like it.
    return TransferConflict(
        f"key {transfer.key!r} of a settlement's entry names a transfer that somebody else posted: reverse that one, and "
        "keep keys that begin with 'bet:' to the sportsbook",
        key=transfer.key,
        fields={},
    )


def _lock_accounts(changes: Sequence[Change], terms: Terms) -> Plan[dict[int, Row]]:
    """
    Lock every account concerned at once, in account order: also those that only get their stake back.
    """
    ids = {change.bet.account_id for change in changes}
    houses = yield from find_facts(terms.directory, sorted({(HOUSE, change.bet.currency) for change in changes}))
    # A house that was opened on other terms may have to be locked as well, in the same order.
    ids |= {facts.id for facts in houses.values() if (facts.keeping, facts.state, facts.floor) != ("hot", "open", None)}
    rows = yield step("locked.lock_sides", account_ids=sorted(ids), now=terms.now)
    return {row["account_id"]: row for row in rows}


def _end_holds(changes: Sequence[Change], posted: dict[str, Transfer], terms: Terms) -> Plan[None]:
    first = {change.bet.hold_id: change for change in changes if not change.corrects and change.bet.hold_id is not None}
    if not first:
        return
    # A hold that somebody released by hand is missing here; the bet is settled all the same.
    holds = yield from open_holds(hold_id for hold_id in first if hold_id is not None)
    events: list[HoldEvent] = []
    for hold_id, hold in holds.items():
        change = first[hold_id]
        notes = Notes(cause=cause_of(change.bet.id), source="betting")
        if change.decision.is_void:
            events.append(hold.becomes("released", hold.left, notes=notes))
        else:
            transfer = posted[change.stake_key]
            events.append(hold.becomes("captured", change.bet.stake, transfer_id=transfer.id, notes=notes))
    if events:
        noted = yield from note(events, holds.values(), now=terms.now)
        assert noted, "no event of a settlement has a key"


def _note_reversals(originals: dict[str, Transfer], posted: dict[str, Transfer]) -> Plan[None]:
    undone = [(originals[transfer.reverses], transfer) for transfer in posted.values() if transfer.reverses is not None]
    if not undone:
        return
    noted = yield step(
        "betting_settling.note_reversals",
        original_ids=[original.id for original, _ in undone],
        amounts=[original.amount for original, _ in undone],
        transfer_ids=[transfer.id for _, transfer in undone],
    )
    if len(noted) < len(undone):
        there = {row["original_id"] for row in noted}
        key = next(original.key for original, _ in undone if original.id not in there)
        raise AlreadyReversed(
            f"transfer {key!r} of a settlement was reversed by somebody already, so that no correction can",
            key=key,
            left=0,
        )


def _note_corrected(corrections: Sequence[Change], locked: dict[int, Row], terms: Terms) -> Plan[int]:
    account_ids = sorted({change.bet.account_id for change in corrections})
    weighed = yield step("locked.weigh_sides", account_ids=account_ids)
    short: dict[int, int] = {}
    for row in weighed:
        floor = locked[row["account_id"]]["floor"]
        available = whole(row, "posted") - whole(row, "held")
        if floor is not None and available < floor:
            short[row["account_id"]] = floor - available
    yield step(
        "betting_settling.note_corrected",
        bet_ids=[change.bet.id for change in corrections],
        versions=[change.version for change in corrections],
        shortfalls=[short.get(change.bet.account_id) for change in corrections],
        reasons=[change.bet.void_reason for change in corrections],
        now=terms.now,
    )
    return len(short)


def _event(change: Change) -> Event:
    bet, decision = change.bet, change.decision
    payload: dict[str, Any] = {
        "event": change.kind,
        "bet": bet.key,
        "id": str(bet.id),
        "account": bet.account,
        "currency": bet.currency,
        "version": change.version,
        "stake": str(bet.stake),
        "returned": str(decision.returned),
        "outcomes": list(decision.outcomes),
        "reverses": reversed_keys(change),
    }
    if bet.void_reason is not None:
        payload["reason"] = bet.void_reason
    return Event(f"bet:{bet.key}:{change.kind}:{change.version}", TOPIC, cause_of(bet.id), payload)
