"""
Holding points accounts: their base rows, locked in account order before anything else is read.

The lock of a points account guards its allowance and its lots as well. So every operation on points begins here, and
reads whatever it judges in a following statement.
"""

from __future__ import annotations

from collections.abc import Iterable

from lastro.errors import SerializationLost
from lastro.model.limits import LOOKS_MAX
from lastro.plans.accounts import AccountKey, find_facts, kept_changing, open_account, open_facts
from lastro.plans.plan import Plan, step
from lastro.plans.standing import Standing
from lastro.plans.stored import read_facts, whole
from lastro.plans.transfers import Terms

# Where points come from, and where those go that expire.
ISSUED = "points:issued"
EXPIRED = "points:expired"


def hold(keys: Iterable[AccountKey], terms: Terms) -> Plan[dict[AccountKey, Standing] | None]:
    """
    Lock these accounts and return how each stands; None, and nothing believed any more, where one isn't as this process
    believes: closed, as an erasure does, or never opened after all.

    Locks the base rows, in account order, until the end of the transaction. UnknownAccount, AccountClosed.
    """
    wanted = sorted(set(keys))
    found = yield from open_facts(terms.directory, wanted)
    if not wanted:
        return {}
    by_id = {facts.id: facts for facts in found.values()}
    locked = yield step("locked.lock_sides", account_ids=sorted(by_id), now=terms.now)
    to_weigh = [row["account_id"] for row in locked if row["keeping"] != "direct"]
    weighed = (yield step("locked.weigh_sides", account_ids=to_weigh)) if to_weigh else []
    balances = {row["account_id"]: (whole(row, "posted"), whole(row, "held")) for row in weighed}
    if len(locked) < len(by_id):
        # Opened in a transaction that was undone.
        terms.directory.forget(by_id.values())
        return None
    held: dict[AccountKey, Standing] = {}
    for row in locked:
        believed = by_id[row["account_id"]]
        current = believed._replace(keeping=row["keeping"], state=row["state"], floor=row["floor"])
        if current.state == "closed":
            terms.directory.forget(by_id.values())
            return None
        terms.directory.learn((current,))
        posted, set_aside = balances.get(current.id, (row["amount"], row["held"]))
        held[current.name, current.currency] = Standing(current, posted, set_aside)
    return held


def hold_members(names: Iterable[str], terms: Terms) -> Plan[dict[AccountKey, Standing]]:
    """
    Lock every open account called one of *names*, in whatever currency, and return how each stands.

    Locks the base rows, in account order, until the end of the transaction.
    """
    wanted = sorted(set(names))
    for _ in range(LOOKS_MAX):
        rows = yield step("points_earning.accounts", names=wanted)
        found = [facts for facts in map(read_facts, rows) if facts.state != "closed"]
        terms.directory.learn(found)
        held = yield from hold([(facts.name, facts.currency) for facts in found], terms)
        if held is not None:
            return held
    raise kept_changing(wanted)


def open_counterpart(name: str, currency: str, terms: Terms) -> Plan[None]:
    """
    Open the other side of many members' movements if need be: kept summed and without a floor, so that nobody waits
    for anybody there.
    """
    found = yield from find_facts(terms.directory, [(name, currency)])
    if (name, currency) not in found:
        yield from open_account(name, currency, keeping="summed", floor=None, metadata=None, now=terms.now)


def opened_since(name: str, currency: str) -> SerializationLost:
    """
    The fault of a caller's transaction whose snapshot is older than an account that is needed: it can't see it.
    """
    return SerializationLost(
        f"account {name!r} in {currency} was opened after this transaction took its snapshot, which doesn't show it: "
        "roll back and do the whole transaction again",
        account=name,
        currency=currency,
    )
