"""
What can be asked of members' points and their lots: input checked, and the plan to run for it.
"""

from __future__ import annotations

from typing import Any

from lastro.errors import InvalidInput
from lastro.ledger.asking import Ask, Asks, limit_within
from lastro.model.account import account_name, currency_code
from lastro.model.text import shown
from lastro.model.transfer import Intent, Posted, intent, transfer_amount, transfer_key
from lastro.plans.course import Course
from lastro.plans.plan import Effect
from lastro.points import erasing, expiring, spending
from lastro.points.activities import member_name
from lastro.points.erasing import Erased
from lastro.points.expiring import LOTS_EXPIRED_MAX, AfterBatch, Expired
from lastro.points.lots import Lot, list_lots, policy_word

LOTS_LISTED_MAX = 1_000


class LotAsks:
    """
    The requests about lots, under the terms of one ledger.
    """

    def __init__(self, asks: Asks) -> None:
        self._asks = asks

    def spend(self, *, member: object, reward: object, policy: object, **wanted: Any) -> Ask[Posted]:
        """Ask to spend a member's points on a reward."""
        checked = _movement(spending.SPEND, member_name(member), account_name(reward, argument="reward"), wanted)
        checked_policy, terms = policy_word(policy), self._asks.terms()
        return Ask(lambda: spending.spend(checked, terms, policy=checked_policy), Effect.KEYED)

    def give(self, *, giver: object, receiver: object, policy: object, **wanted: Any) -> Ask[Posted]:
        """Ask to give a member's points to another member."""
        from_whom, to_whom = member_name(giver, argument="giver"), member_name(receiver, argument="receiver")
        if from_whom == to_whom:
            raise InvalidInput(
                f"giver and receiver are both {shown(giver)}; a gift is for somebody else", argument="receiver"
            )
        checked = _movement(spending.GIVE, from_whom, to_whom, wanted)
        checked_policy, terms = policy_word(policy), self._asks.terms()
        return Ask(lambda: spending.give(checked, terms, policy=checked_policy), Effect.KEYED)

    def refund(self, *, key: object, spend: object, amount: object, occurred_at: object, **notes: Any) -> Ask[Posted]:
        """Ask to put a spend back, wholly or in part."""
        spend_key, terms = transfer_key(spend), self._asks.terms()
        # The spend says which accounts and which currency; the checks of a posting want some to look at.
        checked = intent(
            key=key,
            kind=spending.REFUND,
            debit="debit",
            credit="credit",
            currency="-",
            amount=1 if amount is None else transfer_amount(amount),
            occurred_at=occurred_at,
            **notes,
        )
        return Ask(lambda: spending.refund(spend_key, checked, terms, whole_rest=amount is None), Effect.KEYED)

    def erase(self, member: object) -> Ask[Erased]:
        """Ask to erase a member. A second run would find nobody, so that a lost answer is told and not asked for again."""
        name, terms = member_name(member), self._asks.terms()
        return Ask(lambda: erasing.erase(name, terms), Effect.ONCE)

    def expire(self, *, after_batch: AfterBatch | None, lots_max: int = LOTS_EXPIRED_MAX) -> Course[Expired]:
        """Ask to expire what is due."""
        return expiring.expire(self._asks.terms(), lots_max=lots_max, after_batch=after_batch)

    def lots(self, member: object, currency: object, *, after: object, limit: object) -> Ask[list[Lot]]:
        """Ask for a page of a member's open lots."""
        name, checked_currency = member_name(member), currency_code(currency)
        if after is not None and not isinstance(after, Lot):
            raise InvalidInput(f"after is a lot of the page before; got {shown(after)}", argument="after")
        lots_max = limit_within(limit, LOTS_LISTED_MAX)
        return Ask(lambda: list_lots(name, checked_currency, after=after, lots_max=lots_max), Effect.READ)


def _movement(kind: str, debit: str, credit: str, wanted: dict[str, Any]) -> Intent:
    return intent(kind=kind, debit=debit, credit=credit, **wanted)
