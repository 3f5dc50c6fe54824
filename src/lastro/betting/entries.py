"""
The money of a settlement: the transfers of each bet and version, keyed so that each is posted once and never again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from lastro.betting.deciding import Decision, LockedBet
from lastro.betting.markets import HOUSE
from lastro.betting.placing import cause_of
from lastro.errors import UnknownTransfer
from lastro.model.transfer import Intent, Transfer
from lastro.plans.plan import Plan, step
from lastro.plans.rules import kind_to_undo
from lastro.plans.stored import read_transfer
from lastro.plans.transfers import Terms, refuse_retired

STAKE: Final = "bet_stake"
RETURN: Final = "bet_return"
SOURCE: Final = "betting"


class Change(NamedTuple):
    """
    A settlement to be made: of which bet, as decided, as which version.
    """

    bet: LockedBet
    decision: Decision
    version: int

    @property
    def corrects(self) -> bool:
        """Whether another settlement comes before it."""
        return self.bet.settled is not None

    @property
    def kind(self) -> str:
        """The word for it."""
        if self.corrects:
            return "corrected"
        return "voided" if self.decision.is_void else "settled"

    @property
    def stake_key(self) -> str:
        """The key of the final debit."""
        return entry_key(self.bet.id, "stake", self.version)


def entry_key(bet_id: int, entry: str, version: int) -> str:
    """
    Return the key of one entry of one settlement: once for each bet, kind of entry and version.
    """
    return f"bet:{bet_id}:{entry}:{version}"


def entries_of(changes: Iterable[Change], originals: Mapping[str, Transfer], terms: Terms) -> Plan[list[Intent]]:
    """
    Return the transfers of settlements, a bet's in their order: what reverses the version before, then the new ones.

    A bet that is void moves nothing: its stake is set free.
    """
    entries: list[Intent] = []
    for change in changes:
        for key in reversed_keys(change):
            original = originals.get(key)
            if original is None:
                raise UnknownTransfer(f"there is no transfer with the key {key!r} to reverse", key=key)
            kind = yield from kind_to_undo(original, terms)
            entries.append(_reversal(change, original, kind))
        if not change.decision.is_void:
            bet, returned = change.bet, change.decision.returned
            entries.append(_entry(change, STAKE, change.stake_key, debit=bet.account, credit=HOUSE, amount=bet.stake))
            if returned:
                key = entry_key(bet.id, "return", change.version)
                entries.append(_entry(change, RETURN, key, debit=HOUSE, credit=bet.account, amount=returned))
    return entries


def reversed_keys(change: Change) -> list[str]:
    """
    Return the keys of the transfers that a correction reverses, the last one first.
    """
    before = change.bet.settled
    if before is None or before.is_void:
        return []
    kinds = ("return", "stake") if before.returned else ("stake",)
    return [entry_key(change.bet.id, kind, before.version) for kind in kinds]


def find_originals(changes: Iterable[Change]) -> Plan[dict[str, Transfer]]:
    """
    Return the transfers that corrections reverse, by key.
    """
    keys = [key for change in changes for key in reversed_keys(change)]
    if not keys:
        return {}
    originals = {}
    for row in (yield step("batch.find_keys", keys=sorted(keys))):
        refuse_retired(row["taken_key"], row)
        originals[row["taken_key"]] = read_transfer(row)
    return originals


def _entry(change: Change, kind: str, key: str, *, debit: str, credit: str, amount: int) -> Intent:
    return Intent(
        key=key,
        kind=kind,
        debit=debit,
        credit=credit,
        amount=amount,
        currency=change.bet.currency,
        cause=cause_of(change.bet.id),
        source=SOURCE,
    )


def _reversal(change: Change, original: Transfer, kind: str) -> Intent:
    entry = "return_reversed" if original.kind == RETURN else "stake_reversed"
    return Intent(
        key=entry_key(change.bet.id, entry, change.version),
        kind=kind,
        debit=original.credit,
        credit=original.debit,
        amount=original.amount,
        currency=original.currency,
        cause=original.cause,
        source=SOURCE,
        reverses=original.key,
    )
