"""
The words of an adoption: its phases, its steps, and the causes of its differences.
"""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

# What an application goes by, and where an adoption stands: one that has ended is "finished" or "abandoned".
Phase: TypeAlias = Literal["importing", "shadow", "ledger"]
Stage: TypeAlias = Literal["importing", "shadow", "ledger", "finished", "abandoned"]
AdoptionStep: TypeAlias = Literal[
    "import", "shadow", "compare", "adjust", "cutover", "mirror", "admit", "rollback", "finish", "abandon"
]
Cause: TypeAlias = Literal[
    "old_write_without_posting",
    "posting_without_old_write",
    "posted_other_amount",
    "posted_twice",
    "unit_mismatch",
    "currency_differs",
    "row_without_account",
    "account_without_row",
    "unreadable_balance",
    "unclear",
    "not_taken_over",
    "unwritable_balance",
]

# An adoption that has ended goes on nowhere; to an application it is what it ended as.
ENDED: Final[dict[Stage, Phase]] = {"finished": "ledger", "abandoned": "importing"}
