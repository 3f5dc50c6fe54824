"""
Bringing an account to what its row holds, while the old column is the truth: one row a transaction, which locks it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from lastro.adopting import records
from lastro.adopting.looking import Page, look
from lastro.adopting.own_table import OwnTable, Place, first_place
from lastro.adopting.telling_apart import Seen, read_units
from lastro.model.account import WORLD
from lastro.model.limits import ADOPTION_LOCK_TIMEOUT_MS
from lastro.model.transfer import intent
from lastro.plans.course import Act, Course
from lastro.plans.patience import giving_way
from lastro.plans.plan import Effect, Plan, step
from lastro.plans.posting import post
from lastro.plans.transfers import Terms
from lastro.plans.waiting import patiently

OPENING, ADJUSTMENT = "opening", "adjustment"
ACTOR = "adopt"


def bring(
    table: OwnTable, terms: Terms, *, row_key: str, kind: str, reason: str | None = None, actor: str | None = None
) -> Plan[bool]:
    """
    Post what brings the account of one row to what the row holds; False where its column, or its currency, won't do.

    Locks the row, and what a posting locks.
    """
    name = table.column.name
    rows = yield table.step("hold_row", **table.row(table.ids_in(row_key)))
    accounts = yield step("adopting.account_of", adoption=name, row_key=row_key)
    # A row that is gone holds nothing.
    units = read_units(rows[0]["units"]) if rows else 0
    if not accounts or units is None or (rows and rows[0]["currency"] != accounts[0]["currency"]):
        return False
    account = accounts[0]
    change = units - int(account["posted"])
    if change:
        # The newest entry that the account had makes the key one of its own, and the same if this is tried again.
        newest = yield step("adopting.newest_entries", account_id=account["account_id"], rows_max=1)
        wanted = intent(
            key=f"adopt:{name}:{row_key}:{kind}:{newest[0]['transfer_id'] if newest else 0}",
            kind=kind,
            debit=WORLD if change > 0 else account["account"],
            credit=account["account"] if change > 0 else WORLD,
            amount=abs(change),
            currency=account["currency"],
            source=f"adopt:{name}",
            actor=actor or ACTOR,
            metadata={"row": records.shown_row(row_key)} | ({"reason": reason} if reason else {}),
        )
        yield from post(wanted, terms)
    yield step(
        "adopting.put_rows",
        adoption=name,
        row_keys=[row_key],
        account_ids=[account["account_id"]],
        units=[units],
        now=terms.now,
    )
    return True


def catch_up(table: OwnTable, terms: Terms) -> Course[int]:
    """
    Bring every account to its row whose row has changed since it was imported; return how many there were.
    """
    brought = 0
    place: Place | None = yield Act(partial(first_place, table), Effect.READ)
    while place is not None:
        page: Page = yield Act(partial(look, table, place), Effect.READ)
        for one in mapped(page.differing):
            make = partial(bring, table, terms, row_key=one.row_key, kind=OPENING)
            brought += yield from giving_way(lambda make=make: patiently(make(), ADOPTION_LOCK_TIMEOUT_MS))  # type: ignore[misc]
        place = page.after
    return brought


def mapped(seen: Sequence[Seen]) -> list[Seen]:
    """
    Return those of the rows that have an account.
    """
    return [one for one in seen if one.account_id is not None]
