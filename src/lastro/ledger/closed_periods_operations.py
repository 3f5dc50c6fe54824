"""
What can be asked about closed periods, checked: closing the books, reopening them, and reading who did.
"""

from __future__ import annotations

from lastro.ledger.asking import Ask, Asks, limit_within
from lastro.model.closing import PeriodClosing
from lastro.model.limits import ACTOR_CHARACTERS_MAX, PERIOD_CLOSINGS_MAX, REASON_CHARACTERS_MAX
from lastro.model.moment import utc
from lastro.model.text import optional_text, text
from lastro.model.transfer import transfer_key
from lastro.plans import closed_periods
from lastro.plans.course import Course
from lastro.plans.plan import Effect


class AsksClosedPeriods(Asks):
    """
    What can be asked of a ledger's closed periods.
    """

    def close_period(self, until: object, *, reason: object, actor: object) -> Course[PeriodClosing]:
        """Ask to close the books."""
        return closed_periods.close_period(
            utc(until, argument="until"),
            reason=optional_text(reason, argument="reason", characters_max=REASON_CHARACTERS_MAX),
            actor=optional_text(actor, argument="actor", characters_max=ACTOR_CHARACTERS_MAX),
            now=self.now(),
        )

    def reopen_period(self, *, key: object, since: object, reason: object, actor: object) -> Ask[PeriodClosing]:
        """Ask to reopen the books."""
        checked_key, moment = transfer_key(key), utc(since, argument="since")
        checked_reason = text(reason, argument="reason", characters_max=REASON_CHARACTERS_MAX)
        checked_actor = text(actor, argument="actor", characters_max=ACTOR_CHARACTERS_MAX)
        now, lock_timeout_ms = self.now(), self.lock_timeout_ms
        return Ask(
            lambda: closed_periods.reopen_period(
                moment,
                key=checked_key,
                reason=checked_reason,
                actor=checked_actor,
                now=now,
                lock_timeout_ms=lock_timeout_ms,
            ),
            Effect.KEYED,
        )

    def period_closings(self, *, limit: int) -> Ask[list[PeriodClosing]]:
        """Ask who closed and reopened the books."""
        checked_limit = limit_within(limit, PERIOD_CLOSINGS_MAX)
        return Ask(lambda: closed_periods.closings(limit=checked_limit), Effect.READ)
