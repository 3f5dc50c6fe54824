"""
Changing how an account is kept, or closing it, while others post to it: nothing refused, nothing lost.

An account kept direct can change under its lock, for whoever posts to it holds that lock. To one kept hot or summed
postings go without a lock, so there may be some under way that nobody sees. It is *turned* first: from the moment that
is committed every new posting locks the base row; then the transactions from before are waited for; then the tail is
folded in; and only then, under the lock and with nothing left unseen, the terms change.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from functools import partial
from typing import Any, NamedTuple

from lastro.errors import LastroError, LockTimeout
from lastro.model.account import Account, Facts, Keeping
from lastro.model.limits import CONSOLIDATION_ROWS_MAX, KEEPING_WAIT_MS, LOCK_TIMEOUT_MS, LOOKS_MAX
from lastro.plans.accounts import close_account, get_account, refuse_closed, refuse_unknown
from lastro.plans.consolidating import fold
from lastro.plans.course import Act, Course
from lastro.plans.patience import outlast
from lastro.plans.plan import TOGETHER, Effect, Plan, Row, Rows, step
from lastro.plans.stored import read_facts, whole
from lastro.plans.waiting import patiently


class Turned(NamedTuple):
    """
    An account that is as wanted already (`done`), or that was turned and is to be waited for.

    `turn` tells this turning from a later one: what was waited for under one says nothing about the other.
    """

    facts: Facts
    turn: int
    done: bool


def keep(
    name: str, currency: str, keeping: Keeping, *, now: datetime | None, lock_timeout_ms: int = LOCK_TIMEOUT_MS
) -> Course[Account]:
    """
    Keep an account *keeping* from now on. Postings go on meanwhile; those of the last moments wait for a lock.
    """
    for _ in range(LOOKS_MAX):
        turned: Turned = yield _act(partial(_turn, name, currency, keeping, now=now), lock_timeout_ms)
        if turned.done:
            break
        yield from _settle(turned.facts)
        if (yield _act(partial(_finish, turned, keeping, now=now), lock_timeout_ms)):
            break
    else:
        raise _still_turning(name, currency)
    account: Account = yield Act(partial(get_account, name, currency), Effect.READ)
    return account


def close(name: str, currency: str, *, now: datetime | None, lock_timeout_ms: int = LOCK_TIMEOUT_MS) -> Course[Account]:
    """
    Close an account that is empty. Where it can't be closed, it is kept as before and the error is raised.
    """
    for _ in range(LOOKS_MAX):
        turned: Turned = yield _act(partial(_turn, name, currency, None, now=now), lock_timeout_ms)
        try:
            if not turned.done:
                yield from _settle(turned.facts)
            closed: Account | None = yield _act(partial(_close, turned, now=now), lock_timeout_ms)
        except LastroError:
            if not turned.done:
                yield _act(partial(_turn_back, turned, now=now), lock_timeout_ms)
            raise
        if closed is not None:
            return closed
    raise _still_turning(name, currency)


def _act(plan: Callable[[], Plan[Any]], lock_timeout_ms: int) -> Act:
    return Act(lambda: patiently(plan(), lock_timeout_ms))


def _turn(name: str, currency: str, keeping: Keeping | None, *, now: datetime | None) -> Plan[Turned]:
    yield TOGETHER
    if keeping == "summed":
        # A partition that is being retired would take the account's part of the history with it.
        yield step("partitioning.lock")
    rows = yield step("accounts.lock", name=name, currency=currency)
    if not rows:
        yield from refuse_unknown(name, currency)
    facts = read_facts(rows[0])
    if keeping is not None:
        refuse_closed(facts)
    if facts.state == "closed" or (facts.state == "open" and facts.keeping in (keeping, "direct")):
        if facts.keeping != keeping and keeping is not None:
            yield from _change(facts, keeping, now=now)
        return Turned(facts, rows[0]["turns"], done=True)
    turn: int = rows[0]["turns"]
    if facts.state == "open":
        turned = yield step("keeping.turn", account_id=facts.id, now=now)
        turn = turned[0]["turns"]
    return Turned(facts._replace(state="turning"), turn, done=False)


def _settle(facts: Facts) -> Course[None]:
    """
    Wait until no transaction is left that may post to the account by what it knew before, and fold its tail in.
    """

    def fault(oldest: Row) -> LockTimeout:
        return LockTimeout(
            f"account {facts.name!r} in {facts.currency} waits for a transaction that was open before: "
            f"pid {oldest['pid']} ({oldest['application']}), {oldest['age_s']} s old; end it and call again. "
            "Until then postings to the account go on, one at a time",
            account=facts.name,
            currency=facts.currency,
            pid=oldest["pid"],
        )

    yield from outlast(_under_way, fault, wait_ms=KEEPING_WAIT_MS)
    if facts.keeping == "hot":
        batch = Act(partial(fold, facts.id, rows_max=CONSOLIDATION_ROWS_MAX, now=None))
        while (yield batch) == CONSOLIDATION_ROWS_MAX:
            pass


def _under_way() -> Plan[Rows]:
    return (yield step("keeping.under_way"))


def _finish(turned: Turned, keeping: Keeping, *, now: datetime | None) -> Plan[bool]:
    yield TOGETHER
    if keeping == "summed":
        yield step("partitioning.lock")
    facts = yield from _locked_in_turn(turned)
    if facts is None:
        return False
    # A consolidator may have taken the last rows and be waiting for the lock that we hold: let it through.
    tail = yield step("keeping.has_tail", account_id=facts.id)
    if tail[0]["found"]:
        return False
    yield from _change(facts, keeping, now=now)
    return True


def _close(turned: Turned, *, now: datetime | None) -> Plan[Account | None]:
    yield TOGETHER
    if not turned.done and (yield from _locked_in_turn(turned)) is None:
        return None
    if turned.done and turned.facts.state != "closed":
        rows = yield step("accounts.lock", name=turned.facts.name, currency=turned.facts.currency)
        if rows[0]["keeping"] != "direct":
            # It was kept otherwise since: postings without a lock may be under way.
            return None
    return (yield from close_account(turned.facts.name, turned.facts.currency, now=now))


def _turn_back(turned: Turned, *, now: datetime | None) -> Plan[None]:
    yield TOGETHER
    if (yield from _locked_in_turn(turned)) is not None:
        yield step("keeping.turn_back", account_id=turned.facts.id, now=now)


def _locked_in_turn(turned: Turned) -> Plan[Facts | None]:
    """
    Lock the account; None where somebody else has ended this turning, and perhaps begun another.
    """
    rows = yield step("accounts.lock", name=turned.facts.name, currency=turned.facts.currency)
    facts = read_facts(rows[0])
    return facts if facts.state == "turning" and rows[0]["turns"] == turned.turn else None


def _still_turning(name: str, currency: str) -> LockTimeout:
    return LockTimeout(
        f"account {name!r} in {currency} is still being turned; postings to it go on, call again",
        account=name,
        currency=currency,
    )


def _change(facts: Facts, keeping: Keeping, *, now: datetime | None) -> Plan[None]:
    """
    Set the new keeping with the base amount that keeps the balance what it is. We hold the lock.
    """
    weighed = yield step("locked.weigh_sides", account_ids=[facts.id])
    amount = whole(weighed[0], "posted")
    if keeping == "summed":
        history = yield step("keeping.summed_history", account_id=facts.id)
        amount -= whole(history[0], "amount")
    yield step("keeping.set_terms", account_id=facts.id, keeping=keeping, amount=amount, now=now)
