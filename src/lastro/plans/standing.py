"""
How a locked account stands: its terms, and what is posted and held, read after the lock was granted.
"""

from __future__ import annotations

from dataclasses import dataclass

from lastro.model.account import Facts
from lastro.plans.plan import Row


def as_believed(row: Row, believed: Facts) -> bool:
    """
    Say whether the terms on a locked base row are the ones that were believed.
    """
    return (row["keeping"], row["state"], row["floor"]) == (believed.keeping, believed.state, believed.floor)


@dataclass(slots=True)
class Standing:
    """
    An account whose base row this transaction holds. `posted` moves on with every transfer that is judged.

    `weighed` is False where nobody has to know the balance, so that it wasn't added up; `posted` means nothing then.
    """

    facts: Facts
    posted: int
    held: int
    weighed: bool = True

    @property
    def rebased(self) -> bool:
        """
        Whether a posting changes the base amount itself.

        A hot account that is being turned counts: its tail only shrinks now, so new entries go to the base row.
        """
        return self.chained or (self.facts.keeping == "hot" and self.facts.state == "turning")

    @property
    def chained(self) -> bool:
        """
        Whether the transfer carries the balance before and after it.

        Not while an account is being turned: a credit from before, with a lower id, may still be under way unseen, and
        the balances on the rows would not follow from one another.
        """
        return self.facts.keeping == "direct"
