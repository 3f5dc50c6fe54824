"""
What is matched and what comes of it: items of either side, the groups that they end in, and a run's figures.
"""

from __future__ import annotations

from datetime import date, datetime
from typing import Literal, NamedTuple, TypeAlias, get_args

Outcome: TypeAlias = Literal["matched", "amount_differs", "missing_in_ledger", "missing_in_statement"]
OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)


class Item(NamedTuple):
    """
    A line of a statement or a transfer of the ledger: `amount` in minor units, with the sign of its effect.

    `id` is what people know it by, a line's natural key or a transfer's key, and `place` names it within its side: the
    line's `line_id`, the transfer's id. One that isn't `inside` lies in a neighbouring period: it may explain what lies
    in this one, but isn't reported for its own sake.
    """

    on: date
    id: str
    place: int
    amount: int
    inside: bool = True


class Window(NamedTuple):
    """
    How many days a line may be dated before its transfer, and how many after it.
    """

    days_before: int
    days_after: int


class Group(NamedTuple):
    """
    Lines and transfers of one reference and currency that belong together, and how. Either side may be empty.

    `cut_short`: the search for items that add up was ended by its limit, so that there may be more of an answer.
    """

    outcome: Outcome
    lines: tuple[Item, ...] = ()
    transfers: tuple[Item, ...] = ()
    cut_short: bool = False

    @property
    def difference(self) -> int:
        """By how much the statement says more than the ledger, in minor units."""
        return sum(line.amount for line in self.lines) - sum(transfer.amount for transfer in self.transfers)


class MatchGroup(NamedTuple):
    """
    A group as a run has stored it. `difference` is what the lines say more than the transfers, in minor units.

    `reference` is what the transfers say (`cause`, `source` or `key`), None where there is none.
    """

    number: int
    outcome: Outcome
    reference: str | None
    currency: str
    difference: int
    lines: tuple[Item, ...]
    transfers: tuple[Item, ...]
    cut_short: bool


class MatchRun(NamedTuple):
    """
    One run of matching: the lines and transfers that it had to explain, and how many groups ended how.

    `account`: the only one that was looked at, where it wasn't all of the spec's. `internal`: transfers between two of
    the accounts, which move nothing in or out and weren't matched. `cut_short`: groups that differ and for which not
    everything was tried.
    """

    id: int
    spec: str
    period: str
    account: str | None
    lines: int
    transfers: int
    internal: int
    matched: int
    amount_differs: int
    missing_in_ledger: int
    missing_in_statement: int
    cut_short: int
    actor: str | None
    ran_at: datetime

    @property
    def differences(self) -> int:
        """How many groups aren't matched."""
        return self.amount_differs + self.missing_in_ledger + self.missing_in_statement
