"""
Incidents: noting drift, meeting it again, seeing it gone, and saying what it was.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from lastro.errors import IncidentExplained, UnknownIncident
from lastro.model.incident import Incident, IncidentRule
from lastro.model.limits import BALANCE_MAX
from lastro.plans.drift import Drift, Look
from lastro.plans.plan import TOGETHER, Plan, step
from lastro.plans.stored import read_incident, whole


class Drifted(NamedTuple):
    """
    A look at an account, and what differs there.
    """

    look: Look
    drifts: Mapping[IncidentRule, Drift]


class Noted(NamedTuple):
    """
    What became of drift: the incidents that are new, and for each account that differs unexplained its open incidents.
    """

    opened: list[Incident]
    unexplained: dict[int, dict[IncidentRule, int]]


class _Known(NamedTuple):
    """An incident as the reconciler knows it: open or explained, there or gone. One that is open and there stands."""

    id: int
    rule: IncidentRule
    difference: int
    is_open: bool
    is_gone: bool

    @property
    def stands(self) -> bool:
        """Whether drift of its rule belongs to it, whatever its numbers are by now."""
        return self.is_open and not self.is_gone


def note_drift(looked: Sequence[Drifted], *, now: datetime | None) -> Plan[Noted]:
    """
    Open an incident for what is new, note again what is open, and note as gone what isn't there any more.

    What was explained stays so while the same difference is there. Once it is gone, explained or not, the next one is new,
    however equal: it has a moment and a cause of its own.
    """
    yield TOGETHER
    noted = Noted([], {})
    known = yield from _known([each.look.account_id for each in looked])
    gone: list[int] = []
    for look, drifts in looked:
        incidents = known.get(look.account_id, [])
        gone += [incident.id for incident in incidents if not incident.is_gone and _is_over(incident, drifts)]
        for drift in drifts.values():
            incident_id = yield from _note(look, drift, incidents, noted, now=now)
            if incident_id is not None:
                noted.unexplained.setdefault(look.account_id, {})[drift.rule] = incident_id
    if gone:
        yield step("incidents.clear", incident_ids=sorted(gone), now=now)
    return noted


def _is_over(incident: _Known, drifts: Mapping[IncidentRule, Drift]) -> bool:
    drift = drifts.get(incident.rule)
    if drift is not None:
        # Another difference has taken the place of one that was explained.
        return not incident.is_open and drift.found - drift.expected != incident.difference
    # A chain that is broken for good shows only where there are new entries: as long as the balance differs too, each.
    return not (incident.rule == "chain" and "balance" in drifts)


def _note(
    look: Look, drift: Drift, incidents: Sequence[_Known], noted: Noted, *, now: datetime | None
) -> Plan[int | None]:
    same_rule = [incident for incident in incidents if incident.rule == drift.rule]
    numbers = {"expected": drift.expected, "found": drift.found, "transfer_id": drift.transfer_id}
    for incident in same_rule:
        if incident.stands:
            yield step("incidents.see", incident_id=incident.id, now=now, **numbers)
            return incident.id
    if any(not incident.is_gone and incident.difference == drift.found - drift.expected for incident in same_rule):
        return None
    rows = yield step(
        "incidents.open", account_id=look.account_id, rule=drift.rule, agreed_id=look.agreed_id, now=now, **numbers
    )
    if rows:
        incident_id: int = rows[0]["id"]
        noted.opened.append((yield from get_incident(incident_id)))
        return incident_id
    # Another reconciler was faster; its incident is the one.
    known = yield from _known([look.account_id])
    return next((each.id for each in known.get(look.account_id, []) if each.rule == drift.rule and each.stands), None)


def _known(account_ids: Sequence[int]) -> Plan[dict[int, list[_Known]]]:
    rows = yield step("incidents.unsettled", account_ids=list(account_ids))
    known: dict[int, list[_Known]] = {}
    for row in rows:
        known.setdefault(row["account_id"], []).append(
            _Known(
                id=row["id"],
                rule=row["rule"],
                difference=whole(row, "found") - whole(row, "expected"),
                is_open=row["explained_at"] is None,
                is_gone=row["cleared_at"] is not None,
            )
        )
    return known


def get_incident(incident_id: int) -> Plan[Incident]:
    """
    Return one incident. Raises UnknownIncident.
    """
    rows = yield step("incidents.find", incident_id=incident_id)
    if not rows:
        raise UnknownIncident(f"there is no incident {incident_id} in this ledger", incident=incident_id)
    return read_incident(rows[0])


def list_incidents(*, only_open: bool, before: int | None, limit: int) -> Plan[list[Incident]]:
    """
    Return up to *limit* incidents, the newest first: those before the incident *before*, unexplained ones or all.
    """
    rows = yield step(
        "incidents.list", only_open=only_open, before_id=BALANCE_MAX if before is None else before, rows_max=limit
    )
    return [read_incident(row) for row in rows]


def count_open() -> Plan[int]:
    """
    Return how many incidents nobody has explained.
    """
    count: int = (yield step("incidents.count_open"))[0]["incidents"]
    return count


def explain(incident_id: int, *, explanation: str, actor: str, now: datetime | None) -> Plan[Incident]:
    """
    Say what an incident was, once; in the same words again it is returned as it stands. Raises IncidentExplained.
    """
    yield TOGETHER
    yield step("incidents.explain", incident_id=incident_id, explanation=explanation, actor=actor, now=now)
    incident = yield from get_incident(incident_id)
    if (incident.explanation, incident.explained_by) != (explanation, actor):
        raise IncidentExplained(
            f"incident {incident_id} was explained by {incident.explained_by!r} already ({incident.explanation}); "
            "what was said first stands: a mistake in it is corrected where your documents are",
            incident=incident_id,
            explanation=incident.explanation,
            explained_by=incident.explained_by,
        )
    return incident
