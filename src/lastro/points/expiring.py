"""
Expiring: what is left of lots past their expiry goes, a bounded batch of lots a transaction.

A batch looks for due lots without a lock, locks their accounts in account order, reads the lots again, and posts one
movement an account for what nobody has used. An account that somebody else holds just then is passed over and gets its
turn in the next round: a batch never waits while it holds members up, so a spend waits for one batch at most.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from functools import partial
from itertools import groupby
from typing import Final, NamedTuple, TypeAlias

from lastro.model.account import Facts
from lastro.model.transfer import Intent, Posted
from lastro.plans.batch import post_many
from lastro.plans.course import Act, Course
from lastro.plans.plan import Plan, step
from lastro.plans.stored import read_facts, whole
from lastro.plans.transfers import Terms
from lastro.plans.waiting import patiently
from lastro.points.holding import EXPIRED, open_counterpart
from lastro.points.lots import Lot, Numbered, note_all, numbered, read_lot, take_from, total

EXPIRE: Final = "expire"
LOTS_EXPIRED_MAX: Final = 500

# Told the lots of each batch as soon as it is committed; False ends the round there.
AfterBatch: TypeAlias = Callable[[int], bool]


class Expired(NamedTuple):
    """
    What one round of expiry did: lots and accounts that lost points, and how many points.

    `skipped` counts lots of accounts that somebody else held, or that hold fewer points than their lots say; the next
    round looks at them again. `full` says that the round was told to end, so more may be waiting.
    """

    lots: int
    accounts: int
    points: int
    batches: int
    skipped: int
    full: bool


class Place(NamedTuple):
    """
    Where a batch ended in the order of expiry: the next one begins after it.
    """

    expires_at: datetime
    account_id: int
    transfer_id: int
    part: int


class Batch(NamedTuple):
    """
    What one batch did, how many due lots it found, and where it ended.
    """

    lots: int
    accounts: int
    points: int
    found: int
    ended: Place | None


class _Held(NamedTuple):
    facts: Facts
    payments: int
    available: int


def expire(terms: Terms, *, lots_max: int = LOTS_EXPIRED_MAX, after_batch: AfterBatch | None = None) -> Course[Expired]:
    """
    Expire what is due: batch by batch, each a transaction, until no batch finds as many lots as it may take.
    """
    done = Expired(0, 0, 0, 0, 0, full=False)
    place: Place | None = None
    while True:
        batch: Batch = yield Act(partial(expire_batch, terms, after=place, lots_max=lots_max))
        done = Expired(
            done.lots + batch.lots,
            done.accounts + batch.accounts,
            done.points + batch.points,
            done.batches + 1,
            done.skipped + batch.found - batch.lots,
            full=False,
        )
        if after_batch is not None and not after_batch(batch.lots):
            return done._replace(full=batch.found == lots_max)
        if batch.found < lots_max:
            return done
        place = batch.ended


def expire_batch(terms: Terms, *, after: Place | None, lots_max: int) -> Plan[Batch]:
    """
    Expire up to *lots_max* lots, those that were due first, in one transaction.

    Locks the base rows of their accounts in account order, and waits for none of them.
    """
    return (yield from patiently(_expire_batch(terms, after=after, lots_max=lots_max), terms.lock_timeout_ms))


def _expire_batch(terms: Terms, *, after: Place | None, lots_max: int) -> Plan[Batch]:
    rows = yield step(
        "points_expiring.due",
        now=terms.now,
        after_expires_at=None if after is None else after.expires_at,
        after_account_id=0 if after is None else after.account_id,
        after_transfer_id=0 if after is None else after.transfer_id,
        after_part=0 if after is None else after.part,
        lots_max=lots_max,
    )
    if not rows:
        return Batch(0, 0, 0, 0, after)
    ended = Place(rows[-1]["expires_at"], rows[-1]["account_id"], rows[-1]["transfer_id"], rows[-1]["part"])
    # Opened before any base row is locked: its opening may wait for a rival who opens the same.
    for currency in sorted({row["currency"] for row in rows}):
        yield from open_counterpart(EXPIRED, currency, terms)
    held = yield from _hold(sorted({row["account_id"] for row in rows}), terms)
    # Only now, under the locks: what was spent while we waited for nobody is spent.
    still = yield step(
        "points_expiring.still_due",
        account_ids=[row["account_id"] for row in rows if row["account_id"] in held],
        transfer_ids=[row["transfer_id"] for row in rows if row["account_id"] in held],
        parts=[row["part"] for row in rows if row["account_id"] in held],
    )
    uses = yield from _post(sorted(map(read_lot, still)), held, terms)
    return Batch(
        len(uses), len({use.transfer_id for use in uses}), sum(use.use.amount for use in uses), len(rows), ended
    )


def _hold(account_ids: Sequence[int], terms: Terms) -> Plan[dict[int, _Held]]:
    """Lock those of the accounts that are open and that nobody else holds, and read what they have."""
    locked = yield step("points_expiring.lock", account_ids=list(account_ids))
    weighed = yield step("locked.weigh_sides", account_ids=[row["id"] for row in locked])
    available = {row["account_id"]: whole(row, "posted") - whole(row, "held") for row in weighed}
    held = {row["id"]: _Held(read_facts(row), row["payments"], available[row["id"]]) for row in locked}
    terms.directory.learn(account.facts for account in held.values())
    return held


def _post(lots: Sequence[Lot], held: dict[int, _Held], terms: Terms) -> Plan[list[Numbered]]:
    """Post one movement an account for what is left of its due lots, and note which lots it emptied."""
    taken = []
    for account_id, due in groupby(lots, key=lambda lot: lot.account_id):
        # No more than the account has: where somebody posted past the lots, they are brought back to the balance.
        uses = take_from(due, max(0, held[account_id].available))
        if uses:
            taken.append((held[account_id], uses))
    if not taken:
        return []
    posted = yield from post_many([_movement(account, total(uses)) for account, uses in taken], terms, partial=False)
    noted: list[Numbered] = []
    for outcome, (_, uses) in zip(posted, taken, strict=True):
        assert isinstance(outcome, Posted), "all of them are posted, or none"
        assert not outcome.replayed, "a payment of an account is counted once"
        noted += numbered(uses, outcome.transfer.id, 0)
    yield from note_all(noted)
    return noted


def _movement(account: _Held, amount: int) -> Intent:
    facts = account.facts
    # How many debits an account had is known under its lock and never comes back: the key of this debit and no other.
    key = f"points:expire:{facts.id}:{account.payments}"
    return Intent(key, EXPIRE, facts.name, EXPIRED, amount, facts.currency, source="points")
