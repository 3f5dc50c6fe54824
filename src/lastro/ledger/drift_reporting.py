"""
Telling of drift: an ERROR in the log and a measurement for each incident, as soon as it is noted.
"""

from __future__ import annotations

import logging

from lastro.errors import TransferConflict
from lastro.model.incident import Incident
from lastro.telemetry import measure

_log = logging.getLogger("lastro.reconciliation")


def tell(incident: Incident) -> None:
    """
    Say that an incident was opened. Measures `lastro_incidents_opened` by its rule.
    """
    measure("lastro_incidents_opened", 1, rule=incident.rule)
    whose = f"account id {incident.account_id}"
    if incident.account is not None:
        whose = f"account {incident.account!r} in {incident.currency}"
    agreed = "never compared before"
    if incident.agreed_id is not None:
        agreed = f"agreed up to transfer {incident.agreed_id}"
    at_entry = "" if incident.transfer_id is None else f" at transfer {incident.transfer_id}"
    _log.error(
        "drift: incident %d: %s, rule %s%s: expected %d, found %d (%s). Nothing was changed. Find out what it is, then: "
        "lastro incidents explain %d",
        incident.id,
        whose,
        incident.rule,
        at_entry,
        incident.expected,
        incident.found,
        agreed,
        incident.id,
    )


def tell_conflict(conflict: TransferConflict) -> None:
    """
    Say that an incident can't be adjusted, as its key is taken.
    """
    _log.error("not adjusted: %s", conflict)
