"""
Kinds of transfer: between which accounts each may stand, how it is undone, and what this process knows of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from lastro.errors import InvalidInput
from lastro.model.account import WORLD, account_name
from lastro.model.limits import KIND_CHARACTERS_MAX, KINDS_MAX
from lastro.model.text import text

ANY: Final = "*"


class Kind(NamedTuple):
    """
    A kind of transfer, from an account that `debit` covers to one that `credit` covers; the other way round as well if
    `either_way`. Each is a name ("world"), the beginning of names ("customer:*"), or "*" for every account.

    `undone_by` names the only kind that may reverse it; None for any.
    """

    name: str
    debit: str = ANY
    credit: str = ANY
    either_way: bool = False
    undone_by: str | None = None

    def allows(self, debit: str, credit: str) -> bool:
        """Say whether a transfer of this kind may go from the account `debit` to the account `credit`."""
        return (covers(self.debit, debit) and covers(self.credit, credit)) or (
            self.either_way and covers(self.credit, debit) and covers(self.debit, credit)
        )


# A single-entry ledger of one prepaid balance an account. What lowers a balance goes to the world, what raises it comes
# from there. `reversal` lowers: it takes back what raised a balance. What lowered one is given back by a credit.
PREPAID: Final = (
    Kind("debit", credit=WORLD, undone_by="credit"),
    Kind("refund", credit=WORLD, undone_by="credit"),
    Kind("reversal", credit=WORLD, undone_by="credit"),
    Kind("credit", debit=WORLD, undone_by="reversal"),
    Kind("bonus", debit=WORLD, undone_by="reversal"),
    Kind("free_grant", debit=WORLD, undone_by="reversal"),
    Kind("adjustment", credit=WORLD, either_way=True, undone_by="adjustment"),
)


class Registry:
    """
    The kinds that this process knows to be registered. A belief: what it would refuse is read again first, and what it
    lets pass the database judges.

    Safe to share between threads: whoever judges takes `known` once, a mapping that is never changed.
    """

    def __init__(self) -> None:
        self.known: Mapping[str, Kind] | None = None

    def learn(self, kinds: Iterable[Kind]) -> Mapping[str, Kind]:
        """Know exactly *kinds*, and return them by name."""
        known = {kind.name: kind for kind in kinds}
        self.known = known
        return known

    def forget(self) -> None:
        """Know nothing: the database said otherwise."""
        self.known = None


def covers(pattern: str, name: str) -> bool:
    """
    Say whether *pattern* covers the account called *name*.
    """
    return name.startswith(pattern[:-1]) if pattern.endswith(ANY) else name == pattern


def checked_kinds(kinds: object) -> list[Kind]:
    """
    Return *kinds* if each can be registered, and no two under one name.
    """
    if isinstance(kinds, Kind) or not isinstance(kinds, Iterable):
        raise InvalidInput(f"kinds are several: a list of lastro.Kind; got {type(kinds).__name__}", argument="kinds")
    checked = [_checked(kind) for kind in kinds]
    if len(checked) > KINDS_MAX:
        raise InvalidInput(f"a ledger has at most {KINDS_MAX} kinds; these are {len(checked)}", argument="kinds")
    names = [kind.name for kind in checked]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise InvalidInput(f"kind {twice!r} stands twice in what is to be registered", argument="kinds")
    return checked


def kind_name(name: object, *, argument: str = "kind") -> str:
    """
    Return *name* if a kind may be called so: 1 … 16 characters.
    """
    return text(name, argument=argument, characters_max=KIND_CHARACTERS_MAX)


def _checked(kind: object) -> Kind:
    if not isinstance(kind, Kind):
        raise InvalidInput(f"a kind to register is a lastro.Kind; got {type(kind).__name__}", argument="kinds")
    undone_by = None if kind.undone_by is None else kind_name(kind.undone_by, argument="undone_by")
    if not isinstance(kind.either_way, bool):
        raise InvalidInput(f"either_way is True or False; got {kind.either_way!r}", argument="either_way")
    return Kind(
        kind_name(kind.name, argument="name"),
        _pattern(kind.debit, "debit"),
        _pattern(kind.credit, "credit"),
        kind.either_way,
        undone_by,
    )


def _pattern(pattern: object, argument: str) -> str:
    checked = account_name(pattern, argument=argument)
    if ANY in checked[:-1]:
        raise InvalidInput(
            f"{argument} is an account's name, or the beginning of names with one * at its end; got {checked!r}",
            argument=argument,
        )
    return checked
