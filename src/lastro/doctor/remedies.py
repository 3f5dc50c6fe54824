"""
Remedies: what a finding can have done about it by the ledger itself, without a posting being refused meanwhile.
"""

from __future__ import annotations

from lastro.doctor.finding import Finding
from lastro.ledger import Ledger


def apply(ledger: Ledger, finding: Finding) -> str | None:
    """
    Do what the finding advises where the ledger can do it by itself; return what was done, None for anything else.

    Only a change of keeping and partitions ahead of need: nothing else is undone as easily.
    """
    about = finding.about
    if "keep" in about:
        account = ledger.keep(about["account"], about["currency"], about["keep"])
        return f"{account.name} {account.currency} is kept {account.keeping} now"
    if finding.code == "partition_missing":
        made = ledger.keep_partitions()
        return f"{made} partitions were made ahead"
    return None
