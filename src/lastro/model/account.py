"""
An account: who holds a balance, in which currency, how low it may go, and how its balance is kept.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

from lastro.errors import InvalidInput
from lastro.model.currencies import ACTIVE
from lastro.model.limits import ACCOUNT_CHARACTERS_MAX, CURRENCY_CHARACTERS_MAX
from lastro.model.money import minor_units
from lastro.model.text import text

Keeping: TypeAlias = Literal["direct", "hot", "summed"]
State: TypeAlias = Literal["open", "turning", "closed"]

KEEPINGS: tuple[Keeping, ...] = get_args(Keeping)

# The other side of a single-entry posting: outside the books, so it has no floor and no balance row is written for it.
WORLD = "world"


class Facts(NamedTuple):
    """
    What a posting must know of an account before it picks a statement; the statement checks it again as it writes.
    """

    id: int
    name: str
    currency: str
    keeping: Keeping
    state: State
    floor: int | None


class Account(NamedTuple):
    """
    An account as its owner sees it. `floor` is in minor units; None means that it may go below any amount.
    """

    name: str
    currency: str
    keeping: Keeping
    floor: int | None
    opened_at: datetime
    closed_at: datetime | None
    metadata: dict[str, Any] | None


class Balance(NamedTuple):
    """
    What is booked, what is set aside, and what is free, read in one snapshot. Minor units of `currency`.
    """

    account: str
    currency: str
    posted: int
    held: int
    available: int


def account_name(name: object, *, argument: str = "account") -> str:
    """
    Return *name* if an account may be called so: 1 … 340 characters. Case, blanks and Unicode form all tell apart.
    """
    return text(name, argument=argument, characters_max=ACCOUNT_CHARACTERS_MAX)


def currency_code(currency: object) -> str:
    """
    Return *currency* if it can be one: 1 … 32 characters, an ISO 4217 code or a unit of your own such as POINTS.
    """
    checked = text(currency, argument="currency", characters_max=CURRENCY_CHARACTERS_MAX)
    if checked not in ACTIVE and checked.upper() in ACTIVE:
        # Two currencies, BRL and brl, would be two worlds of money that never meet.
        raise InvalidInput(f"currency {checked!r} is written {checked.upper()!r}", argument="currency")
    return checked


def keeping_word(keeping: object) -> Keeping:
    """
    Return *keeping* if it is one of direct, hot and summed.
    """
    for known in KEEPINGS:
        if keeping == known:
            return known
    raise InvalidInput(f"keeping is one of {', '.join(KEEPINGS)}; got {keeping!r}", argument="keeping")


def floor_amount(floor: object) -> int | None:
    """
    Return *floor* if it can be one: an integer of minor units in the 64-bit range, or None for no floor.
    """
    return None if floor is None else minor_units(floor, name="floor")
