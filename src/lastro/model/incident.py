"""
Drift between what is stored of an account and what its history says: an incident, and what a round of looking found.
"""

from __future__ import annotations

from datetime import datetime
from typing import Final, Literal, NamedTuple, TypeAlias

# balance: stored against the sum of history · held: against the open holds · tail: rows in the tail that belong to
# nobody · chain: an entry that doesn't start where the one before it ended · account: a row without its other half.
IncidentRule: TypeAlias = Literal["balance", "held", "tail", "chain", "account"]
INCIDENT_RULES: Final[tuple[IncidentRule, ...]] = ("balance", "held", "tail", "chain", "account")
OnDrift: TypeAlias = Literal["report", "adjust"]
ON_DRIFT: Final[tuple[OnDrift, ...]] = ("report", "adjust")


class Incident(NamedTuple):
    """
    Drift that was found. It stays open until somebody explains it, also when it is gone again (`cleared_at`).

    `expected` is what the history says and `found` what is stored, in minor units; rows, for the rules "tail" and
    "account". Up to the transfer `agreed_id` the account's numbers agreed when they were last looked at; `transfer_id`
    is the entry at which a chain breaks. `account` and `currency` are None where a row has no account.
    """

    id: int
    account: str | None
    currency: str | None
    account_id: int
    rule: IncidentRule
    expected: int
    found: int
    agreed_id: int | None
    transfer_id: int | None
    opened_at: datetime
    last_seen_at: datetime
    cleared_at: datetime | None
    explained_at: datetime | None
    explanation: str | None
    explained_by: str | None

    @property
    def difference(self) -> int:
        """How much more is stored than the history says."""
        return self.found - self.expected


class Reconciled(NamedTuple):
    """
    What one round of reconciliation did: `accounts` compared, `skipped` because nothing moved there since they agreed.

    `drifted` accounts differ and nobody has said why; `opened` of the incidents are new; `adjusted` got an entry that
    makes up the difference. `open_incidents` is how many nobody has explained. `complete` is False where the round was
    told to end early.
    """

    accounts: int
    skipped: int
    drifted: int
    opened: int
    adjusted: int
    open_incidents: int
    complete: bool
