"""
Earning rules: how many points an activity gives, up to which cap in which period, and how long they last.
"""

from __future__ import annotations

import re
from datetime import datetime
from typing import Final, Literal, NamedTuple, TypeAlias, get_args

from lastro.errors import AmountOutOfRange, InvalidInput
from lastro.model.account import currency_code
from lastro.model.limits import UNLOCKED_AMOUNT_MAX
from lastro.model.periods import time_zone_name
from lastro.model.text import shown, text
from lastro.points.periods import PERIODS, Period

BeyondCap: TypeAlias = Literal["fit", "refuse"]
BEYOND_CAP: Final[tuple[BeyondCap, ...]] = get_args(BeyondCap)

RULE_CHARACTERS_MAX: Final = 64
ACTIVITY_KIND_CHARACTERS_MAX: Final = 64
# One earning stays within what is posted without locking the issuing account, on which every member meets.
EARNING_POINTS_MAX: Final = UNLOCKED_AMOUNT_MAX
CAP_POINTS_MAX: Final = 2**62
PRIORITY_MAX: Final = 1_000_000
LOT_DAYS_MAX: Final = 36_500
RULES_LISTED_MAX: Final = 1_000

# No colon and no digit first: a rule's name stands between colons in the keys of its movements, before a number.
_RULE_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*", re.ASCII)


class RuleTerms(NamedTuple):
    """
    What a rule says, without its version. `points` are given for each unit of an `activity`; 0 means it has ended.

    `cap`: how many points it gives at most to one member in one `period` of `time_zone`, None for no cap. `beyond_cap`:
    an activity that doesn't fit takes what still fits ("fit"), or is refused whole ("refuse"). `priority`: of several
    rules for one activity the highest posts first. `lot_days`: the points expire at the end of the local day so many
    days after the activity, None for never.
    """

    name: str
    activity: str
    points: int
    currency: str
    cap: int | None
    period: Period
    time_zone: str
    priority: int
    beyond_cap: BeyondCap
    lot_days: int | None


class Rule(NamedTuple):
    """
    A rule as it is stored: its terms, the version that they have, and when that was defined.
    """

    name: str
    activity: str
    points: int
    currency: str
    cap: int | None
    period: Period
    time_zone: str
    priority: int
    beyond_cap: BeyondCap
    lot_days: int | None
    version: int
    defined_at: datetime

    @property
    def terms(self) -> RuleTerms:
        """What the rule says, without its version."""
        return RuleTerms(**{field: getattr(self, field) for field in RuleTerms._fields})

    def room(self, used: int) -> int | None:
        """How many points still fit under the cap where *used* are taken; None where there is no cap."""
        return None if self.cap is None else max(0, self.cap - used)

    def fitting(self, asked: int, used: int) -> int:
        """How many of the points *asked* for are given where *used* of the cap are taken."""
        room = self.room(used)
        if room is None or asked <= room:
            return asked
        return room if self.beyond_cap == "fit" else 0


def rule_terms(
    *,
    name: object,
    activity: object,
    points: object,
    currency: object,
    cap: object,
    period: object,
    time_zone: object,
    priority: object,
    beyond_cap: object,
    lot_days: object,
) -> RuleTerms:
    """
    Check what a rule is to say; InvalidInput names the argument that is wrong.
    """
    if period not in PERIODS:
        raise InvalidInput(f"period is one of {', '.join(PERIODS)}; got {shown(period)}", argument="period")
    if beyond_cap not in BEYOND_CAP:
        raise InvalidInput(
            f"beyond_cap is one of {', '.join(BEYOND_CAP)}; got {shown(beyond_cap)}", argument="beyond_cap"
        )
    return RuleTerms(
        rule_name(name),
        activity_kind(activity),
        _within(points, 0, EARNING_POINTS_MAX, "points"),
        currency_code(currency),
        None if cap is None else _within(cap, 0, CAP_POINTS_MAX, "cap"),
        period,
        time_zone_name(time_zone),
        _within(priority, -PRIORITY_MAX, PRIORITY_MAX, "priority"),
        beyond_cap,
        None if lot_days is None else _within(lot_days, 1, LOT_DAYS_MAX, "lot_days"),
    )


def points_asked(rule: Rule, units: int) -> int:
    """
    Return what a rule gives for so many units before it is known how much of its cap is used. AmountOutOfRange beyond
    what one earning may be.
    """
    asked = rule.points * units
    if rule.cap is not None and rule.beyond_cap == "fit":
        # What never fits needn't be refused: one old activity would stop a rebuild for everybody.
        asked = min(asked, rule.cap)
    if asked > EARNING_POINTS_MAX:
        raise AmountOutOfRange(
            f"rule {rule.name!r} would give {asked} {rule.currency} for {units} units; one earning may be "
            f"{EARNING_POINTS_MAX}",
            rule=rule.name,
            asked=asked,
        )
    return asked


def rule_name(name: object, *, argument: str = "rule") -> str:
    """
    Return *name* if a rule may be called so: 1 … 64 of a–z, A–Z, 0–9, _ . and -, no digit, dot or dash first.
    """
    checked = text(name, argument=argument, characters_max=RULE_CHARACTERS_MAX)
    if not _RULE_NAME.fullmatch(checked):
        raise InvalidInput(
            f"{argument} has letters, digits, _ . and -, a letter or _ first; got {shown(checked)}", argument=argument
        )
    return checked


def activity_kind(kind: object) -> str:
    """
    Return *kind* if a kind of activity may be called so: 1 … 64 characters.
    """
    return text(kind, argument="activity", characters_max=ACTIVITY_KIND_CHARACTERS_MAX)


def _within(number: object, least: int, most: int, argument: str) -> int:
    if isinstance(number, bool) or not isinstance(number, int) or not least <= number <= most:
        raise InvalidInput(
            f"{argument} must be a whole number from {least} to {most}; got {shown(number)}", argument=argument
        )
    return number
