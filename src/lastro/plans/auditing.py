"""
Auditing a ledger: which of the rules that must hold at rest don't, and where.
"""

from __future__ import annotations

from typing import NamedTuple

from lastro.plans.plan import Plan, step

# So many rows of one rule are reported: enough to see the pattern, few enough to read.
FINDINGS_A_RULE_MAX = 5

# The rules of auditing.sql; those below need all that was ever posted, the ones above also hold of what is left.
RULES_OF_WHAT_IS_LEFT = (
    "account_rows",
    "entry_sums",
    "currency_sums",
    "chains",
    "last_balances",
    "tails",
    "keys",
    "reversals",
    "lot_sums",
    "lots",
)
RULES_OF_WHOLE_HISTORY = ("balances",)
# Those of auditing_holds.sql; of a capture whose transfer was retired the event is left.
RULES_OF_HOLDS = ("held", "holds", "hold_events")
# That of auditing_closings.sql.
RULES_OF_CLOSINGS = ("closings",)
# Those of auditing_betting.sql.
RULES_OF_BETTING = ("bet_entries", "bet_versions", "open_bets", "exposures")


class Finding(NamedTuple):
    """
    One place where a rule doesn't hold: what differs, what the rule expects there, and what was found.
    """

    rule: str
    subject: str
    expected: str
    found: str


def audit(*, whole_history: bool) -> Plan[list[Finding]]:
    """
    Return what breaks the rules, at most a few findings a rule. Locks nothing; reads the whole ledger.

    `whole_history=False` says that partitions were retired: what needs them is left out. Each rule reads a snapshot of
    its own.
    """
    findings: list[Finding] = []
    rules = RULES_OF_WHAT_IS_LEFT + (RULES_OF_WHOLE_HISTORY if whole_history else ())
    statements = [
        *((rule, f"auditing.{rule}") for rule in rules),
        *((rule, f"auditing_holds.{rule}") for rule in RULES_OF_HOLDS),
        *((rule, f"auditing_closings.{rule}") for rule in RULES_OF_CLOSINGS),
        *((rule, f"auditing_betting.{rule}") for rule in RULES_OF_BETTING),
    ]
    for rule, statement in statements:
        rows = yield step(statement, rows_max=FINDINGS_A_RULE_MAX, whole_history=whole_history)
        findings.extend(Finding(rule, row["subject"], row["expected"], row["found"]) for row in rows)
    return findings
