"""
What can be asked about holds: input checked, and the plan to run for it. Blocking and awaiting ledgers share it.
"""

from __future__ import annotations

from typing import Any

from lastro.errors import InvalidInput
from lastro.ledger.asking import Ask, Asks, limit_within
from lastro.model.account import account_name, currency_code
from lastro.model.hold import BETTING_OWNER, Captured, Hold, HoldEvent, Placed, Released, hold_intent
from lastro.model.limits import (
    ACTOR_CHARACTERS_MAX,
    CAUSE_CHARACTERS_MAX,
    GROUP_CHARACTERS_MAX,
    GROUP_HOLDS_MAX,
    HOLDS_LISTED_MAX,
    KEY_CHARACTERS_MAX,
    OWNER_CHARACTERS_MAX,
    SOURCE_CHARACTERS_MAX,
)
from lastro.model.moment import optional_utc
from lastro.model.text import optional_text, shown, text
from lastro.model.transfer import Intent, intent, transfer_amount, transfer_key
from lastro.plans import capturing, expiring, grouping, holds, placing, releasing
from lastro.plans.course import Course
from lastro.plans.ending import Notes
from lastro.plans.expiring import AfterBatch, HoldsExpired
from lastro.plans.plan import Effect
from lastro.plans.releasing import ReleaseIntent

# The transfers and releases of a group share a key, each with its place behind it: `…:100`.
GROUP_KEY_CHARACTERS_MAX = KEY_CHARACTERS_MAX - len(f":{GROUP_HOLDS_MAX}")


class HoldOperations(Asks):
    """
    What can be asked about the holds of one ledger.
    """

    def place_hold(self, **wanted: Any) -> Ask[Placed]:
        """Ask to set money aside."""
        checked, terms = hold_intent(**wanted), self.terms()
        if checked.owner == BETTING_OWNER:
            raise InvalidInput(
                f"the owner {BETTING_OWNER!r} is kept for the stakes of bets; give this hold another", argument="owner"
            )
        return Ask(lambda: placing.place(checked, terms), Effect.KEYED)

    def capture(self, *, hold: object, amount: object, final: object, **wanted: Any) -> Ask[Captured]:
        """Ask to transfer money that was set aside."""
        hold_key, checked, terms = transfer_key(hold, argument="hold"), _capture(amount, **wanted), self.terms()
        is_final = _flag(final, "final")
        return Ask(
            lambda: capturing.capture(hold_key, checked, terms, whole_rest=amount is None, final=is_final),
            Effect.KEYED,
        )

    def release(self, *, hold: object, amount: object, key: object, **notes: Any) -> Ask[Released]:
        """Ask to give back money that was set aside."""
        hold_key, terms = transfer_key(hold, argument="hold"), self.terms()
        wanted = ReleaseIntent(transfer_key(key), None if amount is None else transfer_amount(amount), _notes(**notes))
        return Ask(lambda: releasing.release(hold_key, wanted, terms), Effect.KEYED)

    def capture_group(self, *, group: object, key: object, **wanted: Any) -> Ask[list[Captured]]:
        """Ask to capture every open hold of a group."""
        name, terms = _group(group), self.terms()
        checked = _capture(None, key=_group_key(key), **wanted)
        return Ask(lambda: grouping.capture_group(name, checked, terms), Effect.KEYED)

    def release_group(self, *, group: object, key: object, **notes: Any) -> Ask[list[Released]]:
        """Ask to release every open hold of a group."""
        name, terms = _group(group), self.terms()
        wanted = ReleaseIntent(_group_key(key), None, _notes(**notes))
        return Ask(lambda: grouping.release_group(name, wanted, terms), Effect.KEYED)

    def hold(self, key: object) -> Ask[Hold]:
        """Ask for a hold by its key."""
        checked = transfer_key(key)
        return Ask(lambda: holds.get_hold(checked), Effect.READ)

    def hold_events(self, key: object) -> Ask[list[HoldEvent]]:
        """Ask what became of a hold."""
        checked = transfer_key(key)
        return Ask(lambda: holds.hold_events(checked), Effect.READ)

    def holds(self, name: object, currency: object, *, after: object, limit: int) -> Ask[list[Hold]]:
        """Ask for a page of an account's open holds."""
        checked_name, checked_currency = account_name(name), currency_code(currency)
        checked_after = None if after is None else transfer_key(after, argument="after")
        checked_limit = limit_within(limit, HOLDS_LISTED_MAX)
        return Ask(
            lambda: holds.list_holds(checked_name, checked_currency, after=checked_after, limit=checked_limit),
            Effect.READ,
        )

    def overdue_holds(self, *, owner: object, after: object, limit: int) -> Ask[list[Hold]]:
        """Ask for a page of the holds past their deadline that their owner wants listed."""
        checked_owner = optional_text(owner, argument="owner", characters_max=OWNER_CHARACTERS_MAX)
        checked_after = None if after is None else transfer_key(after, argument="after")
        checked_limit, now = limit_within(limit, HOLDS_LISTED_MAX), self.now()
        return Ask(
            lambda: holds.overdue_holds(owner=checked_owner, after=checked_after, limit=checked_limit, now=now),
            Effect.READ,
        )

    def guard_hold(self, key: object, *, until: object) -> Ask[Hold]:
        """Ask to keep the expirer from a hold."""
        checked, moment, terms = transfer_key(key), optional_utc(until, argument="until"), self.terms()
        return Ask(lambda: holds.guard_hold(checked, until=moment, terms=terms), Effect.KEYED)

    def expire_holds(self, *, after_batch: AfterBatch | None) -> Course[HoldsExpired]:
        """Ask to expire what is due."""
        return expiring.expire_holds(now=self.now(), after_batch=after_batch)


def _capture(amount: object, *, key: object, credit: object, **wanted: Any) -> Intent:
    # The hold says which account and which currency; the checks of a posting want some to look at.
    return intent(
        key=key,
        credit=credit,
        debit="debit" if credit != "debit" else "hold",
        currency="-",
        amount=1 if amount is None else amount,
        **wanted,
    )


def _notes(*, cause: object, source: object, actor: object) -> Notes:
    return Notes(
        optional_text(cause, argument="cause", characters_max=CAUSE_CHARACTERS_MAX),
        optional_text(source, argument="source", characters_max=SOURCE_CHARACTERS_MAX),
        optional_text(actor, argument="actor", characters_max=ACTOR_CHARACTERS_MAX),
    )


def _group(group: object) -> str:
    return text(group, argument="group", characters_max=GROUP_CHARACTERS_MAX)


def _group_key(key: object) -> str:
    return text(key, argument="key", characters_max=GROUP_KEY_CHARACTERS_MAX)


def _flag(value: object, argument: str) -> bool:
    if not isinstance(value, bool):
        raise InvalidInput(f"{argument} must be True or False; got {shown(value)}", argument=argument)
    return value
