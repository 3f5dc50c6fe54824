"""
What a ledger's own rules allow, judged before anything is written. The database judges again as it writes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from lastro.errors import KindNotAllowed, PeriodClosed
from lastro.model.kind import Kind
from lastro.model.transfer import Intent, Transfer
from lastro.plans.closed_periods import closed_until
from lastro.plans.kinds import read_kinds
from lastro.plans.plan import Plan
from lastro.plans.transfers import Terms

REVERSAL = "reversal"


class Rules(NamedTuple):
    """
    The rules that transfers are judged by: the registered kinds, and up to which moment the books are closed.
    """

    kinds: Mapping[str, Kind]
    closed_until: datetime | None = None

    def refuse(self, wanted: Intent) -> None:
        """Raise where the rules don't allow *wanted*."""
        kind = self.kinds.get(wanted.kind)
        if kind is not None and not kind.allows(wanted.debit, wanted.credit):
            _refuse_sides(wanted, kind)
        if self.closed_until is not None and wanted.occurred_at is not None:
            _refuse_moment(wanted.occurred_at, self.closed_until)


def rules_for(wanted: Sequence[Intent], terms: Terms) -> Plan[Rules]:
    """
    Return the rules to judge *wanted* by. Whatever would be refused is refused by what was read just now.
    """
    kinds = terms.kinds.known
    if kinds is None or not all(_fits(intent, kinds) for intent in wanted):
        kinds = yield from read_kinds(terms.kinds)
    # What is recorded as it occurs lies in no closed period. What says another moment has it compared: a look at one
    # row, so that the refusal comes before anything is written and leaves the caller's transaction usable.
    if any(intent.occurred_at is not None for intent in wanted):
        return Rules(kinds, (yield from closed_until()))
    return Rules(kinds)


def refuse_by_rules(wanted: Intent, terms: Terms) -> Plan[None]:
    """
    Raise where the ledger's rules don't allow *wanted*.
    """
    rules = yield from rules_for((wanted,), terms)
    rules.refuse(wanted)


def kind_to_undo(original: Transfer, terms: Terms) -> Plan[str]:
    """
    Return the kind that undoes *original*: the one that its own kind names, or else "reversal".
    """
    kinds = terms.kinds.known
    if kinds is None:
        kinds = yield from read_kinds(terms.kinds)
    kind = kinds.get(original.kind)
    return REVERSAL if kind is None or kind.undone_by is None else kind.undone_by


def refuse_undoing(original: Transfer, wanted: Intent, terms: Terms) -> Plan[None]:
    """
    Raise where a kind may not undo the original's.
    """
    kinds = terms.kinds.known
    if kinds is not None and _may_undo(kinds.get(original.kind), wanted):
        return
    kind = (yield from read_kinds(terms.kinds)).get(original.kind)
    if kind is None or _may_undo(kind, wanted):
        return
    raise KindNotAllowed(
        f"a transfer of kind {original.kind!r} is undone by one of kind {kind.undone_by!r}, not {wanted.kind!r}; "
        "leave the kind out",
        kind=wanted.kind,
        undone_by=kind.undone_by,
    )


def _may_undo(kind: Kind | None, wanted: Intent) -> bool:
    return kind is None or kind.undone_by in (None, wanted.kind)


def _fits(intent: Intent, kinds: Mapping[str, Kind]) -> bool:
    kind = kinds.get(intent.kind)
    return kind is None or kind.allows(intent.debit, intent.credit)


def _refuse_sides(wanted: Intent, kind: Kind) -> None:
    ways = f"from {kind.debit!r} to {kind.credit!r}" + (", or back" if kind.either_way else "")
    raise KindNotAllowed(
        f"a transfer of kind {wanted.kind!r} goes {ways}, not from {wanted.debit!r} to {wanted.credit!r}; "
        "nothing was written: post it between accounts that its kind allows, or under another kind",
        kind=wanted.kind,
        debit=kind.debit,
        credit=kind.credit,
    )


def _refuse_moment(occurred_at: datetime, closed_until: datetime) -> None:
    if occurred_at < closed_until:
        raise PeriodClosed(
            f"the books are closed before {closed_until.isoformat()}, and this occurred at {occurred_at.isoformat()}; "
            "nothing was written: post it into the current period (without occurred_at), or reopen the closed one",
            occurred_at=occurred_at,
            closed_until=closed_until,
        )
