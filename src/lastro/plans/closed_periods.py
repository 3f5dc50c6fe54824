"""
Closing the books up to a moment, and reopening them: who posts with an older moment is done or refused.

Whoever posts what occurred more than a minute before its recording is asked by the database, under a lock that the
closing waits for. Others aren't asked. They could only write into the period if their transaction began before its end
or in the minute after; so the closing, once it is committed, waits for what is left of those, as a rule nothing.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Final

from lastro.errors import InvalidInput, LockTimeout, PeriodConflict
from lastro.model.closing import PeriodClosing
from lastro.model.limits import KEEPING_WAIT_MS, PERIOD_CLOSES_AFTER_MS
from lastro.plans.course import Course
from lastro.plans.patience import LOCK_TIMEOUT_MS, giving_way, outlast
from lastro.plans.plan import TOGETHER, Plan, Row, Rows, Step, step
from lastro.plans.stored import read_closing
from lastro.plans.waiting import patiently, undone_when_refused

CLOSES_AFTER: Final = timedelta(milliseconds=PERIOD_CLOSES_AFTER_MS)


def closed_until() -> Plan[datetime | None]:
    """
    Return the moment up to which the books are closed, or None.
    """
    rows = yield step("closed_periods.bound")
    found: datetime | None = rows[0]["until_at"]
    return found


def closings(*, limit: int) -> Plan[list[PeriodClosing]]:
    """
    Return the newest closings and reopenings, the one in force first.
    """
    rows = yield step("closed_periods.list", rows_max=limit)
    return [read_closing(row) for row in rows]


def close_period(
    until: datetime, *, reason: str | None, actor: str | None, now: datetime | None
) -> Course[PeriodClosing]:
    """
    Close the books up to *until* and return the closing in force, once nobody is left who may post before it.
    """
    closing: PeriodClosing = yield from giving_way(
        lambda: patiently(_close(until, reason=reason, actor=actor, now=now), LOCK_TIMEOUT_MS)
    )
    yield from outlast(partial(_under_way, until), _still_open, wait_ms=KEEPING_WAIT_MS)
    return closing


def _close(until: datetime, *, reason: str | None, actor: str | None, now: datetime | None) -> Plan[PeriodClosing]:
    yield TOGETHER
    rows = yield step("closed_periods.compose_guard")
    if rows[0]["script"]:
        yield Step("script", {}, script=rows[0]["script"])
    stands = yield from _held(now)
    # The ledger's clock says when; the database's says whether it is over, for that is the one postings are held to.
    if until > min(stands["moment_at"], stands["clock_at"]) - CLOSES_AFTER:
        raise InvalidInput(
            f"a period is closed a minute after its end at the earliest; {until.isoformat()} isn't over so long by the "
            f"database's clock, which shows {stands['clock_at'].astimezone(UTC).isoformat()}",
            argument="until",
        )
    if stands["until_at"] is not None and stands["until_at"] >= until:
        # Closed as far already, or further: that closing stands.
        return (yield from closings(limit=1))[0]
    return (yield from _note(until, key=None, reopens=False, reason=reason, actor=actor, stands=stands))


def reopen_period(
    since: datetime, *, key: str, reason: str, actor: str, now: datetime | None, lock_timeout_ms: int
) -> Plan[PeriodClosing]:
    """
    Open the books again from *since* on, once under *key*; what occurred before it stays closed.
    """
    plan = undone_when_refused(_reopen(since, key=key, reason=reason, actor=actor, now=now))
    return (yield from patiently(plan, lock_timeout_ms))


def _reopen(since: datetime, *, key: str, reason: str, actor: str, now: datetime | None) -> Plan[PeriodClosing]:
    stands = yield from _held(now)
    found = yield step("closed_periods.find", key=key)
    if found:
        stored = read_closing(found[0])
        if stored.closed_until != since or stored.reason != reason:
            raise PeriodConflict(
                f"key {key!r} already names the reopening of {stored.closed_until.isoformat()} ({stored.reason}); "
                "one key names one intended reopening",
                key=key,
                fields={
                    name: pair
                    for name, pair in (
                        ("since", (stored.closed_until, since)),
                        ("reason", (stored.reason, reason)),
                    )
                    if pair[0] != pair[1]
                },
            )
        return stored
    if stands["until_at"] is None or since >= stands["until_at"]:
        bound = "nothing is closed" if stands["until_at"] is None else f"closed before {stands['until_at'].isoformat()}"
        raise InvalidInput(f"there is nothing to reopen since {since.isoformat()}: {bound}", argument="since")
    return (yield from _note(since, key=key, reopens=True, reason=reason, actor=actor, stands=stands))


def _held(now: datetime | None) -> Plan[Row]:
    yield step("closed_periods.hold")
    # In a following statement, which sees what was committed while ours waited.
    return (yield step("closed_periods.stands", now=now))[0]


def _note(
    until: datetime, *, key: str | None, reopens: bool, reason: str | None, actor: str | None, stands: Row
) -> Plan[PeriodClosing]:
    now: datetime = stands["moment_at"]
    rows = yield step("closed_periods.note", key=key, until=until, reopens=reopens, reason=reason, actor=actor, now=now)
    closing_id: int = rows[0]["id"]
    yield step("closed_periods.move_bound", until=until, closing_id=closing_id)
    return PeriodClosing(closing_id, until, reopens, key, reason, actor, now.astimezone(UTC))


def _under_way(until: datetime) -> Plan[Rows]:
    return (yield step("closed_periods.under_way", until=until))


def _still_open(oldest: Row) -> LockTimeout:
    return LockTimeout(
        "the period is closed, but a transaction that began before its end may still post into it: "
        f"pid {oldest['pid']} ({oldest['application']}), {oldest['age_s']} s old; end it and call again",
        pid=oldest["pid"],
    )
