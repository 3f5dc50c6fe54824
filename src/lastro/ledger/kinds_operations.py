"""
What can be asked about kinds, checked: registering and reading them, and single-entry postings against the world.
"""

from __future__ import annotations

from typing import Any

from lastro.errors import InvalidInput
from lastro.ledger.asking import Ask, Asks
from lastro.model.account import WORLD
from lastro.model.kind import Kind, checked_kinds
from lastro.model.transfer import Posted, intent
from lastro.plans import kinds as kind_plans
from lastro.plans import posting
from lastro.plans.course import Course
from lastro.plans.plan import Effect


class AsksKinds(Asks):
    """
    What can be asked of a ledger's kinds.
    """

    def kinds(self) -> Ask[list[Kind]]:
        """Ask for the registered kinds."""
        return Ask(lambda: kind_plans.list_kinds(self.kinds_known), Effect.READ)

    def register_kinds(self, kinds: object) -> Course[list[str]]:
        """Ask to register kinds."""
        return kind_plans.register_kinds(checked_kinds(kinds), self.kinds_known, now=self.now())

    def credit(self, account: object, currency: object, **wanted: Any) -> Ask[Posted]:
        """Ask to credit an account out of the world."""
        checked, terms = intent(debit=WORLD, credit=account, currency=currency, **wanted), self.terms()
        return Ask(lambda: posting.post(checked, terms), Effect.KEYED)

    def debit(self, account: object, currency: object, *, overdraw: object, **wanted: Any) -> Ask[Posted]:
        """Ask to debit an account to the world."""
        if not isinstance(overdraw, bool):
            raise InvalidInput(f"overdraw is True or False; got {overdraw!r}", argument="overdraw")
        checked, terms = intent(debit=account, credit=WORLD, currency=currency, **wanted), self.terms()
        return Ask(lambda: posting.post(checked, terms, floor_guarded=not overdraw), Effect.KEYED)
