"""
What can be asked about reconciliation, checked: one round of it, the incidents it opened, and explaining one.
"""

from __future__ import annotations

from lastro.errors import InvalidInput
from lastro.ledger.asking import Ask, Asks, limit_within, positive
from lastro.ledger.drift_reporting import tell, tell_conflict
from lastro.model.incident import ON_DRIFT, Incident, Reconciled
from lastro.model.limits import (
    ACTOR_CHARACTERS_MAX,
    BALANCE_MAX,
    EXPLANATION_CHARACTERS_MAX,
    INCIDENTS_LISTED_MAX,
    RECONCILIATION_REST_TIMES_MAX,
)
from lastro.model.text import shown, text
from lastro.plans import incidents, reconciling
from lastro.plans.course import Course
from lastro.plans.plan import Effect
from lastro.plans.reconciling import AfterBatch


class AsksReconciliation(Asks):
    """
    What can be asked of a ledger's reconciliation.
    """

    def reconcile(
        self, *, full: object, on_drift: object, rest: object, after_batch: AfterBatch | None
    ) -> Course[Reconciled]:
        """Ask for one round."""
        checked = next((word for word in ON_DRIFT if word == on_drift), None)
        if checked is None:
            raise InvalidInput(f"on_drift is one of {', '.join(ON_DRIFT)}; got {shown(on_drift)}", argument="on_drift")
        terms = reconciling.Terms(
            _flag(full, "full"), checked, _times(rest), self.now(), tell, tell_conflict, after_batch
        )
        return reconciling.reconcile(terms)

    def incidents(self, *, only_open: object, before: object, limit: int) -> Ask[list[Incident]]:
        """Ask for a page of incidents."""
        checked_before = None if before is None else _number(before, "before")
        checked_open, checked_limit = _flag(only_open, "open"), limit_within(limit, INCIDENTS_LISTED_MAX)
        return Ask(
            lambda: incidents.list_incidents(only_open=checked_open, before=checked_before, limit=checked_limit),
            Effect.READ,
        )

    def explain(self, incident: object, *, explanation: object, actor: object) -> Ask[Incident]:
        """Ask to explain an incident."""
        incident_id, now = _number(incident, "incident"), self.now()
        checked = text(explanation, argument="explanation", characters_max=EXPLANATION_CHARACTERS_MAX)
        checked_actor = text(actor, argument="actor", characters_max=ACTOR_CHARACTERS_MAX)
        return Ask(
            lambda: incidents.explain(incident_id, explanation=checked, actor=checked_actor, now=now), Effect.KEYED
        )


def _number(value: object, argument: str) -> int:
    number = positive(value, argument)
    if number > BALANCE_MAX:
        raise InvalidInput(f"{argument} must be a number of an incident; got {shown(value)}", argument=argument)
    return number


def _times(rest: object) -> float:
    # A bool is no number here, and not a number isn't between two.
    if isinstance(rest, bool) or not isinstance(rest, int | float) or not 0 <= rest <= RECONCILIATION_REST_TIMES_MAX:
        raise InvalidInput(
            f"rest is how many times as long as a batch took to rest after it, 0 … {RECONCILIATION_REST_TIMES_MAX}; "
            f"got {shown(rest)}",
            argument="rest",
        )
    return rest


def _flag(value: object, argument: str) -> bool:
    if not isinstance(value, bool):
        raise InvalidInput(f"{argument} must be True or False; got {shown(value)}", argument=argument)
    return value
