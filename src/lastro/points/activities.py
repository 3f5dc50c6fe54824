"""
Activity: what a member did, what it earned by which rule, and how both are read from their rows.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final, NamedTuple

from lastro.errors import ActivityConflict, InvalidInput
from lastro.model.account import WORLD, account_name
from lastro.model.limits import ACTOR_CHARACTERS_MAX, CAUSE_CHARACTERS_MAX
from lastro.model.moment import optional_utc
from lastro.model.text import optional_text, shown, text
from lastro.plans.plan import Plan, Row, Rows, step
from lastro.plans.stored import whole
from lastro.points.rules import activity_kind

# An activity's key is the cause of its movements, so that `entries` and the view `movement` find them by it.
ACTIVITY_KEY_CHARACTERS_MAX: Final = CAUSE_CHARACTERS_MAX
UNITS_MAX: Final = 2**31 - 1
# Names that mean something to the points ledger: its own accounts, and members who were erased.
RESERVED: Final = ("points:", "erased:")


class Doing(NamedTuple):
    """
    An activity that somebody reports, checked. Without `occurred_at` it is the moment of recording.
    """

    key: str
    kind: str
    member: str
    units: int
    occurred_at: datetime | None
    actor: str | None


class Movement(NamedTuple):
    """
    One movement of what an activity earned by a rule: below zero where points were taken back. `left` of a movement
    above zero was not taken back yet. `number` stands in the key of its transfer.
    """

    activity_id: int
    rule: str
    number: int
    version: int
    transfer_id: int
    amount: int
    currency: str
    left: int


class Earning(NamedTuple):
    """
    What an activity has earned by one rule, in points of `currency`: all of its movements together, as they stand.
    `version` is the rule's that spoke last.
    """

    rule: str
    version: int
    amount: int
    currency: str


class Activity(NamedTuple):
    """
    What a member did, as it is stored, and what it has earned. Moments in UTC.
    """

    key: str
    kind: str
    member: str
    units: int
    occurred_at: datetime
    recorded_at: datetime
    cancelled_at: datetime | None
    earnings: tuple[Earning, ...]


class Earned(NamedTuple):
    """
    The outcome of `earn`: the activity with its earnings, and whether it was there already (`replayed`).
    """

    activity: Activity
    replayed: bool

    @property
    def earnings(self) -> tuple[Earning, ...]:
        """What the activity has earned, one for each rule that gave something."""
        return self.activity.earnings


class Cancelled(NamedTuple):
    """
    The outcome of `cancel`: the activity, what was taken back by rule (as positive amounts), and whether that had been
    done before (`replayed`, and nothing taken now).
    """

    activity: Activity
    taken: tuple[Earning, ...]
    replayed: bool


class Stored(NamedTuple):
    """
    An activity with the ids that its rows hang on.
    """

    id: int
    member_id: int
    activity: Activity


def doing(*, key: object, activity: object, member: object, units: object, occurred_at: object, actor: object) -> Doing:
    """
    Check what a caller reports; InvalidInput names the argument that is wrong.
    """
    if isinstance(units, bool) or not isinstance(units, int) or not 1 <= units <= UNITS_MAX:
        raise InvalidInput(f"units must be a whole number from 1 to {UNITS_MAX}; got {shown(units)}", argument="units")
    return Doing(
        activity_key(key),
        activity_kind(activity),
        member_name(member),
        units,
        optional_utc(occurred_at, argument="occurred_at"),
        optional_text(actor, argument="actor", characters_max=ACTOR_CHARACTERS_MAX),
    )


def activity_key(key: object) -> str:
    """
    Return *key* if it can name an activity: 1 … 255 characters.
    """
    return text(key, argument="key", characters_max=ACTIVITY_KEY_CHARACTERS_MAX)


def member_name(name: object, *, argument: str = "member") -> str:
    """
    Return *name* if a member may be called so: what an account may be called, but for the ledger's own names.
    """
    checked = account_name(name, argument=argument)
    if checked == WORLD or checked.startswith(RESERVED):
        raise InvalidInput(
            f"{argument} {shown(checked)} is one of the ledger's own names ({WORLD}, {', '.join(RESERVED)})",
            argument=argument,
        )
    return checked


def find_activity(key: str) -> Plan[Stored | None]:
    """
    Return the activity that holds *key*, with what it has earned, or None.
    """
    rows = yield step("points_earning.activity", key=key)
    if not rows:
        return None
    found = rows[0]
    moved = yield from movements_of(found["id"])
    return Stored(found["id"], found["member_id"], read_activity(found, earnings(moved)))


def read(key: str) -> Plan[Activity | None]:
    """
    Return the activity that holds *key* as it stands, or None. Locks nothing.
    """
    found = yield from find_activity(key)
    return None if found is None else found.activity


def movements_of(activity_id: int) -> Plan[list[Movement]]:
    """
    Return every movement of what an activity earned, by rule and in the order in which they were made.
    """
    rows = yield step("points_earning.movements", activity_id=activity_id)
    return read_movements(rows)


def read_movements(rows: Rows) -> list[Movement]:
    """
    Return rows of `earning`, joined with their rule and with what was reversed, as Movements.
    """
    return [
        Movement(
            row["activity_id"],
            row["rule"],
            row["number"],
            row["version"],
            row["transfer_id"],
            row["amount"],
            row["currency"],
            max(0, row["amount"] - whole(row, "already")),
        )
        for row in rows
    ]


def earnings(moved: list[Movement]) -> tuple[Earning, ...]:
    """
    Add movements up by rule; a rule whose movements come to nothing has given nothing.
    """
    by_rule: dict[str, Earning] = {}
    for movement in moved:
        before = by_rule.get(movement.rule)
        amount = movement.amount + (before.amount if before else 0)
        by_rule[movement.rule] = Earning(movement.rule, movement.version, amount, movement.currency)
    return tuple(earning for earning in by_rule.values() if earning.amount)


def read_activity(row: Row, earned: tuple[Earning, ...]) -> Activity:
    """
    Return a row of `activity` with its member's name as an Activity.
    """
    cancelled_at = row["cancelled_at"]
    return Activity(
        key=row["key"],
        kind=row["kind"],
        member=row["member"],
        units=row["units"],
        occurred_at=row["occurred_at"].astimezone(UTC),
        recorded_at=row["recorded_at"].astimezone(UTC),
        cancelled_at=None if cancelled_at is None else cancelled_at.astimezone(UTC),
        earnings=earned,
    )


def refuse_other(stored: Activity, asked: Doing) -> None:
    """
    Raise ActivityConflict where the key names another activity than the one that is reported.
    """
    fields = {
        field: (there, given)
        for field, there, given in (
            ("activity", stored.kind, asked.kind),
            ("member", stored.member, asked.member),
            ("units", stored.units, asked.units),
            ("occurred_at", stored.occurred_at, asked.occurred_at or stored.occurred_at),
        )
        if there != given
    }
    if fields:
        differences = "; ".join(
            f"{field}: stored {there!s}, given {given!s}" for field, (there, given) in fields.items()
        )
        raise ActivityConflict(
            f"key {asked.key!r} already names another activity ({differences}); one key names one activity: find out "
            "which of the two is meant before anything else is earned",
            key=asked.key,
            fields=fields,
        )
