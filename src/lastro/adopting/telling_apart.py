"""
Telling apart what went wrong with a row that doesn't agree with its account. No database and no clock.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from decimal import Decimal
from typing import Any, NamedTuple

from lastro.adopting.words import Cause
from lastro.model.limits import BALANCE_MAX, BALANCE_MIN
from lastro.plans.plan import Row

# Factors by which one side's amounts are wrong where it takes minor units for major ones, or the other way round.
UNIT_FACTORS = (100, 1_000, 10_000)
EXPECTED_CHARACTERS_MAX = 255


class Seen(NamedTuple):
    """
    A row of the old table beside its account, in one snapshot: minor units on both sides.

    `units` is None where the column holds no amount (then `raw` is its text), `posted` where the row has no account.
    `agreed`: the amount of the last time that both sides agreed.
    """

    row_key: str
    ids: tuple[Any, ...]
    currency: str
    raw: str | None
    units: int | None
    account_id: int | None
    agreed: int
    account: str | None
    account_currency: str | None
    posted: int | None

    @property
    def agrees(self) -> bool:
        """Whether both sides say the same."""
        return self.units is not None and self.units == self.posted and self.currency == self.account_currency

    @property
    def in_other_currency(self) -> bool:
        """Whether the row names another currency than its account has."""
        return self.account_id is not None and self.currency != self.account_currency

    @property
    def expected(self) -> str | None:
        """What the column says, as it is stored with a difference."""
        said = self.raw if self.units is None else str(self.units)
        return None if said is None else said[:EXPECTED_CHARACTERS_MAX]

    def same_as(self, other: Seen) -> bool:
        """Whether nothing moved on either side between two looks."""
        return (self.units, self.raw, self.posted) == (other.units, other.raw, other.posted)


class Moved(NamedTuple):
    """
    An entry of an account: the change of its balance, and what it happened for.
    """

    signed: int
    cause: str | None


def read_seen(row: Row, ids: tuple[Any, ...]) -> Seen:
    """
    Return what a page found of one row.
    """
    posted = row["posted"]
    return Seen(
        row_key=row["row_key"],
        ids=ids,
        currency=row["currency"],
        raw=row["raw"],
        units=read_units(row["units"]),
        account_id=row["account_id"],
        agreed=row["agreed"] or 0,
        account=row["account"],
        account_currency=row["account_currency"],
        posted=None if posted is None else int(posted),
    )


def read_units(units: Any) -> int | None:
    """
    Return the minor units that a column holds; None where that is no whole number of them in the 64-bit range.
    """
    if units is None:
        return None
    number = Decimal(units)
    if not number.is_finite() or number != number.to_integral_value():
        return None
    return int(number) if BALANCE_MIN <= number <= BALANCE_MAX else None


def cause_of(seen: Seen, moved: Sequence[Moved]) -> Cause:
    """
    Return what by all signs went wrong since both sides last agreed; *moved* are the account's entries since then.

    An entry explains the difference where the ledger, without it or with it by another unit, would say what the column
    does. Where none of several does, it is `unclear` which of them, or which write without one, it was.
    """
    if seen.account_id is None:
        return "row_without_account"
    if seen.currency != seen.account_currency:
        return "currency_differs"
    if seen.units is None:
        return "unreadable_balance"
    assert seen.posted is not None, "an account has a balance"
    surplus = seen.posted - seen.units
    times = Counter(moved)
    if not moved:
        return "old_write_without_posting"
    if any(entry.signed == surplus and count > 1 for entry, count in times.items()):
        return "posted_twice"
    if any(_in_other_unit(entry.signed, surplus) for entry in times):
        return "unit_mismatch"
    if any(entry.signed == surplus for entry in times):
        return "posting_without_old_write"
    return "posted_other_amount" if len(moved) == 1 else "unclear"


def _in_other_unit(amount: int, surplus: int) -> bool:
    """Whether an entry of *amount* should have been one so many times larger, or smaller."""
    return any(
        surplus == amount - amount * factor or surplus * factor == amount * factor - amount for factor in UNIT_FACTORS
    )


def since_agreed(newest: Sequence[Moved], change: int) -> Sequence[Moved]:
    """
    Return those of an account's *newest* entries that make up its *change* since both sides last agreed.
    """
    if not change:
        return ()
    total = 0
    for place, entry in enumerate(newest, start=1):
        total += entry.signed
        if total == change:
            return newest[:place]
    return newest
