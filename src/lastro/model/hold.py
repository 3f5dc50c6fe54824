"""
A hold: money of an account set aside under a key, until it is captured, released or expires.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final, Literal, NamedTuple, TypeAlias, get_args

from lastro.errors import InvalidInput
from lastro.model.account import WORLD, account_name, currency_code
from lastro.model.limits import (
    ACTOR_CHARACTERS_MAX,
    CAUSE_CHARACTERS_MAX,
    GROUP_CHARACTERS_MAX,
    OWNER_CHARACTERS_MAX,
    SOURCE_CHARACTERS_MAX,
)
from lastro.model.moment import utc
from lastro.model.text import metadata_json, optional_text, shown, text
from lastro.model.transfer import Transfer, transfer_amount, transfer_key

HoldState: TypeAlias = Literal["open", "captured", "released", "expired"]
HoldEventKind: TypeAlias = Literal["captured", "released", "expired"]
Overdue: TypeAlias = Literal["expire", "list"]

HOLD_STATES: tuple[HoldState, ...] = get_args(HoldState)
HOLD_EVENT_KINDS: tuple[HoldEventKind, ...] = get_args(HoldEventKind)
OVERDUE: tuple[Overdue, ...] = get_args(Overdue)


# Of a bet's hold: what ends it is the settlement of the bet, and nothing else.
BETTING_OWNER: Final = "betting"


class HoldIntent(NamedTuple):
    """
    A hold that somebody wants placed, checked. Build it with `hold_intent`. `metadata` is JSON text.
    """

    key: str
    account: str
    currency: str
    amount: int
    owner: str
    expires_at: datetime
    group: str | None
    capture_max: int | None
    overdue: Overdue
    cause: str | None
    source: str | None
    actor: str | None
    metadata: str | None


class Hold(NamedTuple):
    """
    A hold and how it stands. Amounts in minor units; moments in UTC.

    `amount` was placed; of it `captured` was transferred (more than `amount` only within `capture_max`), `released` and
    `expired` were given back, and `left` is still set aside: nothing unless `state` is "open". `overdue` says what
    happens past `expires_at`: "expire" lets the expirer end it, "list" puts it into its owner's list and nothing else.
    """

    key: str
    account: str
    currency: str
    amount: int
    captured: int
    released: int
    expired: int
    left: int
    state: HoldState
    owner: str
    group: str | None
    capture_max: int | None
    overdue: Overdue
    placed_at: datetime
    expires_at: datetime
    guarded_until: datetime | None
    ended_at: datetime | None
    cause: str | None
    source: str | None
    actor: str | None
    metadata: dict[str, Any] | None

    @property
    def expired_at(self) -> datetime | None:
        """When the hold expired; None where it is open, or ended otherwise."""
        return self.ended_at if self.state == "expired" else None


class HoldEvent(NamedTuple):
    """
    What became of a hold, one step: `amount` was captured, released or expired, and `left` remained.

    `key` is the key of the release, or that of the capture's transfer; what a capture gives back of the rest, and what
    expires, has none.
    """

    number: int
    kind: HoldEventKind
    amount: int
    left: int
    key: str | None
    recorded_at: datetime
    cause: str | None
    source: str | None
    actor: str | None


class Placed(NamedTuple):
    """
    The outcome of placing: the hold as it stands now, and whether it was there already (`replayed`).
    """

    hold: Hold
    replayed: bool


class Captured(NamedTuple):
    """
    The outcome of a capture: its transfer, what it gave back of the rest, and the hold as it stands now.
    """

    transfer: Transfer
    released: int
    hold: Hold
    replayed: bool


class Released(NamedTuple):
    """
    The outcome of a release: what was given back (0 where nothing was left to give), and the hold as it stands now.
    """

    amount: int
    hold: Hold
    replayed: bool


def hold_intent(
    *,
    key: object,
    account: object,
    currency: object,
    amount: object,
    owner: object,
    expires_at: object,
    group: object,
    capture_max: object,
    overdue: object,
    cause: object,
    source: object,
    actor: object,
    metadata: object,
) -> HoldIntent:
    """
    Check a hold that a caller wants placed; InvalidInput or AmountOutOfRange say what is wrong.
    """
    checked = HoldIntent(
        transfer_key(key),
        account_name(account),
        currency_code(currency),
        transfer_amount(amount),
        text(owner, argument="owner", characters_max=OWNER_CHARACTERS_MAX),
        utc(expires_at, argument="expires_at"),
        optional_text(group, argument="group", characters_max=GROUP_CHARACTERS_MAX),
        None if capture_max is None else transfer_amount(capture_max, argument="capture_max"),
        overdue_word(overdue),
        optional_text(cause, argument="cause", characters_max=CAUSE_CHARACTERS_MAX),
        optional_text(source, argument="source", characters_max=SOURCE_CHARACTERS_MAX),
        optional_text(actor, argument="actor", characters_max=ACTOR_CHARACTERS_MAX),
        metadata_json(metadata),
    )
    if checked.account == WORLD:
        raise InvalidInput(
            f"{WORLD!r} is the built-in account outside the books: nothing can be set aside on it", argument="account"
        )
    if checked.capture_max is not None and checked.capture_max < checked.amount:
        raise InvalidInput(
            f"capture_max is what may be captured in all, at least the amount of {checked.amount}; "
            f"got {checked.capture_max} (minor units)",
            argument="capture_max",
        )
    return checked


def overdue_word(overdue: object) -> Overdue:
    """
    Return *overdue* if it is one of expire and list.
    """
    for known in OVERDUE:
        if overdue == known:
            return known
    raise InvalidInput(f"overdue is one of {', '.join(OVERDUE)}; got {shown(overdue)}", argument="overdue")


def differing_hold(stored: Hold, wanted: HoldIntent) -> dict[str, tuple[Any, Any]]:
    """
    Return what *wanted* says otherwise than the hold *stored* under its key: field → (stored, wanted).

    `actor` and `metadata` may differ: another worker may well repeat the attempt, and what is stored stays.
    """
    names = (
        "account", "currency", "amount", "owner", "expires_at", "group", "capture_max", "overdue", "cause", "source",
    )  # fmt: skip
    pairs = {name: (getattr(stored, name), getattr(wanted, name)) for name in names}
    return {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}
