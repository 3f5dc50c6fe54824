"""
What one look at an account says: the numbers that should agree, and the rules by which they don't. No database here.
"""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from lastro.model.incident import IncidentRule
from lastro.plans.plan import Row
from lastro.plans.stored import whole


class Look(NamedTuple):
    """
    An account as one snapshot shows it. `keeping` is None where there is no base row, `named` False where no account is.
    """

    account_id: int
    named: bool
    keeping: str | None
    amount: int
    held: int
    payments: int
    changed_at: datetime | None
    agreed_id: int | None
    id_floor: int
    stored: int
    history: int
    settled_history: int
    held_open: int
    broken_id: int | None
    strays: int
    tailed: bool
    has_incidents: bool

    @property
    def has_both_rows(self) -> bool:
        """Whether the account and its base row are there."""
        return self.named and self.keeping is not None


class Drift(NamedTuple):
    """
    One rule that doesn't hold of an account: what its history says, and what is stored.
    """

    rule: IncidentRule
    expected: int
    found: int
    transfer_id: int | None = None


def read_look(row: Row) -> Look:
    """
    Return a row of the comparison as a Look.
    """
    there = row["keeping"] is not None
    return Look(
        account_id=row["account_id"],
        named=bool(row["named"]),
        keeping=row["keeping"],
        amount=row["amount"] if there else 0,
        held=row["held"] if there else 0,
        payments=row["payments"] if there else 0,
        changed_at=row["changed_at"],
        agreed_id=row["agreed_id"],
        id_floor=row["id_floor"],
        stored=whole(row, "stored") if there else 0,
        history=whole(row, "history") if there else 0,
        settled_history=whole(row, "settled_history") if there else 0,
        held_open=whole(row, "held_open"),
        broken_id=row["broken_id"],
        strays=row["strays"],
        tailed=bool(row["tailed"]),
        has_incidents=row["incidents"] > 0,
    )


def drifts_of(look: Look) -> dict[IncidentRule, Drift]:
    """
    Return the rules that don't hold. The numbers of a broken chain are still to be read: they stand on the entry.
    """
    found: dict[IncidentRule, Drift] = {}
    if not look.has_both_rows:
        found["account"] = Drift("account", expected=1, found=0)
    if look.stored != look.history:
        found["balance"] = Drift("balance", expected=look.history, found=look.stored)
    if look.held != look.held_open:
        found["held"] = Drift("held", expected=look.held_open, found=look.held)
    if look.strays:
        found["tail"] = Drift("tail", expected=0, found=look.strays)
    if look.broken_id is not None:
        found["chain"] = Drift("chain", expected=0, found=0, transfer_id=look.broken_id)
    return found


def described(chain: Drift, row: Row) -> Drift | None:
    """
    Return the break of a chain with its numbers, from the entry and what its history had before it; None where none is.
    """
    before, amount = whole(row, "history_before"), row["amount"]
    if row["balance_before"] is not None and row["balance_before"] != before:
        return chain._replace(expected=before, found=row["balance_before"])
    if row["balance_after"] is not None and row["balance_after"] != before + amount:
        return chain._replace(expected=before + amount, found=row["balance_after"])
    return None
