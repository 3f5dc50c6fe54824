"""
What can be asked of a ledger's points: input checked, and the plan to run for it. Blocking and awaiting share it.
"""

from __future__ import annotations

from lastro.ledger.asking import Ask, Asks, limit_within
from lastro.model.limits import ACTOR_CHARACTERS_MAX
from lastro.model.text import optional_text
from lastro.plans.course import Course
from lastro.plans.plan import Effect
from lastro.plans.waiting import patiently
from lastro.points import activities, cancelling, defining, earning, rebuilding
from lastro.points.activities import Activity, Cancelled, Earned
from lastro.points.periods import stretch
from lastro.points.rebuilding import Rebuilt
from lastro.points.rules import RULES_LISTED_MAX, Rule, rule_name, rule_terms


class PointsAsks:
    """
    The requests about points, under the terms of one ledger.
    """

    def __init__(self, asks: Asks) -> None:
        self._asks = asks

    def define_rule(self, name: object, **said: object) -> Ask[Rule]:
        """Ask to define a rule, or a new version of one."""
        wanted, now = rule_terms(name=name, **said), self._asks.now()
        return Ask(lambda: patiently(defining.define(wanted, now=now), self._asks.lock_timeout_ms), Effect.KEYED)

    def end_rule(self, name: object) -> Ask[Rule]:
        """Ask to end a rule."""
        checked, now = rule_name(name), self._asks.now()
        return Ask(lambda: patiently(defining.end(checked, now=now), self._asks.lock_timeout_ms), Effect.KEYED)

    def rule(self, name: object) -> Ask[Rule]:
        """Ask for the newest version of a rule."""
        checked = rule_name(name)
        return Ask(lambda: defining.known_rule(checked), Effect.READ)

    def rules(self, *, after: object, limit: object) -> Ask[list[Rule]]:
        """Ask for a page of rules."""
        checked_after = "" if after is None else rule_name(after, argument="after")
        checked_limit = limit_within(limit, RULES_LISTED_MAX)
        return Ask(lambda: defining.list_rules(after=checked_after, limit=checked_limit), Effect.READ)

    def earn(self, **reported: object) -> Ask[Earned]:
        """Ask to record an activity and post what it earns."""
        checked, terms = activities.doing(**reported), self._asks.terms()
        return Ask(lambda: earning.earn(checked, terms), Effect.KEYED)

    def cancel(self, key: object, *, actor: object) -> Ask[Cancelled]:
        """Ask to take back what an activity earned."""
        checked, terms = activities.activity_key(key), self._asks.terms()
        checked_actor = optional_text(actor, argument="actor", characters_max=ACTOR_CHARACTERS_MAX)
        return Ask(lambda: cancelling.cancel(checked, checked_actor, terms), Effect.KEYED)

    def activity(self, key: object) -> Ask[Activity | None]:
        """Ask for an activity by its key."""
        checked = activities.activity_key(key)
        return Ask(lambda: activities.read(checked), Effect.READ)

    def rebuild(
        self,
        rule: object,
        since: object,
        until: object,
        *,
        dry_run: bool,
        actor: object,
        progress: rebuilding.Progress | None,
    ) -> Course[Rebuilt]:
        """Ask to compute anew what a rule gave."""
        checked, span = rule_name(rule), stretch(since, until)
        checked_actor = optional_text(actor, argument="actor", characters_max=ACTOR_CHARACTERS_MAX)
        return rebuilding.rebuild(
            checked, span, self._asks.terms(), dry_run=dry_run, actor=checked_actor, progress=progress
        )
