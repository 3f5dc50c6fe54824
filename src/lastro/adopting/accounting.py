"""
Accounts for rows that have none: which rows can have one, opening it, and parting those that can't have theirs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from lastro.adopting.declaration import OldColumn
from lastro.adopting.own_table import SEPARATOR, OwnTable
from lastro.adopting.telling_apart import read_units
from lastro.adopting.words import Cause, Stage
from lastro.errors import InvalidInput
from lastro.model.account import WORLD, Facts, account_name, currency_code
from lastro.model.limits import ROW_KEY_CHARACTERS_MAX
from lastro.plans.accounts import AccountKey
from lastro.plans.plan import Plan, Row, step
from lastro.plans.stored import whole
from lastro.plans.transfers import Terms


class Wanted(NamedTuple):
    """
    A row that is to have an account, which account, and what it holds in minor units.
    """

    row: Row
    ids: tuple[object, ...]
    account: str
    currency: str
    units: int


def sorted_out(table: OwnTable, rows: Sequence[Row], phase: Stage) -> tuple[list[Wanted], list[tuple[Row, Cause]]]:
    """
    Part the rows that can have an account from those that can't, with the cause.
    """
    wanted: list[Wanted] = []
    refused: list[tuple[Row, Cause]] = []
    for row in rows:
        # Once the ledger is the truth an empty column waits for the mirror, whatever was declared for before.
        units = 0 if phase == "ledger" and row["raw"] is None else read_units(row["units"])
        ids = table.ids_of(row)
        texts = tuple(str(part) for part in ids)
        if units is None:
            refused.append((row, "unreadable_balance"))
            continue
        try:
            if len(row["row_key"]) > ROW_KEY_CHARACTERS_MAX or row["row_key"].count(SEPARATOR) != len(ids) - 1:
                raise InvalidInput("the id is too long, or holds a control character", argument="id")
            account, currency = account_name(table.column.account_of(texts)), currency_code(row["currency"])
        except InvalidInput:
            refused.append((row, "row_without_account"))
        else:
            wanted.append(Wanted(row, ids, account, currency, units))
    return wanted, refused


def open_accounts(column: OldColumn, wanted: Sequence[Wanted], terms: Terms) -> Plan[None]:
    """
    Open the accounts of these rows where they aren't there, and the world of each currency.
    """
    if not wanted:
        return
    terms_of_world = {"keeping": "summed", "floor": None, "metadata": None, "now": terms.now}
    for currency in sorted({one.currency for one in wanted}):
        yield step("accounts.open", name=WORLD, currency=currency, **terms_of_world)
    # In one order, so that two that open the same accounts never wait for each other in a circle.
    keys = sorted({(one.account, one.currency) for one in wanted})
    yield step(
        "adopting.open_accounts",
        names=[name for name, _ in keys],
        currencies=[currency for _, currency in keys],
        keeping=column.keeping,
        floor=column.floor,
        now=terms.now,
    )


def without_strange(
    wanted: Sequence[Wanted], facts: dict[AccountKey, Facts]
) -> Plan[tuple[list[Wanted], list[tuple[Wanted, int | None]]]]:
    """
    Part those rows that hold what the ledger never had. The mirror would write the ledger's balance over it, and nobody
    would know it any more; whether it counts is for people to say.
    """
    ids = [facts[key].id for one in wanted if one.units and (key := (one.account, one.currency)) in facts]
    weighed = (yield step("locked.weigh_sides", account_ids=sorted(ids))) if ids else []
    posted = {row["account_id"]: whole(row, "posted") for row in weighed}
    kept: list[Wanted] = []
    strange: list[tuple[Wanted, int | None]] = []
    for one in wanted:
        known = facts.get((one.account, one.currency))
        held = None if known is None else posted.get(known.id, 0)
        if one.units and held != one.units:
            strange.append((one, held))
        else:
            kept.append(one)
    return kept, strange


def without_taken(
    wanted: Sequence[Wanted], facts: dict[AccountKey, Facts]
) -> Plan[tuple[list[Wanted], list[tuple[Row, Cause]]]]:
    """
    Part those whose account another row has already: of two rows with one name only the first can be adopted.
    """
    ids = [facts[one.account, one.currency].id for one in wanted]
    rows = (yield step("adopting.mapped", account_ids=ids)) if ids else []
    taken = {row["account_id"] for row in rows}
    kept: list[Wanted] = []
    refused: list[tuple[Row, Cause]] = []
    for one, account_id in zip(wanted, ids, strict=True):
        if account_id in taken:
            refused.append((one.row, "row_without_account"))
        else:
            taken.add(account_id)
            kept.append(one)
    return kept, refused
