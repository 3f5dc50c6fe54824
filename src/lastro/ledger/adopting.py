"""
What can be asked of a ledger's adoptions: input checked, and the plan or course for it. Blocking and awaiting share it.
"""

from __future__ import annotations

from functools import partial
from typing import Protocol

from lastro.adopting import records
from lastro.adopting.adjusting import adjust
from lastro.adopting.admitting import admit
from lastro.adopting.comparing import compare
from lastro.adopting.declaration import adoption_name, checked_column
from lastro.adopting.ending import abandon, finish
from lastro.adopting.importing import AfterRows, import_rows
from lastro.adopting.mirroring import mirror
from lastro.adopting.surveying import survey
from lastro.adopting.switching import cut_over, roll_back, shadow
from lastro.adopting.tallying import AfterPage
from lastro.adopting.values import Adoption, AdoptionEvent, AdoptionReport, AdoptionSurvey, Difference
from lastro.adopting.words import Phase
from lastro.ledger.asking import Ask, Asks, limit_within, positive
from lastro.model.limits import (
    ACTOR_CHARACTERS_MAX,
    ADOPTION_DIFFERENCES_MAX,
    ADOPTION_EVENTS_MAX,
    ADOPTIONS_LISTED_MAX,
    REASON_CHARACTERS_MAX,
    ROW_KEY_CHARACTERS_MAX,
)
from lastro.model.text import optional_text, text
from lastro.plans.course import Course
from lastro.plans.plan import Effect, Plan
from lastro.plans.transfers import Terms


class _Switch(Protocol):
    """A change of the phase, or what it would come to."""

    def __call__(
        self, name: str, ledger: str, terms: Terms, *, actor: str | None, dry_run: bool
    ) -> Course[AdoptionReport]:
        """Return its course."""
        ...


class AdoptingAsks:
    """
    The requests about adoptions, under the terms of one ledger.
    """

    def __init__(self, asks: Asks) -> None:
        self._asks = asks

    def survey(self, column: object) -> Ask[AdoptionSurvey]:
        """Ask what is in the old table."""
        checked = checked_column(column)
        return Ask(lambda: survey(checked), Effect.READ)

    def names(self) -> Ask[list[str]]:
        """Ask which adoptions there are."""
        return Ask(lambda: records.listed(limit=ADOPTIONS_LISTED_MAX), Effect.READ)

    def status(self, name: object) -> Ask[Adoption]:
        """Ask where an adoption stands."""
        checked, now, ledger = adoption_name(name), self._asks.now(), self._asks.ledger

        def plan() -> Plan[Adoption]:
            standing = yield from records.known(checked)
            return (yield from records.adoption(standing, ledger, now))

        return Ask(plan, Effect.READ)

    def phase(self, name: object) -> Ask[Phase]:
        """Ask for the phase of an adoption, and hold it."""
        checked = adoption_name(name)
        # It takes a lock, and on SQLite the write lock before anything is read: so it counts as a writing.
        return Ask(lambda: records.to_act_by(checked), Effect.KEYED)

    def differences(self, name: object, *, limit: object) -> Ask[list[Difference]]:
        """Ask what is different now."""
        checked, rows = adoption_name(name), limit_within(limit, ADOPTION_DIFFERENCES_MAX)
        return Ask(lambda: records.differences(checked, limit=rows), Effect.READ)

    def events(self, name: object, *, limit: object) -> Ask[list[AdoptionEvent]]:
        """Ask what was done and found."""
        checked, rows = adoption_name(name), limit_within(limit, ADOPTION_EVENTS_MAX)
        return Ask(lambda: records.events(checked, limit=rows), Effect.READ)

    def import_rows(self, column: object, *, actor: object, after_rows: AfterRows | None) -> Course[AdoptionReport]:
        """Ask to import opening balances."""
        return import_rows(
            checked_column(column), self._asks.ledger, self._asks.terms(), actor=_actor(actor), after_rows=after_rows
        )

    def shadow(self, name: object, *, actor: object, dry_run: bool) -> Course[AdoptionReport]:
        """Ask to begin the shadow phase."""
        return self._switching(shadow, name, actor=actor, dry_run=dry_run)

    def compare(self, name: object, *, after_page: AfterPage | None) -> Course[AdoptionReport]:
        """Ask to compare both sides."""
        return compare(adoption_name(name), self._asks.ledger, self._asks.terms(), after_page=after_page)

    def adjust(self, name: object, *, row: object, reason: object, actor: object) -> Course[AdoptionReport]:
        """Ask to bring the ledger to the old column."""
        return adjust(
            adoption_name(name),
            self._asks.ledger,
            self._asks.terms(),
            row=optional_text(row, argument="row", characters_max=ROW_KEY_CHARACTERS_MAX),
            reason=text(reason, argument="reason", characters_max=REASON_CHARACTERS_MAX),
            actor=text(actor, argument="actor", characters_max=ACTOR_CHARACTERS_MAX),
        )

    def cut_over(
        self, name: object, *, actor: object, dry_run: bool, compared_within_s: object, block_ms_max: object
    ) -> Course[AdoptionReport]:
        """Ask to make the ledger the truth."""
        switch = partial(
            cut_over,
            compared_within_s=positive(compared_within_s, "compared_within_s"),
            block_ms_max=positive(block_ms_max, "block_ms_max"),
        )
        return self._switching(switch, name, actor=actor, dry_run=dry_run)

    def mirror(self, name: object, *, after_page: AfterPage | None) -> Course[AdoptionReport]:
        """Ask to write the ledger's balances into the old column."""
        return mirror(adoption_name(name), self._asks.ledger, self._asks.terms(), after_page=after_page)

    def roll_back(self, name: object, *, actor: object, dry_run: bool) -> Course[AdoptionReport]:
        """Ask to make the old column the truth again."""
        return self._switching(roll_back, name, actor=actor, dry_run=dry_run)

    def admit(
        self, name: object, *, row: object, reason: object, actor: object, discard: bool
    ) -> Course[AdoptionReport]:
        """Ask to take over what one row holds."""
        return admit(
            adoption_name(name),
            self._asks.ledger,
            self._asks.terms(),
            row=text(row, argument="row", characters_max=ROW_KEY_CHARACTERS_MAX),
            reason=text(reason, argument="reason", characters_max=REASON_CHARACTERS_MAX),
            actor=text(actor, argument="actor", characters_max=ACTOR_CHARACTERS_MAX),
            discard=discard,
        )

    def finish(self, name: object, *, actor: object, dry_run: bool) -> Course[AdoptionReport]:
        """Ask to end an adoption with the ledger as the truth."""
        return self._switching(finish, name, actor=actor, dry_run=dry_run)

    def abandon(self, name: object, *, actor: object, dry_run: bool, keep_balances: bool) -> Course[AdoptionReport]:
        """Ask to end an adoption with the old column as the truth."""
        return self._switching(partial(abandon, keep_balances=keep_balances), name, actor=actor, dry_run=dry_run)

    def _switching(self, switch: _Switch, name: object, *, actor: object, dry_run: bool) -> Course[AdoptionReport]:
        return switch(adoption_name(name), self._asks.ledger, self._asks.terms(), actor=_actor(actor), dry_run=dry_run)


def _actor(actor: object) -> str | None:
    return optional_text(actor, argument="actor", characters_max=ACTOR_CHARACTERS_MAX)
