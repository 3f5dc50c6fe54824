"""
The proof that a ledger's books are in order, for the end of a test.
"""

from __future__ import annotations

from lastro.ledger import HeldLedger
from lastro.ledger.asking import Ask
from lastro.plans.auditing import audit
from lastro.plans.plan import Effect


def assert_balanced(ledger: HeldLedger, *, whole_history: bool = True) -> None:
    """
    Raise AssertionError, with every difference named, unless the ledger's books are in order.

    Checked: the balances and the entries of each currency add up to zero; each account's balance is the sum of its
    history; balances before and after on the entries form unbroken chains; the tail, the keys and the reversals agree
    with the transfers; the lots of points agree with their uses and with the balances; each settlement of a bet has its entries,
    each open bet its hold, and the exposures are the sums of the bets. Call it when nothing is being
    posted. After a partition was retired pass `whole_history=False`: what only the missing part could prove is left
    out. Takes the blocking ledger; reads every row; locks nothing.
    """
    # Not a method of the ledger: it reads every row, and production has the reconciler.
    asked = Ask(lambda: audit(whole_history=whole_history), Effect.READ)
    findings = ledger._run(asked)  # noqa: SLF001
    if findings:
        lines = [
            f"{finding.rule}: {finding.subject}: expected {finding.expected}, found {finding.found}"
            for finding in findings
        ]
        raise AssertionError("the ledger's books are not in order:\n  " + "\n  ".join(lines))
