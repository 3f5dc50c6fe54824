"""
Erasing a member: the name and what was noted of the accounts go, the movements and their sums stay.
"""

from __future__ import annotations

import secrets
from typing import Final, NamedTuple

from lastro.errors import UnknownMember
from lastro.plans.plan import Plan, step
from lastro.plans.stored import whole
from lastro.plans.transfers import Terms
from lastro.plans.waiting import patiently, undone_when_refused

ERASED: Final = "erased:"
PSEUDONYM_BYTES: Final = 16


class Erased(NamedTuple):
    """
    What an erasure left behind: the pseudonym that stands where the name stood, and how many accounts bear it.
    """

    pseudonym: str
    accounts: int


def erase(name: str, terms: Terms) -> Plan[Erased]:
    """
    Put a random pseudonym in the place of a member's name on every account of that name, in whatever currency; drop
    their metadata, their open lots and whatever may be posted to them. Balances and sums stay.

    Once and for good: nobody can tell who it was, and a later member of the same name is another. Locks the member's
    row, then the base rows of the accounts in account order. Raises UnknownMember.
    """
    return (yield from patiently(undone_when_refused(_erase(name, terms)), terms.lock_timeout_ms))


def _erase(name: str, terms: Terms) -> Plan[Erased]:
    # Before the base rows: whoever opens an account for this member holds this row until the account is there to see.
    rows = yield step("points_members.lock", name=name)
    if not rows:
        raise UnknownMember(
            f"there is no member {name!r}: it never had any points, or was erased already; mend the name", member=name
        )
    accounts = yield step("points_erasing.accounts", name=name)
    yield step("locked.lock_sides", account_ids=sorted(row["id"] for row in accounts), now=terms.now)
    pseudonym = ERASED + secrets.token_hex(PSEUDONYM_BYTES)
    rows = yield step("points_erasing.erase", name=name, pseudonym=pseudonym, now=terms.now)
    # What other processes believe of these names they drop when they meet a closed account.
    believed = (terms.directory.get(name, row["currency"]) for row in accounts)
    terms.directory.forget([facts for facts in believed if facts is not None])
    return Erased(pseudonym, whole(rows[0], "accounts"))
