"""
Values as JSON documents with stable keys: every amount is a string of minor units, every moment ISO 8601 in UTC.

A JSON number above 2^53 is rounded by most readers before any code of theirs sees it; amounts go up to 2^63.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from lastro.errors import Fault, LastroError, Refusal
from lastro.model.account import Account, Balance
from lastro.model.closing import PeriodClosing
from lastro.model.hold import Captured, Hold, HoldEvent, Placed, Released
from lastro.model.kind import Kind
from lastro.model.transfer import Entry, Posted, Transfer
from lastro.plans.expiring import HoldsExpired
from lastro.plans.partitioning import Partition
from lastro.workers.loop import Totals


def account_document(account: Account) -> dict[str, Any]:
    """
    Return an account; `floor` is null where there is none.
    """
    return {
        "name": account.name,
        "currency": account.currency,
        "keeping": account.keeping,
        "floor": _amount(account.floor),
        "opened_at": _moment(account.opened_at),
        "closed_at": _moment(account.closed_at),
        "metadata": account.metadata,
    }


def balance_document(balance: Balance, *, at: datetime | None) -> dict[str, Any]:
    """
    Return a balance; `at` is null for the current one.
    """
    return {
        "account": balance.account,
        "currency": balance.currency,
        "posted": _amount(balance.posted),
        "held": _amount(balance.held),
        "available": _amount(balance.available),
        "at": _moment(at),
    }


def transfer_document(transfer: Transfer) -> dict[str, Any]:
    """
    Return a transfer, all of it.
    """
    return {
        "id": transfer.id,
        "key": transfer.key,
        "kind": transfer.kind,
        "debit": transfer.debit,
        "credit": transfer.credit,
        "amount": _amount(transfer.amount),
        "currency": transfer.currency,
        "occurred_at": _moment(transfer.occurred_at),
        "recorded_at": _moment(transfer.recorded_at),
        "cause": transfer.cause,
        "reverses": transfer.reverses,
        "source": transfer.source,
        "actor": transfer.actor,
        "metadata": transfer.metadata,
        "debit_before": _amount(transfer.debit_before),
        "debit_after": _amount(transfer.debit_after),
        "credit_before": _amount(transfer.credit_before),
        "credit_after": _amount(transfer.credit_after),
    }


def posted_document(posted: Posted) -> dict[str, Any]:
    """
    Return a posting's outcome: the transfer, and whether it was there already.
    """
    return {"replayed": posted.replayed, "transfer": transfer_document(posted.transfer)}


def entry_document(entry: Entry) -> dict[str, Any]:
    """
    Return an entry; `signed` is its amount with the sign of its effect on the account.
    """
    return {
        "transfer_id": entry.transfer_id,
        "account": entry.account,
        "currency": entry.currency,
        "side": entry.side,
        "kind": entry.kind,
        "amount": _amount(entry.amount),
        "signed": _amount(entry.signed),
        "balance_before": _amount(entry.balance_before),
        "balance_after": _amount(entry.balance_after),
        "counter_account": entry.counter_account,
        "key": entry.key,
        "cause": entry.cause,
        "reverses": entry.reverses,
        "source": entry.source,
        "actor": entry.actor,
        "occurred_at": _moment(entry.occurred_at),
        "recorded_at": _moment(entry.recorded_at),
    }


def hold_document(hold: Hold) -> dict[str, Any]:
    """
    Return a hold as it stands.
    """
    return {
        "key": hold.key,
        "account": hold.account,
        "currency": hold.currency,
        "amount": _amount(hold.amount),
        "captured": _amount(hold.captured),
        "released": _amount(hold.released),
        "expired": _amount(hold.expired),
        "left": _amount(hold.left),
        "state": hold.state,
        "owner": hold.owner,
        "group": hold.group,
        "capture_max": _amount(hold.capture_max),
        "overdue": hold.overdue,
        "placed_at": _moment(hold.placed_at),
        "expires_at": _moment(hold.expires_at),
        "guarded_until": _moment(hold.guarded_until),
        "ended_at": _moment(hold.ended_at),
        "cause": hold.cause,
        "source": hold.source,
        "actor": hold.actor,
        "metadata": hold.metadata,
    }


def hold_event_document(event: HoldEvent) -> dict[str, Any]:
    """
    Return what became of a hold, one step.
    """
    return {
        "number": event.number,
        "kind": event.kind,
        "amount": _amount(event.amount),
        "left": _amount(event.left),
        "key": event.key,
        "recorded_at": _moment(event.recorded_at),
        "cause": event.cause,
        "source": event.source,
        "actor": event.actor,
    }


def placed_document(placed: Placed) -> dict[str, Any]:
    """
    Return the outcome of placing a hold.
    """
    return {"replayed": placed.replayed, "hold": hold_document(placed.hold)}


def captured_document(captured: Captured) -> dict[str, Any]:
    """
    Return the outcome of a capture: its transfer, what was given back of the rest, and the hold.
    """
    return {
        "replayed": captured.replayed,
        "transfer": transfer_document(captured.transfer),
        "released": _amount(captured.released),
        "hold": hold_document(captured.hold),
    }


def released_document(released: Released) -> dict[str, Any]:
    """
    Return the outcome of a release: what was given back, and the hold.
    """
    return {
        "replayed": released.replayed,
        "amount": _amount(released.amount),
        "hold": hold_document(released.hold),
    }


def holds_expired_document(expired: HoldsExpired) -> dict[str, Any]:
    """
    Return what one round of expiry did.
    """
    return {"holds": expired.holds, "batches": expired.batches, "blocked": expired.blocked, "full": expired.full}


def kind_document(kind: Kind) -> dict[str, Any]:
    """
    Return a registered kind; `undone_by` is null where any kind may undo it.
    """
    return {
        "name": kind.name,
        "debit": kind.debit,
        "credit": kind.credit,
        "either_way": kind.either_way,
        "undone_by": kind.undone_by,
    }


def closing_document(closing: PeriodClosing) -> dict[str, Any]:
    """
    Return a closing of the books, or with `reopens` a reopening.
    """
    return {
        "closed_until": _moment(closing.closed_until),
        "reopens": closing.reopens,
        "key": closing.key,
        "reason": closing.reason,
        "actor": closing.actor,
        "recorded_at": _moment(closing.recorded_at),
    }


def partition_document(partition: Partition) -> dict[str, Any]:
    """
    Return a partition of the history.
    """
    return {
        "name": partition.name,
        "from_id": partition.from_id,
        "to_id": partition.to_id,
        "transfers_about": partition.transfers_about,
    }


def totals_document(totals: Mapping[str, Totals]) -> dict[str, Any]:
    """
    Return what each worker did.
    """
    return {
        name: {"ticks": done.ticks, "errors": done.errors, "figures": dict(done.figures)}
        for name, done in totals.items()
    }


def error_document(error: LastroError) -> dict[str, Any]:
    """
    Return an error. Integers in its details are strings: most are amounts. `committed` is "unknown" where a retry
    with the same key has to find out.
    """
    return {
        "code": error.code,
        "kind": _kind(error),
        "message": str(error),
        "committed": error.committed if isinstance(error, Fault) else "no",
        "details": {name: _detail(value) for name, value in error.details.items()},
    }


def _kind(error: LastroError) -> str:
    if isinstance(error, Fault):
        return "fault"
    return "refusal" if isinstance(error, Refusal) else "error"


def _amount(minor: int | None) -> str | None:
    return None if minor is None else str(minor)


def _moment(moment: datetime | None) -> str | None:
    return None if moment is None else moment.isoformat()


def _detail(value: object) -> Any:
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, Mapping):
        return {str(name): _detail(part) for name, part in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_detail(part) for part in value]
    if isinstance(value, datetime):
        return value.isoformat()
    return str(value)
