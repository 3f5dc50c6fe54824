"""
Lots: in which order points go, and the steps that open, take and put back what is left of each lot.

Whoever calls these plans holds the base row of each account concerned: that lock guards its lots. Of an open account the
open lots always add up to what it has posted, or to nothing while it is in debt: a debit that no lot covers is debt, and
a credit pays the debt before its lot holds anything.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from lastro.errors import InvalidInput, UnknownTransfer, UnreadableRow
from lastro.model.text import shown
from lastro.model.transfer import Transfer
from lastro.plans.accounts import get_account
from lastro.plans.plan import Plan, Row, step
from lastro.plans.stored import whole

# Which lots a debit takes from first: those that expire soonest (what never expires last, and of equals the oldest);
# those earned first; those earned last.
Policy: TypeAlias = Literal["soonest", "oldest", "newest"]
POLICIES: Final[tuple[Policy, ...]] = ("soonest", "oldest", "newest")

# Lots that one statement reads and takes from. A debit of a hundred thousand small lots is a hundred such rounds.
LOTS_TAKEN_MAX: Final = 1_000
# Beyond every number that a use within its transfer can have.
LOT_NUMBER_MAX: Final = 2**31 - 1
# Outside all moments that a caller may give, and still in the calendar.
BEFORE_ALL: Final = datetime(1, 1, 1, tzinfo=UTC)
NEVER: Final = datetime(9999, 12, 31, tzinfo=UTC)


class Lot(NamedTuple):
    """
    A lot that still holds points: `left_over` of them, earned at one moment, gone at `expires_at` (None: never).

    A lot is named by the transfer that brought it and its part: a gift out of several lots makes several parts.
    """

    account_id: int
    transfer_id: int
    part: int
    left_over: int
    earned_at: datetime
    expires_at: datetime | None


class Use(NamedTuple):
    """
    What a debit took out of one lot.
    """

    lot: Lot
    amount: int


class Numbered(NamedTuple):
    """
    A use as it is written: by which transfer, and which of its uses.
    """

    transfer_id: int
    number: int
    use: Use


class Credit(NamedTuple):
    """
    Points that came to an account by a transfer, for a lot of their own. `part` tells several of one transfer apart.
    """

    account_id: int
    transfer_id: int
    amount: int
    earned_at: datetime
    expires_at: datetime | None
    part: int = 1


def policy_word(policy: object) -> Policy:
    """
    Return *policy* if it is one of POLICIES.
    """
    if policy not in POLICIES:
        raise InvalidInput(f"policy is one of {', '.join(POLICIES)}; got {shown(policy)}", argument="policy")
    return policy


def take_from(lots: Iterable[Lot], amount: int) -> list[Use]:
    """
    Return what *amount* takes from *lots*, in their order; less than the amount where they don't hold so much.
    """
    uses: list[Use] = []
    for lot in lots:
        if amount == 0:
            break
        taken = min(lot.left_over, amount)
        uses.append(Use(lot, taken))
        amount -= taken
    return uses


def total(uses: Iterable[Use]) -> int:
    """
    Return what *uses* add up to.
    """
    return sum(use.amount for use in uses)


def open_lots(brought: Sequence[Credit], *, posted_before: int, after_number: int = 0) -> Plan[None]:
    """
    Open a lot for each of *brought* in one account, which had *posted_before*; what it owed is paid out of them first.

    All came with one transfer. What the debt took of them stands as a use by that transfer itself.
    """
    yield step(
        "points_lots.open",
        transfer_id=brought[0].transfer_id,
        account_id=brought[0].account_id,
        parts=[credit.part for credit in brought],
        amounts=[credit.amount for credit in brought],
        earned_ats=[credit.earned_at for credit in brought],
        expires_ats=[credit.expires_at for credit in brought],
    )
    opened = [
        Lot(credit.account_id, credit.transfer_id, credit.part, credit.amount, credit.earned_at, credit.expires_at)
        for credit in brought
    ]
    yield from pay_debt(opened, brought[0].transfer_id, posted_before=posted_before, after_number=after_number)


def pay_debt(lots: Sequence[Lot], transfer_id: int, *, posted_before: int, after_number: int) -> Plan[None]:
    """
    Let the transfer that brought *lots* to an account pay what the account owed, those first that go soonest.
    """
    if posted_before < 0:
        yield from note_uses(take_from(sorted(lots, key=_soonest), -posted_before), transfer_id, after_number)


def take(
    account_id: int,
    transfer_id: int,
    amount: int,
    *,
    policy: Policy = "soonest",
    own: int | None = None,
    now: datetime | None = None,
    unexpired_only: bool = False,
    after_number: int = 0,
) -> Plan[list[Use]]:
    """
    Take *amount* out of an account's lots for the debit *transfer_id*, by *policy*, and return from which; what they
    don't cover is debt.

    *own* is a transfer whose lots go first (a cancellation takes back what it gave). *unexpired_only* leaves what is due
    to the expirer. The uses are numbered from *after_number* + 1. Reads the account's open lots, and writes those it
    takes from, LOTS_TAKEN_MAX at a time.
    """
    uses: list[Use] = []
    if own is not None:
        rows = yield step("points_lots.of_transfer", account_id=account_id, transfer_id=own)
        uses = take_from(sorted(map(read_lot, rows), key=_soonest), amount)
        yield from note_uses(uses, transfer_id, after_number)
    while (missing := amount - total(uses)) > 0:
        rows = yield step(
            f"points_lots.{policy}",
            account_id=account_id,
            unexpired_only=unexpired_only,
            now=now,
            lots_max=LOTS_TAKEN_MAX,
        )
        more = take_from(map(read_lot, rows), missing)
        yield from note_uses(more, transfer_id, after_number + len(uses))
        uses += more
        if len(rows) < LOTS_TAKEN_MAX:
            break
    return uses


def put_back(spend: Transfer, refund_id: int, amount: int, *, already: int) -> Plan[list[Use]]:
    """
    Put *amount* of what a spend took back into the lots it came from, last taken first, after *already* was put back.

    The refund notes it below zero. Returns what was put back; LOTS_TAKEN_MAX lots at a time.
    """
    back: list[Use] = []
    before_number = LOT_NUMBER_MAX
    while (missing := amount - total(back)) > 0:
        rows = yield step(
            "points_lots.uses_before", transfer_id=spend.id, before_number=before_number, lots_max=LOTS_TAKEN_MAX
        )
        if not rows and before_number == LOT_NUMBER_MAX:
            raise UnknownTransfer(
                f"the transfer with the key {spend.key!r} took nothing from a member's lots: it was posted, and not spent "
                "by ledger.points; it is undone by a reversal",
                key=spend.key,
            )
        if not rows:
            raise UnreadableRow(
                f"transfer {spend.id} took fewer points from lots than are to be put back into them ({missing} are "
                "missing); somebody wrote past this library: compare its lot_use rows with its amount",
                column="amount",
            )
        skipped = take_from(map(_as_taken, rows), already)
        already -= total(skipped)
        more = take_from(_without(map(_as_taken, rows), skipped), missing)
        if more:
            yield step("points_lots.put_back", uses=_as_json(numbered(more, refund_id, len(back))))
        back += more
        before_number = rows[-1]["number"]
    return back


def _without(lots: Iterable[Lot], uses: Sequence[Use]) -> Iterator[Lot]:
    # The first lots are those that were used, in their order; only the last of them may have something left.
    gone = [use.amount for use in uses]
    for place, lot in enumerate(lots):
        left_over = lot.left_over - (gone[place] if place < len(gone) else 0)
        if left_over:
            yield lot._replace(left_over=left_over)


def _as_taken(row: Row) -> Lot:
    # What a spend took of a lot, as a lot of its own to be given back.
    return read_lot({**row, "left_over": row["amount"]})


def note_uses(uses: Sequence[Use], transfer_id: int, after_number: int) -> Plan[None]:
    """
    Write what *transfer_id* took: numbered from *after_number* + 1, and gone from the open lots.
    """
    yield from note_all(numbered(uses, transfer_id, after_number))


def numbered(uses: Iterable[Use], transfer_id: int, after_number: int) -> list[Numbered]:
    """
    Give *uses* their numbers within a transfer.
    """
    return [Numbered(transfer_id, number, use) for number, use in enumerate(uses, start=after_number + 1)]


def note_all(uses: Sequence[Numbered]) -> Plan[None]:
    """
    Write uses by several transfers, each with its transfer and its number there.
    """
    if not uses:
        return
    rows = yield step("points_lots.use", uses=_as_json(uses))
    assert rows[0]["met"] == len(uses), "lots change under the lock of their account, and this one isn't as read"


def _as_json(uses: Sequence[Numbered]) -> str:
    # One text that every store can take apart: the same columns as lists of their own would be six parameters.
    return json.dumps(
        [
            (transfer_id, number, use.lot.account_id, use.lot.transfer_id, use.lot.part, use.amount)
            for transfer_id, number, use in uses
        ]
    )


class InLots(NamedTuple):
    """
    What an account's open lots add up to, how much of that is due, and whether the other account is a member's.
    """

    points: int
    due: int
    other_is_members: bool


def in_lots(account_id: int, *, other_id: int, now: datetime | None) -> Plan[InLots]:
    """
    Add up an account's open lots: what is past its expiry is due and waits for the expirer.
    """
    rows = yield step("points_lots.standing", account_id=account_id, other_id=other_id, now=now)
    return InLots(whole(rows[0], "in_lots"), whole(rows[0], "due"), bool(rows[0]["other_is_members"]))


def list_lots(name: str, currency: str, *, after: Lot | None, lots_max: int) -> Plan[list[Lot]]:
    """
    Return a page of an account's open lots in the order in which they expire, those after *after*. Locks nothing.
    """
    rows = yield step(
        "points_lots.list",
        name=name,
        currency=currency,
        never=NEVER,
        after_expires_at=BEFORE_ALL if after is None else after.expires_at or NEVER,
        after_earned_at=BEFORE_ALL if after is None else after.earned_at,
        after_transfer_id=0 if after is None else after.transfer_id,
        after_part=0 if after is None else after.part,
        lots_max=lots_max,
    )
    if not rows:
        # UnknownAccount, rather than no lots, for a name that was mistyped.
        yield from get_account(name, currency)
    return [read_lot(row) for row in rows]


def read_lot(row: Row) -> Lot:
    """
    Return a row of the open lots.
    """
    if type(row["left_over"]) is not int or row["left_over"] <= 0:
        raise UnreadableRow(
            f"lot {row['transfer_id']}.{row['part']} holds {row['left_over']!r}, which is not a positive integer; "
            "somebody wrote past this library: look at the row before anything else is taken from it",
            column="left_over",
        )
    return Lot(
        row["account_id"],
        row["transfer_id"],
        row["part"],
        row["left_over"],
        row["earned_at"].astimezone(UTC),
        None if row["expires_at"] is None else row["expires_at"].astimezone(UTC),
    )


def _soonest(lot: Lot) -> tuple[Any, ...]:
    return (lot.expires_at is None, lot.expires_at or lot.earned_at, lot.earned_at, lot.transfer_id, lot.part)
