"""
A transfer: one positive amount from a debit account to a credit account; what is asked for, and what was stored.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from decimal import Decimal
from typing import Any, Literal, NamedTuple, TypeAlias

from lastro.errors import AmountOutOfRange, InvalidInput
from lastro.model.account import account_name, currency_code
from lastro.model.limits import (
    ACTOR_CHARACTERS_MAX,
    AMOUNT_MAX,
    CAUSE_CHARACTERS_MAX,
    KEY_CHARACTERS_MAX,
    KIND_CHARACTERS_MAX,
    SOURCE_CHARACTERS_MAX,
)
from lastro.model.moment import optional_utc
from lastro.model.text import metadata_json, optional_text, shown, text

Side: TypeAlias = Literal["debit", "credit"]


class Intent(NamedTuple):
    """
    A transfer that somebody wants, checked. Build it with `intent`; its `key` is the same for every attempt.

    `metadata` is JSON text. `reverses` is set by the ledger alone.
    """

    key: str
    kind: str
    debit: str
    credit: str
    amount: int
    currency: str
    cause: str | None = None
    source: str | None = None
    actor: str | None = None
    occurred_at: datetime | None = None
    metadata: str | None = None
    reverses: str | None = None


class Transfer(NamedTuple):
    """
    A transfer as it is stored. Amounts and balances in minor units; moments in UTC.

    `debit_before` … `credit_after` are the posted balances around it where that side was kept direct, else None.
    """

    id: int
    key: str
    kind: str
    debit: str
    credit: str
    amount: int
    currency: str
    occurred_at: datetime
    recorded_at: datetime
    cause: str | None
    reverses: str | None
    source: str | None
    actor: str | None
    metadata: dict[str, Any] | None
    debit_before: int | None
    debit_after: int | None
    credit_before: int | None
    credit_after: int | None


class Posted(NamedTuple):
    """
    The outcome of a posting: the transfer, and whether it was there already (`replayed`) or created now.
    """

    transfer: Transfer
    replayed: bool


class Entry(NamedTuple):
    """
    One account's side of a transfer. `amount` is positive, `side` gives its direction, `signed` both.
    """

    transfer_id: int
    account: str
    currency: str
    side: Side
    kind: str
    amount: int
    balance_before: int | None
    balance_after: int | None
    counter_account: str
    key: str
    cause: str | None
    reverses: str | None
    source: str | None
    actor: str | None
    occurred_at: datetime
    recorded_at: datetime

    @property
    def signed(self) -> int:
        """The amount with the sign of its effect on the account."""
        return self.amount if self.side == "credit" else -self.amount


def intent(
    *,
    key: object,
    kind: object,
    debit: object,
    credit: object,
    amount: object,
    currency: object,
    cause: object = None,
    source: object = None,
    actor: object = None,
    occurred_at: object = None,
    metadata: object = None,
) -> Intent:
    """
    Check what a caller wants posted and return it as an Intent; InvalidInput or AmountOutOfRange say what is wrong.
    """
    checked = Intent(
        transfer_key(key),
        text(kind, argument="kind", characters_max=KIND_CHARACTERS_MAX),
        account_name(debit, argument="debit"),
        account_name(credit, argument="credit"),
        transfer_amount(amount),
        currency_code(currency),
        optional_text(cause, argument="cause", characters_max=CAUSE_CHARACTERS_MAX),
        optional_text(source, argument="source", characters_max=SOURCE_CHARACTERS_MAX),
        optional_text(actor, argument="actor", characters_max=ACTOR_CHARACTERS_MAX),
        optional_utc(occurred_at, argument="occurred_at"),
        metadata_json(metadata),
    )
    if checked.debit == checked.credit:
        raise InvalidInput(
            f"a transfer needs two accounts; debit and credit are both {checked.debit!r}",
            argument="credit",
        )
    return checked


ARGUMENTS = (
    "key",
    "kind",
    "debit",
    "credit",
    "amount",
    "currency",
    "cause",
    "source",
    "actor",
    "occurred_at",
    "metadata",
)
REQUIRED = ARGUMENTS[:6]
_ARGUMENTS, _REQUIRED = frozenset(ARGUMENTS), frozenset(REQUIRED)


def intent_of(wanted: Mapping[str, Any]) -> Intent:
    """
    Check a mapping with the arguments of `post`, as batches and command lines bring it.
    """
    if not isinstance(wanted, Mapping):
        raise InvalidInput(f"a transfer to post is a mapping with {', '.join(REQUIRED)}; got {type(wanted).__name__}")
    named = wanted.keys()
    if _REQUIRED <= named <= _ARGUMENTS:
        return intent(**wanted)
    missing = [name for name in REQUIRED if name not in wanted]
    unknown = [str(name) for name in wanted if name not in ARGUMENTS]
    raise InvalidInput(
        "a transfer to post takes "
        f"{', '.join(ARGUMENTS)}; missing: {', '.join(missing) or 'none'}; "
        f"unknown: {', '.join(unknown) or 'none'}"
    )


def transfer_key(key: object, *, argument: str = "key") -> str:
    """
    Return *key* if it can name a transfer: 1 … 400 characters, the same for every attempt of one intended transfer.
    """
    return text(key, argument=argument, characters_max=KEY_CHARACTERS_MAX)


def transfer_amount(amount: object, *, argument: str = "amount") -> int:
    """
    Return *amount* if it is a whole number of minor units, 1 … 2^63−1. A Decimal counts when it is whole.
    """
    if isinstance(amount, bool) or not isinstance(amount, int | Decimal):
        raise InvalidInput(
            f"{argument} must be an int of minor units (Money.parse turns text into one); got {shown(amount)}",
            argument=argument,
        )
    if isinstance(amount, Decimal):
        if not amount.is_finite() or amount != amount.to_integral_value():
            raise InvalidInput(
                f"{argument} must be a whole number of minor units; got {shown(amount)}", argument=argument
            )
        # A huge exponent must not become a huge integer before it is refused.
        amount = int(amount) if abs(amount) <= AMOUNT_MAX else AMOUNT_MAX + 1 if amount > 0 else -AMOUNT_MAX
    if not 1 <= amount <= AMOUNT_MAX:
        raise AmountOutOfRange(
            f"{argument} must be 1 … {AMOUNT_MAX} minor units; this is {shown(amount) if amount <= 0 else 'more'}",
            argument=argument,
        )
    return int(amount)


def differing(stored: Transfer, wanted: Intent) -> dict[str, tuple[Any, Any]]:
    """
    Return what *wanted* says otherwise than the transfer *stored* under its key: field → (stored, wanted).

    `actor` and `metadata` may differ: another worker may well repeat the attempt, and what is stored stays. A moment
    counts only where the caller gave one.
    """
    pairs = {
        "kind": (stored.kind, wanted.kind),
        "debit": (stored.debit, wanted.debit),
        "credit": (stored.credit, wanted.credit),
        "amount": (stored.amount, wanted.amount),
        "currency": (stored.currency, wanted.currency),
        "cause": (stored.cause, wanted.cause),
        "source": (stored.source, wanted.source),
        "reverses": (stored.reverses, wanted.reverses),
    }
    if wanted.occurred_at is not None:
        pairs["occurred_at"] = (stored.occurred_at, wanted.occurred_at)
    return {field: pair for field, pair in pairs.items() if pair[0] != pair[1]}
