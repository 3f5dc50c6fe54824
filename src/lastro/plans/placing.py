"""
Placing a hold: one statement on an account kept direct, the locked way on every other and where that wrote nothing.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from lastro.errors import (
    AccountClosed,
    AmountOutOfRange,
    CurrencyMismatch,
    InsufficientFunds,
    InvalidInput,
    UnknownAccount,
)
from lastro.model.account import Facts
from lastro.model.hold import Hold, HoldIntent, Placed, differing_hold
from lastro.model.limits import BALANCE_MAX, LOOKS_MAX
from lastro.model.text import read_metadata
from lastro.plans.accounts import kept_changing, open_facts
from lastro.plans.holds import conflict, find_hold
from lastro.plans.plan import Plan, Row, step
from lastro.plans.stored import whole
from lastro.plans.transfers import Terms
from lastro.plans.waiting import patiently


def place(wanted: HoldIntent, terms: Terms) -> Plan[Placed]:
    """
    Set money aside once; the hold that is there, as it stands, where its key is there with the same content.

    Raises HoldConflict, InsufficientFunds, UnknownAccount, AccountClosed, CurrencyMismatch, AmountOutOfRange,
    InvalidInput for a deadline that has passed.
    """
    try:
        return (yield from _place(wanted, terms))
    except (AccountClosed, UnknownAccount, CurrencyMismatch):
        # Once-only is judged before the accounts, as for a posting.
        stored = yield from find_hold(wanted.key)
        if stored is None:
            raise
        return _replay(stored, wanted)


def _place(wanted: HoldIntent, terms: Terms) -> Plan[Placed]:
    facts = yield from _facts_of(wanted, terms)
    if facts.keeping == "direct" and facts.state == "open":
        rows = yield step(
            "placing.place_direct",
            **_params(wanted, facts, terms),
            balance_max=BALANCE_MAX,
            lock_timeout=f"{terms.lock_timeout_ms}ms",
        )
        if rows:
            return Placed(_created(wanted, rows[0]), replayed=False)
        yield step("session.give_lock_wait_back")
        # Once-only before funds, and in a following statement, which sees the rival whose key we met.
        stored = yield from find_hold(wanted.key)
        if stored is not None:
            return _replay(stored, wanted)
        terms.directory.forget((facts,))
    return (yield from patiently(_place_locked(wanted, terms), terms.lock_timeout_ms))


def _place_locked(wanted: HoldIntent, terms: Terms) -> Plan[Placed]:
    for _ in range(LOOKS_MAX):
        believed = yield from _facts_of(wanted, terms)
        locked = yield step("locked.lock_sides", account_ids=[believed.id], now=terms.now)
        # After the lock and before the funds: a retry of what was placed is replayed, not "insufficient".
        stored = yield from find_hold(wanted.key)
        if stored is not None:
            return _replay(stored, wanted)
        # Closed by now: the name may be another account's, so it is looked up again before it is refused.
        if locked and locked[0]["state"] != "closed":
            yield from _judge(wanted, believed, locked[0], terms)
            rows = yield step("placing.place", **_params(wanted, believed, terms))
            if rows:
                return Placed(_created(wanted, rows[0]), replayed=False)
            # A rival on another account took the key in the meantime.
            stored = yield from find_hold(wanted.key)
            if stored is not None:
                return _replay(stored, wanted)
        terms.directory.forget((believed,))
    raise kept_changing((wanted.account,))


def _facts_of(wanted: HoldIntent, terms: Terms) -> Plan[Facts]:
    account = (wanted.account, wanted.currency)
    return (yield from open_facts(terms.directory, (account,)))[account]


def _judge(wanted: HoldIntent, believed: Facts, locked: Row, terms: Terms) -> Plan[None]:
    facts = believed._replace(keeping=locked["keeping"], state=locked["state"], floor=locked["floor"])
    terms.directory.learn((facts,))
    now: datetime = locked["recorded_at"].astimezone(UTC)
    if wanted.expires_at <= now:
        raise InvalidInput(
            f"expires_at must lie in the future; {wanted.expires_at.isoformat()} has passed, it is {now.isoformat()}",
            argument="expires_at",
        )
    held = whole(locked, "held")
    if held + wanted.amount > BALANCE_MAX:
        raise AmountOutOfRange(
            f"{held + wanted.amount} minor units would be held on {facts.name!r} in {facts.currency}, "
            f"more than {BALANCE_MAX}",
            account=facts.name,
            currency=facts.currency,
        )
    if facts.floor is None:
        return
    posted = yield from _posted(facts, locked)
    if posted - held - wanted.amount < facts.floor:
        floor = "" if facts.floor == 0 else f", a floor of {facts.floor}"
        raise InsufficientFunds(
            f"account {facts.name!r} has {posted - held} {facts.currency} available{floor}, "
            f"and {wanted.amount} is to be set aside (minor units)",
            account=facts.name,
            currency=facts.currency,
            needed=wanted.amount,
            available=posted - held,
            floor=facts.floor,
        )


def _posted(facts: Facts, locked: Row) -> Plan[int]:
    if facts.keeping == "direct":
        return whole(locked, "amount")
    # A following statement: the one that waited for the lock still sees the tail as it was before it waited.
    weighed = yield step("locked.weigh_sides", account_ids=[facts.id])
    return whole(weighed[0], "posted")


def _params(wanted: HoldIntent, facts: Facts, terms: Terms) -> dict[str, Any]:
    return {
        "account_id": facts.id,
        "key": wanted.key,
        "amount": wanted.amount,
        "capture_max": wanted.capture_max,
        "owner": wanted.owner,
        "group_name": wanted.group,
        "expires_at": wanted.expires_at,
        "listed": wanted.overdue == "list",
        "cause": wanted.cause,
        "source": wanted.source,
        "actor": wanted.actor,
        "metadata": wanted.metadata,
        "now": terms.now,
    }


def _created(wanted: HoldIntent, row: Row) -> Hold:
    return Hold(
        key=wanted.key,
        account=wanted.account,
        currency=wanted.currency,
        amount=wanted.amount,
        captured=0,
        released=0,
        expired=0,
        left=wanted.amount,
        state="open",
        owner=wanted.owner,
        group=wanted.group,
        capture_max=wanted.capture_max,
        overdue=wanted.overdue,
        placed_at=row["placed_at"].astimezone(UTC),
        expires_at=wanted.expires_at,
        guarded_until=None,
        ended_at=None,
        cause=wanted.cause,
        source=wanted.source,
        actor=wanted.actor,
        metadata=read_metadata(wanted.metadata),
    )


def _replay(stored: Hold, wanted: HoldIntent) -> Placed:
    fields = differing_hold(stored, wanted)
    if fields:
        raise conflict(wanted.key, "hold", fields)
    return Placed(stored, replayed=True)
