"""
What an account stood at, at a moment of the past: from its closings, and from the few entries that they don't decide.

Marks cut the history by ids and never change, so what a closing counts is known for good. What may lie on the wrong side
of the moment all the same (entries that were dated back, or committed late) the closings tell by their least and greatest
moments. Each step may look at a snapshot of its own: what follows the newest mark that the first one saw is read by one
statement, and everything else doesn't change any more.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final, NamedTuple

from lastro.errors import HistoryRetired
from lastro.model.limits import BALANCE_MAX
from lastro.model.statement import By
from lastro.plans.accounts import refuse_unknown
from lastro.plans.plan import Plan, Row, step
from lastro.plans.stored import whole

LAST_ID: Final = BALANCE_MAX


class Standing(NamedTuple):
    """
    An account at a moment: what was posted by its entries up to then. `id_ceiling` is the newest mark's.
    """

    account_id: int
    account: str
    currency: str
    posted: int
    id_ceiling: int


def standing_at(name: str, currency: str, *, at: datetime, by: By, last_id: int = LAST_ID) -> Plan[Standing]:
    """
    Return what was posted on an account by the entries up to and with the moment *at*, and with ids up to *last_id*,
    which is none of before the newest mark.
    """
    by_occurred = int(by == "occurred")
    rows = yield step("moments.find", name=name, currency=currency, at=at, by_occurred=by_occurred, last_id=last_id)
    if not rows:
        yield from refuse_unknown(name, currency)
    head = rows[0]
    account_id: int = head["account_id"]
    if head["retired_at"] is not None and at < head["retired_at"]:
        raise _retired_unclosed(head, at)
    posted = whole(head, "base") + whole(head, "corrected")
    for part in rows:
        sums = part if part["found"] is not None else (yield from _sums(account_id, part, at, by_occurred))
        if part["entries"] not in (None, sums["found"]):
            raise _retired(head["account"], head["currency"], at)
        posted += -whole(sums, "later") if part["counted"] else whole(sums, "earlier")
    return Standing(account_id, head["account"], head["currency"], posted, whole(head, "id_ceiling"))


def _retired_unclosed(head: Row, at: datetime) -> HistoryRetired:
    account, currency, retired_at = head["account"], head["currency"], head["retired_at"].astimezone(UTC)
    return HistoryRetired(
        f"what account {account!r} in {currency} stood at on {at.isoformat()} can't be told: its entries up to "
        f"{retired_at.isoformat()} were retired with their partition before any day was closed; ask for that moment or a "
        "later one, a statement since after it, and have the days closed (`lastro close-days`) before the next partition "
        "is retired",
        account=account,
        currency=currency,
    )


def _retired(account: str, currency: str, at: datetime) -> HistoryRetired:
    return HistoryRetired(
        f"what account {account!r} in {currency} stood at on {at.isoformat()} can't be told to the entry: some of its "
        "entries around that moment were retired with their partition; balances at the marks before and after it are kept",
        account=account,
        currency=currency,
    )


def _sums(account_id: int, part: Row, at: datetime, by_occurred: int) -> Plan[Row]:
    rows = yield step(
        "moments.sums",
        account_id=account_id,
        first_id=part["first_id"],
        last_id=part["last_id"],
        at=at,
        by_occurred=by_occurred,
    )
    return rows[0]
