"""
What every way of posting shares: its terms, the key's verdict, the refusals over funds, and the stored transfer.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import NamedTuple

from lastro.errors import AmountOutOfRange, InsufficientFunds, TransferConflict
from lastro.model.account import Facts
from lastro.model.directory import Directory
from lastro.model.kind import Registry
from lastro.model.limits import BALANCE_MAX, BALANCE_MIN, LOCK_TIMEOUT_MS, UNLOCKED_AMOUNT_MAX
from lastro.model.text import as_differences, read_metadata
from lastro.model.transfer import Intent, Posted, Side, Transfer, differing
from lastro.plans.plan import Plan, Row, Step
from lastro.plans.stored import read_transfer


class Terms(NamedTuple):
    """
    What holds for every operation of one ledger: the directory, the known kinds, the wait for a lock, and the clock if
    it was set.
    """

    directory: Directory
    kinds: Registry
    lock_timeout_ms: int = LOCK_TIMEOUT_MS
    now: datetime | None = None


def find_transfer(key: str, *, settled: bool = False) -> Plan[Transfer | None]:
    """
    Return the transfer that holds *key*, or None. TransferConflict where its partition was retired.

    *settled*: what the snapshot has is enough; a transfer that was committed after it isn't looked for.
    """
    rows = yield Step("posting.find_transfer", {"key": key}, settled=settled)
    if not rows:
        return None
    refuse_retired(key, rows[0])
    return read_transfer(rows[0])


def refuse_retired(key: str, row: Row) -> None:
    """
    Raise where the key is taken by a transfer whose partition was retired: a late retry must not post again.
    """
    if row["id"] is None:
        raise TransferConflict(
            f"key {key!r} names transfer {row['transfer_id']}, which was retired from this database with its "
            "partition; it was posted, and it isn't posted again",
            key=key,
            fields={},
            retired_id=row["transfer_id"],
        )


def replay(stored: Transfer, wanted: Intent) -> Posted:
    """
    Return the stored transfer as replayed, or raise TransferConflict with the fields that differ.
    """
    fields = differing(stored, wanted)
    if fields:
        raise TransferConflict(
            f"key {wanted.key!r} already names another transfer ({as_differences(fields)}); "
            "one key names one intended transfer: find out which of the two is meant before anything else is posted",
            key=wanted.key,
            fields=fields,
        )
    return Posted(stored, replayed=True)


def created(wanted: Intent, row: Row) -> Transfer:
    """
    Return the transfer that was just written from what was asked and what the database added.
    """
    return Transfer(
        id=row["id"],
        key=wanted.key,
        kind=wanted.kind,
        debit=wanted.debit,
        credit=wanted.credit,
        amount=wanted.amount,
        currency=wanted.currency,
        occurred_at=row["occurred_at"].astimezone(UTC),
        recorded_at=row["recorded_at"].astimezone(UTC),
        cause=wanted.cause,
        reverses=wanted.reverses,
        source=wanted.source,
        actor=wanted.actor,
        metadata=read_metadata(wanted.metadata),
        debit_before=row.get("debit_before"),
        debit_after=row.get("debit_after"),
        credit_before=row.get("credit_before"),
        credit_after=row.get("credit_after"),
    )


def needs_lock(facts: Facts, wanted: Intent, side: Side) -> bool:
    """
    Say whether this side must be locked before it can be judged, so that one statement can't do it.

    A statement that waited for a lock still reads the tail (or the history) with its old snapshot. So whoever must
    know that sum locks first and reads in a following statement: a debit with a floor to guard, an account that is
    changing its keeping, an amount so large that the 64-bit range is in question.
    """
    if facts.state == "turning":
        return True
    if facts.keeping == "direct":
        return False
    return wanted.amount > UNLOCKED_AMOUNT_MAX or (side == "debit" and facts.floor is not None)


def is_locked(facts: Facts, wanted: Intent, side: Side) -> bool:
    """
    Say whether this side is locked at all, in the statement that posts or before it.
    """
    return facts.keeping == "direct" or needs_lock(facts, wanted, side)


def params_of(wanted: Intent, debit: Facts, credit: Facts, now: datetime | None) -> dict[str, object]:
    """
    Return the parameters that every posting statement takes.
    """
    return {
        "key": wanted.key,
        "kind": wanted.kind,
        "debit_id": debit.id,
        "credit_id": credit.id,
        "amount": wanted.amount,
        "cause": wanted.cause,
        "reverses": wanted.reverses,
        "source": wanted.source,
        "actor": wanted.actor,
        "occurred_at": wanted.occurred_at,
        "metadata": wanted.metadata,
        "now": now,
        "debit_keeping": debit.keeping,
        "credit_keeping": credit.keeping,
    }


def refuse_uncovered(wanted: Intent, debit: Facts, *, posted: int, held: int) -> None:
    """
    Raise when the debit would take the account below its floor, or out of the 64-bit range.
    """
    available = posted - held
    if debit.floor is not None and available - wanted.amount < debit.floor:
        floor = "" if debit.floor == 0 else f", a floor of {debit.floor}"
        raise InsufficientFunds(
            f"account {debit.name!r} has {available} {debit.currency} available{floor}, "
            f"and {wanted.amount} is needed (minor units)",
            account=debit.name,
            currency=debit.currency,
            needed=wanted.amount,
            available=available,
            floor=debit.floor,
        )
    _refuse_beyond(debit, posted - wanted.amount)


def refuse_overfull(wanted: Intent, credit: Facts, *, posted: int) -> None:
    """
    Raise when the credit would take the account's balance out of the 64-bit range.
    """
    _refuse_beyond(credit, posted + wanted.amount)


def _refuse_beyond(facts: Facts, balance: int) -> None:
    if not BALANCE_MIN <= balance <= BALANCE_MAX:
        raise AmountOutOfRange(
            f"the balance of {facts.name!r} in {facts.currency} would become {balance} minor units, "
            f"which leaves {BALANCE_MIN} … {BALANCE_MAX}",
            account=facts.name,
            currency=facts.currency,
        )
