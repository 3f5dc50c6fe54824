"""
What a difference means in the phase in which it was found, and what to do about it.
"""

from __future__ import annotations

from typing import Final

from lastro.adopting.words import Cause, Stage

# While the old column is the truth: the ledger is brought to it, once the code that differs is found.
_BEFORE: Final[dict[Cause, str]] = {
    "old_write_without_posting": "the column was written and nothing was posted. Find the code that writes it alone, then "
    "`lastro adopt adjust`",
    "posting_without_old_write": "something was posted and the column wasn't written. Find the code that posts alone and "
    "mend the column; `lastro adopt adjust` would take the posting back",
    "posted_other_amount": "what was posted isn't what was written. Find the code, then `lastro adopt adjust`",
    "posted_twice": "one thing was posted under two keys. Give it one key, then `lastro adopt adjust`",
    "unit_mismatch": "what was posted is 100, 1,000 or 10,000 times what was written, or the other way round: units were "
    "taken for minor ones. Mend the code, then `lastro adopt adjust`",
    "currency_differs": "the row names another currency than its account has. Give the row its currency back",
    "row_without_account": "the row couldn't be imported: it is below the floor, its id is too long, or another row has its "
    "account. Mend the row, then `lastro adopt import`",
    "account_without_row": "the row is gone, or no longer among the declared ones, and its account holds something. Bring "
    "the row back, or `lastro adopt adjust` to empty the account",
    "unreadable_balance": "the column holds no whole number of minor units. Mend the column, then import or compare again",
    "unclear": "several entries were posted since both sides agreed, and none explains the difference. Look at the "
    "account's entries, and compare more often",
}
# Once the ledger is the truth: nothing is adjusted any more, and the column is no more than what the mirror writes.
_AFTER: Final[dict[Cause, str]] = {
    "currency_differs": "the row names another currency than its account has, so the mirror leaves it alone: what it shows "
    "is old. Give the row its currency back",
    "account_without_row": "the row was deleted or truncated, or has left the declared ones; its account holds its money "
    "as before. Insert the row again, with nothing in the column, and the mirror fills it; or move the money by a transfer",
    "not_taken_over": "the row came among the declared ones after the cut-over with a balance that the ledger never had, so "
    "the mirror leaves it alone. `lastro adopt admit` posts it; with --discard the ledger's own balance stands",
    "unwritable_balance": "the column doesn't take what the account holds: it is too narrow, or a CHECK forbids it. What it "
    "shows is old, the ledger is right. Widen the column; the next round of the mirror fills it",
    "row_without_account": "the row can't have an account: its id is too long, or another row has its account. Mend the row",
    "unreadable_balance": "the column of a new row holds no whole number of minor units. Empty it or mend it",
}
_UNKNOWN: Final = "it was found in another phase. Compare again"


def advice(cause: Cause, phase: Stage) -> str:
    """
    Return what a difference of this cause means in *phase*, and what to do.
    """
    return (_AFTER if phase == "ledger" else _BEFORE).get(cause, _UNKNOWN)
