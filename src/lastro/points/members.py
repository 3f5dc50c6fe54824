"""
Members: who takes part, and the points account that each of them has in a currency as soon as it is needed.
"""

from __future__ import annotations

from collections.abc import Iterable

from lastro.errors import AccountConflict, LockTimeout
from lastro.model.limits import LOOKS_MAX
from lastro.plans.accounts import find_facts, open_account
from lastro.plans.plan import Plan, step
from lastro.plans.transfers import Terms


def member_id(name: str, terms: Terms) -> Plan[int]:
    """
    Return the id of the member called *name*, who joins by being asked for.
    """
    for _ in range(LOOKS_MAX):
        rows = yield step("points_members.find", name=name)
        if rows:
            found: int = rows[0]["id"]
            return found
        # A rival's row, committed while ours waited, is visible to the statement after this one.
        yield step("points_members.join", name=name, now=terms.now)
    raise _keeps_being_erased(name)


def refuse_taken(name: str, currency: str, posted: int) -> None:
    """
    Raise AccountConflict where an account that is no member's has *posted*: no lots stand behind that.
    """
    if posted:
        raise AccountConflict(
            f"account {name!r} in {currency} has a balance of {posted} and is no member's: no lots stand behind it; "
            "choose another name for the member, or transfer the balance first",
            account=name,
            currency=currency,
            fields={"posted": (posted, 0)},
        )


def accounts_ready(names: Iterable[str], currency: str, terms: Terms) -> Plan[None]:
    """
    Let each member called one of *names* have an account of *currency*: kept direct, and never below zero.

    Before any base row is locked, since opening may wait for a rival who opens the same. Locks nothing where the
    accounts are there; else the rows of those members, in the order of their names.
    """
    wanted = sorted(set(names))
    found = yield from find_facts(terms.directory, [(name, currency) for name in wanted])
    for name in wanted:
        if (name, currency) not in found:
            yield from _open(name, currency, terms)


def _open(name: str, currency: str, terms: Terms) -> Plan[None]:
    for _ in range(LOOKS_MAX):
        yield step("points_members.join", name=name, now=terms.now)
        # Held until the account is there for all to see: an erasure in the meantime would not find it, and would leave
        # the name on it.
        rows = yield step("points_members.lock", name=name)
        if rows:
            yield from open_account(name, currency, keeping="direct", floor=0, metadata=None, now=terms.now)
            return
    raise _keeps_being_erased(name)


def _keeps_being_erased(name: str) -> LockTimeout:
    return LockTimeout(
        f"member {name!r} was erased {LOOKS_MAX} times while it was joining; try again with the same key", member=name
    )
