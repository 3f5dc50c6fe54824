"""
What a ledger's own rules allow, judged before anything is written. The database judges again as it writes.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from lastro.errors import KindNotAllowed
from lastro.model.kind import Kind, Registry
from lastro.model.transfer import Intent, Transfer
from lastro.plans.kinds import read_kinds
from lastro.plans.plan import Plan
from lastro.plans.transfers import Terms

REVERSAL = "reversal"


class Rules(NamedTuple):
    """
    The rules that transfers are judged by: the registered kinds.
    """

    kinds: Registry

    def refuse(self, wanted: Intent) -> None:
        """Raise where the rules don't allow *wanted*."""
        if not self.kinds.allows(wanted.kind, wanted.debit, wanted.credit):
            _refuse_sides(wanted, self.kinds)


def rules_for(wanted: Iterable[Intent], terms: Terms) -> Plan[Rules]:
    """
    Return the rules to judge *wanted* by. Whatever would be refused is refused by what was read just now.
    """
    registry = terms.kinds
    if not all(registry.allows(intent.kind, intent.debit, intent.credit) for intent in wanted):
        yield from read_kinds(registry)
    return Rules(registry)


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
    if not terms.kinds.is_read:
        yield from read_kinds(terms.kinds)
    kind = terms.kinds.get(original.kind)
    return REVERSAL if kind is None or kind.undone_by is None else kind.undone_by


def refuse_undoing(original: Transfer, wanted: Intent, terms: Terms) -> Plan[None]:
    """
    Raise where a kind may not undo the original's.
    """
    if terms.kinds.is_read and _may_undo(terms.kinds.get(original.kind), wanted):
        return
    yield from read_kinds(terms.kinds)
    kind = terms.kinds.get(original.kind)
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


def _refuse_sides(wanted: Intent, registry: Registry) -> None:
    kind = registry.get(wanted.kind)
    assert kind is not None, "what isn't registered may stand anywhere, once the kinds are read"
    ways = f"from {kind.debit!r} to {kind.credit!r}" + (", or back" if kind.either_way else "")
    raise KindNotAllowed(
        f"a transfer of kind {wanted.kind!r} goes {ways}, not from {wanted.debit!r} to {wanted.credit!r}; "
        "nothing was written: post it between accounts that its kind allows, or under another kind",
        kind=wanted.kind,
        debit=kind.debit,
        credit=kind.credit,
    )
