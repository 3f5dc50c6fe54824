"""
Reading rows as values: a row that can't be read as what it should be raises, and is never read as something else.
"""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, cast

from lastro.errors import UnreadableRow
from lastro.model.account import KEEPINGS, Account, Balance, Facts, Keeping, State
from lastro.model.closing import PeriodClosing
from lastro.model.hold import HOLD_EVENT_KINDS, HOLD_STATES, Hold, HoldEvent, HoldEventKind, HoldState
from lastro.model.incident import INCIDENT_RULES, Incident, IncidentRule
from lastro.model.kind import Kind
from lastro.model.text import read_metadata
from lastro.model.transfer import Entry, Side, Transfer
from lastro.plans.plan import Row

STATES = ("open", "turning", "closed")
SIDES = ("debit", "credit")


def read_transfer(row: Row) -> Transfer:
    """
    Return a row of the history as a Transfer.
    """
    return Transfer(
        id=_integer(row, "id"),
        key=_text(row, "key"),
        kind=_text(row, "kind"),
        debit=_text(row, "debit"),
        credit=_text(row, "credit"),
        amount=_positive(row, "amount"),
        currency=_text(row, "currency"),
        occurred_at=_moment(row, "occurred_at"),
        recorded_at=_moment(row, "recorded_at"),
        cause=_optional_text(row, "cause"),
        reverses=_optional_text(row, "reverses"),
        source=_optional_text(row, "source"),
        actor=_optional_text(row, "actor"),
        metadata=_metadata(row),
        debit_before=_optional_integer(row, "debit_before"),
        debit_after=_optional_integer(row, "debit_after"),
        credit_before=_optional_integer(row, "credit_before"),
        credit_after=_optional_integer(row, "credit_after"),
    )


def read_entry(row: Row) -> Entry:
    """
    Return a row of the view `entry` as an Entry.
    """
    return Entry(
        transfer_id=_integer(row, "transfer_id"),
        account=_text(row, "account"),
        currency=_text(row, "currency"),
        side=cast(Side, _word(row, "side", SIDES)),
        kind=_text(row, "kind"),
        amount=_positive(row, "amount"),
        balance_before=_optional_integer(row, "balance_before"),
        balance_after=_optional_integer(row, "balance_after"),
        counter_account=_text(row, "counter_account"),
        key=_text(row, "key"),
        cause=_optional_text(row, "cause"),
        reverses=_optional_text(row, "reverses"),
        source=_optional_text(row, "source"),
        actor=_optional_text(row, "actor"),
        occurred_at=_moment(row, "occurred_at"),
        recorded_at=_moment(row, "recorded_at"),
    )


def read_facts(row: Row) -> Facts:
    """
    Return what a posting must know of an account.
    """
    return Facts(
        id=_integer(row, "id"),
        name=_text(row, "name"),
        currency=_text(row, "currency"),
        keeping=cast(Keeping, _word(row, "keeping", KEEPINGS)),
        state=cast(State, _word(row, "state", STATES)),
        floor=_optional_integer(row, "floor"),
    )


def read_account(row: Row) -> Account:
    """
    Return an account as its owner sees it.
    """
    return Account(
        name=_text(row, "name"),
        currency=_text(row, "currency"),
        keeping=cast(Keeping, _word(row, "keeping", KEEPINGS)),
        floor=_optional_integer(row, "floor"),
        opened_at=_moment(row, "opened_at"),
        closed_at=_optional_moment(row, "closed_at"),
        metadata=_metadata(row),
    )


def read_balance(row: Row) -> Balance:
    """
    Return a row of the view `balance` as a Balance.
    """
    posted, held = whole(row, "posted"), whole(row, "held")
    return Balance(_text(row, "account"), _text(row, "currency"), posted, held, posted - held)


def read_kind(row: Row) -> Kind:
    """
    Return a registered kind.
    """
    return Kind(
        name=_text(row, "name"),
        debit=_text(row, "debit"),
        credit=_text(row, "credit"),
        either_way=_flag(row, "either_way"),
        undone_by=_optional_text(row, "undone_by"),
    )


def read_closing(row: Row) -> PeriodClosing:
    """
    Return a closing, or a reopening, of the books.
    """
    return PeriodClosing(
        id=_integer(row, "id"),
        closed_until=_moment(row, "until_at"),
        reopens=_flag(row, "reopens"),
        key=_optional_text(row, "key"),
        reason=_optional_text(row, "reason"),
        actor=_optional_text(row, "actor"),
        recorded_at=_moment(row, "recorded_at"),
    )


def read_incident(row: Row) -> Incident:
    """
    Return drift that was found, with what was said of it.
    """
    return Incident(
        id=_integer(row, "id"),
        account=_optional_text(row, "account"),
        currency=_optional_text(row, "currency"),
        account_id=_integer(row, "account_id"),
        rule=cast(IncidentRule, _word(row, "rule", INCIDENT_RULES)),
        expected=whole(row, "expected"),
        found=whole(row, "found"),
        agreed_id=_optional_integer(row, "agreed_id"),
        transfer_id=_optional_integer(row, "transfer_id"),
        opened_at=_moment(row, "opened_at"),
        last_seen_at=_moment(row, "last_seen_at"),
        cleared_at=_optional_moment(row, "cleared_at"),
        explained_at=_optional_moment(row, "explained_at"),
        explanation=_optional_text(row, "explanation"),
        explained_by=_optional_text(row, "explained_by"),
    )


def read_identity(row: Row) -> Hold:
    """
    Return what never changes of a hold, as a hold to which nothing has happened yet.
    """
    amount = _positive(row, "amount")
    return Hold(
        key=_text(row, "key"),
        account=_text(row, "account"),
        currency=_text(row, "currency"),
        amount=amount,
        captured=0,
        released=0,
        expired=0,
        left=amount,
        state="open",
        owner=_text(row, "owner"),
        group=_optional_text(row, "group_name"),
        capture_max=_optional_integer(row, "capture_max"),
        overdue="list" if _flag(row, "listed") else "expire",
        placed_at=_moment(row, "placed_at"),
        expires_at=_moment(row, "expires_at"),
        guarded_until=None,
        ended_at=None,
        cause=_optional_text(row, "cause"),
        source=_optional_text(row, "source"),
        actor=_optional_text(row, "actor"),
        metadata=_metadata(row),
    )


def read_hold(row: Row) -> Hold:
    """
    Return a row of `hold_standing` as a Hold.
    """
    return read_identity(row)._replace(
        captured=whole(row, "captured"),
        released=whole(row, "released"),
        expired=whole(row, "expired"),
        left=whole(row, "left_over"),
        state=cast(HoldState, _word(row, "state", HOLD_STATES)),
        guarded_until=_optional_moment(row, "guard_ends_at"),
        ended_at=_optional_moment(row, "ended_at"),
    )


def read_event(row: Row) -> HoldEvent:
    """
    Return a row of `hold_event` as a HoldEvent.
    """
    return HoldEvent(
        number=_positive(row, "number"),
        kind=cast(HoldEventKind, _word(row, "kind", HOLD_EVENT_KINDS)),
        amount=_positive(row, "amount"),
        left=_integer(row, "left_after"),
        key=_optional_text(row, "key"),
        recorded_at=_moment(row, "recorded_at"),
        cause=_optional_text(row, "cause"),
        source=_optional_text(row, "source"),
        actor=_optional_text(row, "actor"),
    )


def whole(row: Row, column: str) -> int:
    """
    Return a sum as an int: databases add integers up to decimals, which must be whole.
    """
    value = row[column]
    if type(value) not in (int, Decimal) or value != int(value):
        raise _unreadable(row, column, "a whole number")
    return int(value)


def _integer(row: Row, column: str) -> int:
    value = row[column]
    if type(value) is not int:
        raise _unreadable(row, column, "an integer")
    return value


def _optional_integer(row: Row, column: str) -> int | None:
    return None if row[column] is None else _integer(row, column)


def _positive(row: Row, column: str) -> int:
    value = _integer(row, column)
    if value <= 0:
        raise _unreadable(row, column, "a positive integer")
    return value


def _text(row: Row, column: str) -> str:
    value = row[column]
    if type(value) is not str or not value:
        raise _unreadable(row, column, "text")
    return value


def _optional_text(row: Row, column: str) -> str | None:
    return None if row[column] is None else _text(row, column)


def _word(row: Row, column: str, words: tuple[str, ...]) -> str:
    value = row[column]
    if value not in words:
        raise _unreadable(row, column, f"one of {', '.join(words)}")
    return cast(str, value)


def _moment(row: Row, column: str) -> datetime:
    value = row[column]
    if not isinstance(value, datetime) or value.utcoffset() is None:
        raise _unreadable(row, column, "a moment with its time zone")
    return value.astimezone(UTC)


def _optional_moment(row: Row, column: str) -> datetime | None:
    return None if row[column] is None else _moment(row, column)


def _flag(row: Row, column: str) -> bool:
    value = row[column]
    # A store without such a type keeps 1 or 0.
    if value not in (0, 1):
        raise _unreadable(row, column, "true or false")
    return bool(value)


def _metadata(row: Row) -> dict[str, Any] | None:
    value = row["metadata"]
    if value is None:
        return None
    try:
        metadata = read_metadata(value)
    except (TypeError, ValueError):
        metadata = None
    if not isinstance(metadata, dict):
        raise _unreadable(row, "metadata", "a JSON object")
    return metadata


def _unreadable(row: Row, column: str, expected: str) -> UnreadableRow:
    where = row.get("key") or row.get("name") or row.get("id")
    return UnreadableRow(
        f"the stored row of {where!r} has {row[column]!r} as {column}, which is not {expected}; "
        "somebody wrote past this library: look at the row before anything else is posted there",
        column=column,
    )
