"""
Bringing an account to what its row holds, while the old column is the truth: one row a transaction, which locks it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from lastro.adopting import records
from lastro.adopting.looking import Page, look
from lastro.adopting.own_table import OwnTable, Place, first_place
from lastro.adopting.telling_apart import Seen, cause_of, read_units
from lastro.errors import Refusal
from lastro.model.account import WORLD
from lastro.model.limits import ADOPTION_LOCK_TIMEOUT_MS
from lastro.model.transfer import intent
from lastro.plans.course import Act, Course
from lastro.plans.patience import giving_way
from lastro.plans.plan import Effect, Plan, Row, step
from lastro.plans.posting import post
from lastro.plans.transfers import Terms
from lastro.plans.waiting import patiently, undone_when_refused

OPENING, ADJUSTMENT = "opening", "adjustment"
ACTOR = "adopt"


def bring(
    table: OwnTable,
    terms: Terms,
    *,
    row_key: str,
    kind: str,
    gone: bool = False,
    reason: str | None = None,
    actor: str | None = None,
) -> Plan[bool]:
    """
    Post what brings the account of one row to what the row holds; False where its column, or its currency, won't do, or
    the posting is refused. A row that is known to be *gone* holds nothing.

    Locks the row, and what a posting locks.
    """
    name = table.column.name
    rows = yield table.step("hold_row", **table.row(table.ids_in(row_key)), row_key=row_key)
    accounts = yield step("adopting.account_of", adoption=name, row_key=row_key)
    units = read_units(rows[0]["units"]) if rows else 0 if gone else None
    if not accounts or units is None or (rows and rows[0]["currency"] != accounts[0]["currency"]):
        return False
    account = accounts[0]
    if units != account["posted"]:
        posting = _post_change(name, terms, account, units, row_key=row_key, kind=kind, reason=reason, actor=actor)
        try:
            yield from undone_when_refused(posting)
        except Refusal:
            return False
    yield step(
        "adopting.put_rows",
        adoption=name,
        row_keys=[row_key],
        account_ids=[account["account_id"]],
        units=[units],
        now=terms.now,
    )
    return True


def _post_change(
    name: str,
    terms: Terms,
    account: Row,
    units: int,
    *,
    row_key: str,
    kind: str,
    reason: str | None,
    actor: str | None,
) -> Plan[None]:
    change = units - int(account["posted"])
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


def catch_up(table: OwnTable, terms: Terms) -> Course[int]:
    """
    Bring every account to its row whose row has changed since it was imported; return how many there were. What can't be
    brought is noted as a difference.
    """
    brought = 0
    place: Place | None = yield Act(partial(first_place, table), Effect.READ)
    while place is not None:
        page: Page = yield Act(partial(look, table, place), Effect.READ)
        for one in mapped(page.differing):
            make = partial(_bring_or_note, table, terms, one)
            brought += yield from giving_way(lambda make=make: patiently(make(), ADOPTION_LOCK_TIMEOUT_MS))  # type: ignore[misc]
        place = page.after
    return brought


def _bring_or_note(table: OwnTable, terms: Terms, seen: Seen) -> Plan[bool]:
    if (yield from records.phase_of(table.column.name)) != "importing":
        # Somebody went on meanwhile: the column may not be the truth any more.
        return False
    if (yield from bring(table, terms, row_key=seen.row_key, kind=OPENING)):
        return True
    yield records.put_difference(table.column.name, seen, cause_of(seen, ()), now=terms.now)
    return False


def mapped(seen: Sequence[Seen]) -> list[Seen]:
    """
    Return those of the rows that have an account.
    """
    return [one for one in seen if one.account_id is not None]
